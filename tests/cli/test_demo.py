"""`phase-gate demo`: the whole story, with real processes."""

from __future__ import annotations

import pytest

from phase_gate.cli import demo
from tests.cli.conftest import Begin
from tests.storage.repositories import git
from tests.support import Project


def test_it_tells_the_story_wherever_it_is_called(project: Project) -> None:
    # From inside another project, with state, a configuration and settings that would get in its way; and the folder
    # for temporary files is in a git repository.
    git(project.root, "init", "-q", "temporary")
    project.write(
        {
            "pytest.ini": "[pytest]\naddopts = --no-such-option\n",
            "phase-gate.yaml": "broken: [\n",
            "conftest.py": "raise RuntimeError('not the demo`s')\n",
            ".phase-gate/state.json": "broken",
        }
    )
    before = sorted(path.name for path in project.root.rglob("*"))
    ran = project.gate(
        "demo",
        PHASE_GATE_TASK="../x",
        PHASE_GATE_DIR="nowhere",
        PYTEST_ADDOPTS="--nonsense",
        COLUMNS="100",
        TMPDIR=str(project.root / "temporary"),
    )
    assert ran.code == 0, ran.out + ran.err
    assert ran.has("1. RED. ", "$ pytest --phase=red", "phase gate: RED · iteration 1 · 3 tests")
    assert ran.has("The gate refuses", "Gate 2  early    ", "Exit signal set but Gate 1 not satisfied")
    assert ran.has("one green run is never enough", "needs one more green run with no file changes")
    assert ran.has("both gates are open: GREEN has exited", "That is the whole idea;")
    assert "\x1b[" not in ran.out, "no colours where nobody looks"
    assert sorted(path.name for path in project.root.rglob("*")) == before


@pytest.fixture
def short_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its last step, which needs no pytest."""
    monkeypatch.setattr(demo, "STEPS", demo.STEPS[-1:])


@pytest.mark.usefixtures("short_story")
def test_as_json_nothing_else_is_said(begin: Begin) -> None:
    assert begin("").json("demo") == {"steps": 1, "unexpected": 0}


def test_a_step_that_does_not_end_as_told_is_a_failure(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "STEPS", (demo.Step(says="?", command=("phase-gate", "check"), ends_with=0),))
    ran = begin("").gate("demo", "--json")
    assert (ran.code, ran.document) == (1, {"steps": 1, "unexpected": 1})
