"""Whose a module is that could not be imported, and which files belong to the project or to an environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

import phase_gate
from phase_gate.recording.ownership import Ownership, is_projects_module
from phase_gate.storage.root import is_in_environment

PYPROJECT = """\
[project]
dependencies = ["left-pad_python>=1", "Big.Name[extra]; python_version > '3'"]

[project.optional-dependencies]
test = ["only.for.tests"]

[dependency-groups]
dev = ["for-developers", {include-group = "test"}]

[tool.poetry.dependencies]
by-poetry = "^1"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("# ours\n-r other.txt\n  in_a_list==1.0  # why\n", encoding="utf-8")
    (tmp_path / "requirements-dev.txt").write_text("in-another-list\n", encoding="utf-8")
    (tmp_path / "shop.py").touch()
    for folder in ("bag", "src/basket", "lib/crate", "json"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "tin.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("module", "owner"),
    [
        pytest.param("shop", "project", id="a-module-in-the-root"),
        pytest.param("bag.handle", "project", id="a-part-of-a-package-in-the-root"),
        pytest.param("basket.handle", "project", id="a-part-of-a-package-in-src"),
        pytest.param("nothing_at_all", "project", id="what-nobody-has-is-still-to-be-written"),
        pytest.param("json.nothing", "project", id="a-folder-of-ours-wins-over-the-standard-library"),
        pytest.param("os.nothing", "standard library", id="a-part-of-the-standard-library"),
        pytest.param("left_pad_python", "declared", id="declared"),
        pytest.param("Big_Name", "declared", id="declared-in-other-letters"),
        pytest.param("only_for_tests", "declared", id="an-extra"),
        pytest.param("by_poetry", "declared", id="poetry"),
        pytest.param("in_a_list", "declared", id="requirements"),
        pytest.param("other", "project", id="a-file-of-requirements-is-none"),
        pytest.param("yaml.nothing", "installed", id="a-part-of-what-is-installed"),
    ],
)
def test_owner(root: Path, module: str, owner: str) -> None:
    assert is_projects_module(module, root) is (owner == "project")


@pytest.mark.parametrize(
    ("place", "owner"),
    [
        pytest.param("packages/yaml/__init__.py", "project", id="a-package-deep-in-the-root"),
        pytest.param("venv/lib/site-packages/yaml/__init__.py", "installed", id="one-in-an-environment-there"),
        pytest.param("../elsewhere/yaml/__init__.py", "installed", id="one-elsewhere"),
    ],
)
def test_where_the_package_around_it_was_found(
    root: Path, monkeypatch: pytest.MonkeyPatch, place: str | None, owner: str
) -> None:
    loaded = ModuleType("yaml")
    loaded.__file__ = None if place is None else str(root / place)
    monkeypatch.setitem(sys.modules, "yaml", loaded)
    assert is_projects_module("yaml.nothing", root) is (owner == "project")


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
