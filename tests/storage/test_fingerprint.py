"""Contents that neither git nor a walk shows, as part of the fingerprint."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.storage.fingerprint import Tree, add_beside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "code.py").write_text("1")
    (tmp_path / "outside.py").write_text("2")
    (folder / "link.py").symlink_to("../outside.py")
    return folder


def test_a_link_is_what_it_leads_to(root: Path) -> None:
    before = add_beside(Tree("git:1", {}), root, ["link.py"])
    (root.parent / "outside.py").write_text("3")
    assert add_beside(Tree("git:1", {}), root, ["link.py"]) != before


def test_the_fingerprint_is_another_with_each_content(root: Path) -> None:
    tree = Tree("git:1", {})
    assert add_beside(tree, root, []) is tree
    assert add_beside(tree, root, ["gone.py"]) is tree
    one = add_beside(tree, root, ["code.py"])
    assert one.digest.startswith("git:")
    assert one.digest != tree.digest
    assert one.beside.keys() == {"code.py"}
    (root / "code.py").write_text("2")
    assert add_beside(tree, root, ["code.py"]).digest != one.digest
