"""A short sample of the check in the wild: on a tiny suite, without a download, with every kind of quarrel."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.wild.comparing import Evidence, Said, find_problems, find_unexplained
from scripts.wild.preparing import make_environment
from scripts.wild.projects import PROJECTS, Project
from scripts.wild.running import Tools, run_alone, run_gated
from scripts.wild.table import Row, count_clean, render

SUITE = """\
import unittest

import pytest


@pytest.mark.parametrize("number", range(4))
def test_number(number):
    assert number < 4


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.xfail(reason="a known bug")
def test_known():
    assert False


class OldTest(unittest.TestCase):
    def test_old(self):
        pass
"""

COUNTS = {"passed": 5, "skipped": 1, "xfailed": 1}
PROJECT = Project(name="sample", version="1.0")


def make_tools(*, plugins: tuple[str, ...]) -> Tools:
    words = [word for name in ("phase_gate.plugin", *plugins) for word in ("-p", name)]
    return Tools(
        pytest=(sys.executable, "-m", "pytest", *words),
        gate=(sys.executable, "-m", "phase_gate.cli"),
        environment=dict(os.environ),
    )


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sample-1.0"
    folder.mkdir()
    (folder / "test_sample.py").write_text(SUITE, encoding="utf-8")
    return folder


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [0, 2], ids=["in-one-process", "with-two-workers"])
def test_an_honest_suite_is_clean(sources: Path, tmp_path: Path, workers: int) -> None:
    if workers:
        pytest.importorskip("xdist")
    tools = make_tools(plugins=("xdist",) if workers else ())
    more = ("-n", str(workers)) if workers else ()
    alone = run_alone(make_tools(plugins=()), sources, (), home=tmp_path / "home")
    evidence = run_gated(tools, sources, more, home=tmp_path / "gated-home")
    row = Row(project=PROJECT, workers=workers, alone=alone, evidence=evidence)
    assert alone.summary == COUNTS
    assert row.problems == ()
    assert [each.code for each in evidence.said] == [10, 0]
    assert render([row]).splitlines()[-1] == f"| sample | 1.0 | {workers or 'none'} | 7 | 1 | 1 | yes | 2 | 0 |"
    assert count_clean([row]) == 1


def test_a_suite_that_fails_by_itself_is_told_apart(sources: Path, tmp_path: Path) -> None:
    (sources / "test_wrong.py").write_text("def test_wrong():\n    assert False\n", encoding="utf-8")
    tools = make_tools(plugins=())
    alone = run_alone(tools, sources, (), home=tmp_path / "home")
    row = Row(project=PROJECT, workers=0, alone=alone, evidence=make_evidence())
    assert row.fails_by_itself
    assert row.problems == ()
    assert count_clean([row]) == 0
    assert "its own suite fails here" in render([row])


# --- what would be a false alarm, or a wrong count ---------------------------------------------------------------


def make_said(line: str = "==== 5 passed, 1 skipped, 1 xfailed in 0.12s ====", code: int = 0) -> Said:
    return Said(code, f"collected 7 items\n\n{line}\n==== phase gate: GREEN ====\n")


def make_evidence(
    *,
    said: tuple[Said, ...] = (make_said(code=10), make_said()),
    counts: tuple[dict[str, int], ...] = (COUNTS, COUNTS),
    **verdict: Any,
) -> Evidence:
    honest = {
        "gate_1": {"open": True},
        "reason": "Gate 1 is open",
        "notes": ["exempt: 1 known skip, 1 known xfail"],
        "findings": [{"tier": "advisory", "slug": "red-was-seen", "id": "", "file": "", "detail": "began without RED"}],
        "metrics": {"consecutive_green_runs": 2},
    }
    runs = tuple({"counts": each, "python": "3.13.0", "pytest": "9.0.0"} for each in counts)
    return Evidence(said=said, runs=runs, verdict=honest | verdict)


@pytest.mark.parametrize(
    ("evidence", "complaint"),
    [
        pytest.param(make_evidence(), "", id="nothing-wrong"),
        pytest.param(make_evidence(counts=(COUNTS, {**COUNTS, "passed": 4})), "the tally is", id="one-test-uncounted"),
        pytest.param(make_evidence(counts=(COUNTS,)), "the tally is", id="a-run-that-is-not-recorded"),
        pytest.param(
            make_evidence(said=(make_said("no tests ran in 0.01s"),) * 2, counts=({}, {})),
            "the tally is",
            id="nothing-equals-nothing",
        ),
        pytest.param(
            make_evidence(said=(make_said("4 passed in 0.1s"),) * 2, counts=({"passed": 4},) * 2, notes=[]),
            "without the gate it is",
            id="another-suite-than-without-the-gate",
        ),
        pytest.param(make_evidence(metrics={"consecutive_green_runs": 1}), "the streak is 1", id="streak-too-short"),
        pytest.param(
            make_evidence(gate_1={"open": False}, reason="run again"),
            "Gate 1 is closed: run again",
            id="gate-closed",
        ),
        pytest.param(make_evidence(said=(make_said(), make_said(code=11))), "pytest ended with 11", id="not-stored"),
        pytest.param(
            make_evidence(
                findings=[{"tier": "hard", "slug": "tests-kept", "id": "a.py::b", "file": "a.py", "detail": "gone"}]
            ),
            "hard finding, tests-kept: a.py::b gone",
            id="hard-finding",
        ),
        pytest.param(make_evidence(notes=[]), "1 skipped, 0 of them explained", id="a-skip-that-nobody-explains"),
    ],
)
def test_a_quarrel_is_noticed(evidence: Evidence, complaint: str) -> None:
    problems = find_problems(evidence, make_said())
    assert any(problem.startswith(complaint) for problem in problems) if complaint else problems == ()


def test_no_verdict_is_a_problem() -> None:
    evidence = Evidence(said=(make_said(),), runs=(), verdict={})
    assert find_problems(evidence, make_said()) == ("no verdict was written",)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("3 passed in 0.01s", {"passed": 3}, id="quiet"),
        pytest.param("=== 1 failed, 2 errors, 3 warnings in 1.00s ===", {"failed": 1, "errors": 2}, id="warnings-left"),
        pytest.param("=== 1 passed, 1 error in 0.10s ===", {"passed": 1, "errors": 1}, id="one-error"),
        pytest.param(
            "\x1b[32m=== \x1b[1m9 passed\x1b[0m in 75.20s (0:01:15) ===\x1b[0m", {"passed": 9}, id="in-colour"
        ),
        pytest.param("2 passed, 4 subtests passed in 0.1s", {"passed": 2, "subtests passed": 4}, id="subtests"),
        pytest.param("no tests ran in 0.01s", {}, id="nothing-ran"),
    ],
)
def test_summary(line: str, expected: dict[str, int]) -> None:
    assert make_said(line).summary == expected


@pytest.mark.parametrize(
    ("notes", "summary", "expected"),
    [
        pytest.param(["exempt: 2 known skips"], {"skipped": 2}, (), id="two-skips"),
        pytest.param(["exempt: 1 known skip"], {"skipped": 2}, ("2 skipped, 1 of them explained",), id="one-too-few"),
        pytest.param(["exempt: 3 known xfails"], {"xfailed": 2, "xpassed": 1}, (), id="xpassed-is-an-xfail-too"),
        pytest.param(["narrowed: -m 'not slow'"], {"passed": 1, "deselected": 9}, (), id="deselected-by-an-option"),
        pytest.param([], {"deselected": 9}, ("9 deselected, and no note says by what",), id="deselected-by-nobody"),
    ],
)
def test_explanations(notes: list[str], summary: dict[str, int], expected: tuple[str, ...]) -> None:
    assert find_unexplained({"notes": notes}, summary) == expected


# --- around it ---------------------------------------------------------------------------------------------------


def test_a_suite_sees_nothing_of_the_session_that_started_it(tmp_path: Path) -> None:
    outer = {
        "PATH": "before",
        "PHASE_GATE_RUN": "1",
        "PYTEST_ADDOPTS": "-x",
        "PYTHONPATH": "src",
        "CI": "1",
        "LANG": "C",
    }
    assert make_environment(outer, tmp_path) == {"PATH": os.pathsep.join((str(tmp_path), "before")), "LANG": "C"}


def test_every_project_is_there_once_with_its_version() -> None:
    assert len({project.name for project in PROJECTS}) == len(PROJECTS) >= 8
    assert all(project.version for project in PROJECTS)
