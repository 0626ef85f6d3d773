"""Whose a module is that could not be imported: the project's, Python's, a declared or an installed one. And stubs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from phase_gate.recording.reasons import is_projects_module, is_stub, parse_file

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


@pytest.mark.filterwarnings("error")
def test_a_stub_is_seen_where_warnings_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text('PATTERN = "\\d"\n\n\ndef test_it():\n    assert False\n', encoding="utf-8")
    assert is_stub(file, "test_it")


def test_a_file_that_is_too_deeply_nested_shows_nothing(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(f"x = {'-' * 100_000}1\n", encoding="utf-8")
    assert parse_file(str(file)) is None
