"""A short sample of the check in the wild: on a tiny suite, without a download, with every kind of quarrel."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.wild.comparing import Evidence, Said, find_problems
from scripts.wild.projects import Project
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


def test_an_honest_suite_is_clean(sources: Path, tmp_path: Path) -> None:
    alone = run_alone(make_tools(plugins=()), sources, (), home=tmp_path / "home")
    evidence = run_gated(make_tools(plugins=("xdist",)), sources, ("-n", "2"), home=tmp_path / "gated-home")
    row = Row(project=PROJECT, workers=2, alone=alone, evidence=evidence)
    assert alone.summary == COUNTS
    assert row.problems == ()
    assert [each.code for each in evidence.said] == [10, 0]
    assert render([row]).splitlines()[-1] == "| sample | 1.0 | 2 | 7 | 1 | 1 | yes | 2 | 0 |"
    assert count_clean([row]) == 1


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
