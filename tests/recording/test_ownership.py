"""Which files belong to the project or to an environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import phase_gate
from phase_gate.recording.ownership import Ownership
from phase_gate.storage.root import is_in_environment


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("src/shop.py", False, id="our-code"),
        pytest.param("venv/lib/theirs.py", True, id="an-environment-by-its-mark"),
        pytest.param("conda/lib/theirs.py", True, id="an-environment-of-conda"),
        pytest.param("x/site-packages/theirs.py", True, id="a-folder-of-packages"),
        pytest.param("src/site-packages.py", False, id="a-file-of-that-name"),
        pytest.param("venv.py", False, id="beside-it"),
    ],
)
def test_files_of_an_environment(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "conda" / "conda-meta").mkdir(parents=True)
    assert is_in_environment(str(tmp_path / path), str(tmp_path)) is expected


def test_a_project_inside_an_environment_is_a_project(tmp_path: Path) -> None:
    root = tmp_path / "venv" / "src" / "shop"
    root.mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    assert not is_in_environment(str(root / "shop.py"), str(root))


# --- which files are imported from the project


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for name in ("src/code.py", ".venv/pyvenv.cfg", ".venv/lib/x.py", "site-packages/y.py", "../outside/z.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "linked").symlink_to("../outside")
    (folder / "alias.py").symlink_to("src/code.py")
    (folder / "json").symlink_to(Path(json.__file__).parent)
    (tmp_path / "same").symlink_to("root")
    return folder


@pytest.mark.parametrize(
    ("file", "path"),
    [
        pytest.param("src/code.py", "src/code.py", id="plainly"),
        pytest.param("../same/src/code.py", "src/code.py", id="by-another-way"),
        pytest.param("alias.py", "src/code.py", id="a-link-inside-is-the-file"),
        pytest.param("linked/z.py", "linked/z.py", id="a-link-that-leads-outside"),
        pytest.param("../outside/z.py", "", id="outside"),
        pytest.param(".venv/lib/x.py", "", id="an-environment-below-the-root"),
        pytest.param("site-packages/y.py", "", id="installed-below-the-root"),
        pytest.param("json/decoder.py", "", id="a-link-into-the-standard-library"),
        pytest.param(json.__file__, "", id="the-standard-library"),
        pytest.param(pytest.__file__, "", id="installed"),
        pytest.param(phase_gate.__file__, "", id="this-plugin"),
    ],
)
def test_inner_paths(linked: Path, file: str, path: str) -> None:
    assert Ownership(linked).inner_path(os.path.normpath(linked / file)) == path
