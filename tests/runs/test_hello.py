"""What tests run in: the same text as long as platform, Python and packages are the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.runs.hello import take_surroundings


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with its sources and its environment on the path, and packages elsewhere."""
    root = tmp_path / "project"
    places = [root, root / "src", root / ".venv" / "site-packages", tmp_path / "packages"]
    for place in places:
        place.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*map(str, places), str(tmp_path / "gone"), "", *sys.path])
    monkeypatch.chdir(root)
    return root


def install(place: str, name: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda root, patch: (root / place / name).mkdir()


def another_python(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("phase_gate.runs.hello.PYTHON_VERSION", "3.99.0")


def another_platform(root: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "platform", "plan9")


@pytest.mark.parametrize(
    ("happens", "is_same"),
    [
        pytest.param(lambda root, patch: None, True, id="nothing"),
        pytest.param(install("../packages", "thing-1.0.dist-info"), False, id="a-package-is-installed"),
        pytest.param(install(".venv/site-packages", "thing-1.0.dist-info"), False, id="in-the-project-s-environment"),
        pytest.param(install(".", "thing-1.0.dist-info"), True, id="a-folder-of-the-project-that-looks-like-one"),
        pytest.param(install("src", "project.egg-info"), True, id="the-project-s-own-metadata"),
        pytest.param(install("../packages", "thing"), True, id="what-is-no-metadata"),
        pytest.param(another_python, False, id="another-python"),
        pytest.param(another_platform, False, id="another-platform"),
    ],
)
def test_what_changes_it(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[Path, pytest.MonkeyPatch], None],
    is_same: bool,
) -> None:
    before = take_surroundings(project)
    happens(project, monkeypatch)
    assert (take_surroundings(project) == before) is is_same
