"""One commit has one fingerprint, whichever system it is checked out on, as long as git leaves its bytes alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.storage.tree.fingerprint import Tree, take_tree

pytestmark = pytest.mark.processes

#: How git checks out on other systems.
SYSTEMS: dict[str, dict[str, str]] = {
    "linux": {},
    "macos": {"core.ignorecase": "true", "core.precomposeunicode": "true"},
    "no-modes": {"core.fileMode": "false"},
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=dev", "-c", "user.email=dev@example.org", *words],
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("origin")
    git(root, "init", "-q")
    (root / "calc.py").write_bytes(b"def add(a, b):\n    return a + b\n")
    (root / "data.bin").write_bytes(b"a\0\r\n\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\nexit 0\n")
    (root / "run.sh").chmod(0o755)
    (root / "wide.csv").write_bytes(b"a,b\r\n1,2\r\n")
    (root / ".gitattributes").write_bytes(b"*.csv -text\nlines.txt text\n")
    (root / "lines.txt").write_bytes(b"one\ntwo\n")
    (root / "linked.py").symlink_to("calc.py")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


def check_out(origin: Path, folder: Path, system: str) -> Path:
    settings = [word for name, value in SYSTEMS[system].items() for word in ("-c", f"{name}={value}")]
    subprocess.run(["git", "clone", "-q", *settings, str(origin), str(folder)], check=True, capture_output=True)
    if SYSTEMS[system].get("core.fileMode") == "false":
        (folder / "run.sh").chmod(0o644)  # such a system has no such bit
    return folder


def edit(root: Path, name: str, text: str) -> None:
    (root / name).write_bytes(text.encode())


def link(root: Path, name: str, target: str) -> None:
    (root / name).unlink()
    (root / name).symlink_to(target)


def touch_all(root: Path) -> None:
    for path in root.iterdir():
        if path.name != ".git":
            os.utime(path, (1, 1), follow_symlinks=False)


def add_file(root: Path) -> None:
    (root / "new.py").write_bytes((root / "calc.py").read_bytes().replace(b"add", b"sum"))


def stage(root: Path) -> None:
    edit(root, "lines.txt", "one\nthree\n")
    git(root, "add", "-A")


WORK: dict[str, Callable[[Path], None]] = {
    "nothing": lambda root: None,
    "touched": touch_all,
    "edited": lambda root: edit(root, "calc.py", "def add(a, b):\n    return b + a\n"),
    "added": add_file,
    "linked-elsewhere": lambda root: link(root, "linked.py", "run.sh"),
    "staged": stage,
}


def take(root: Path) -> Tree:
    return take_tree(root, state_folder=root / ".phase-gate", cache_file=root / ".phase-gate" / "cache" / "tree.json")


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "linux"])
def test_a_checkout_on_another_system_is_the_same_tree(origin: Path, tmp_path: Path, system: str, work: str) -> None:
    here, there = check_out(origin, tmp_path / "here", "linux"), check_out(origin, tmp_path / "there", system)
    for root in (here, there):
        WORK[work](root)
    one, other = take(here), take(there)
    assert dict(one.files) == dict(other.files)
    assert one.digest == other.digest


def test_a_file_in_the_place_of_a_link_is_another_tree_where_links_are_links(origin: Path, tmp_path: Path) -> None:
    root = check_out(origin, tmp_path / "here", "linux")
    before = take(root)
    (root / "linked.py").unlink()
    (root / "linked.py").write_text("calc.py", encoding="utf-8")
    assert take(root).digest != before.digest
