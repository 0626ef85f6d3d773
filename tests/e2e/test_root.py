"""Which root a run belongs to, who may own it, and that every run says which one it is."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from phase_gate import bound
from phase_gate.cli import main
from tests.e2e.sessions import last_run
from tests.support import Project

PASSING = "def test_one():\n    pass\n"
#: A user who owns nothing here.
STRANGER = 54321

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no owners that we could ask for")


# --- every run names it


@pytest.fixture
def project(project: Project) -> Project:
    return project.write({"pytest.ini": "[pytest]\n", "tests/test_a.py": PASSING})


@pytest.mark.parametrize(
    ("folder", "options", "lines"),
    [
        pytest.param("tests", ("-q",), 1, id="quiet-in-a-subfolder"),
        pytest.param("tests", ("-qq",), 0, id="very-quiet-is-one-line"),
        pytest.param("tests", ("-q", "--phase-shard=1/1"), 1, id="a-quiet-shard-in-a-subfolder"),
        pytest.param("tests", ("-q", "--collect-only"), 1, id="a-run-that-is-not-recorded"),
        pytest.param(".", ("-q",), 0, id="quiet-in-the-root-itself"),
    ],
)
def test_a_quiet_run_names_a_root_elsewhere(
    project: Project, folder: str, options: tuple[str, ...], lines: int
) -> None:
    project.environment.chdir(project.root / folder)
    ran = project.run("--phase=green", *options)
    assert ran.out.count(f"\nroot    {project.root}\n") == lines
    assert ran.has("phase gate")


# --- a root of another owner


@pytest.fixture
def foreign(project: Project) -> Project:
    """The project belongs to somebody else: we are a user who does not own it."""
    project.environment.setattr(bound.os, "geteuid", lambda: STRANGER)
    return project


@posix_only
def test_a_root_of_another_owner_is_refused_before_any_test(foreign: Project) -> None:
    ran = foreign.run("--phase=green")
    assert ran.code == 4
    assert ran.has(f"the root {foreign.root} belongs to ", "[foreign-root]", f"PHASE_GATE_TRUST_ROOT={foreign.root}")
    assert "test_a" not in ran.out
    assert not (foreign.root / ".phase-gate").exists()
    assert foreign.run().code == 0, "without a phase nobody asks"
    for value in (str(foreign.root), "."):
        foreign.environment.setenv("PHASE_GATE_TRUST_ROOT", value)
        foreign.run("--phase=green")
        assert last_run(foreign)["kind"] == "complete"


@posix_only
def test_a_hook_keeps_the_gate_closed(foreign: Project, capsys: pytest.CaptureFixture[str]) -> None:
    foreign.environment.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"hook_event_name": "Stop"}')))
    main(["hook", "stop", "--agent", "claude", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "block"
    assert f"the root {foreign.root} belongs to " in answer["reason"]
    assert f"PHASE_GATE_TRUST_ROOT={foreign.root}" in answer["next_hint"]


@posix_only
def test_root_may_work_in_a_checkout_of_another_owner(project: Project) -> None:
    if os.geteuid() == 0:
        os.chown(project.root, STRANGER, -1)
    else:
        project.environment.setattr(bound.os, "geteuid", lambda: 0)
    assert project.run("--phase=green").code == 10
    assert last_run(project)["kind"] == "complete"
