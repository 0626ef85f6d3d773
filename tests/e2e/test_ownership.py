"""Which files are imported from the project."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import phase_gate
from phase_gate.recording.ownership import Ownership


@pytest.fixture
def root(tmp_path: Path) -> Path:
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
def test_inner_paths(root: Path, file: str, path: str) -> None:
    assert Ownership(root).inner_path(os.path.normpath(root / file)) == path
