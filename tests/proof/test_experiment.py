"""What outcomes in sandboxes say about a target."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.proof.experiment import judge_target
from phase_gate.proof.model import TargetProof, Verdict
from phase_gate.proof.running import Report, Reports, SandboxRun, read_heard
from phase_gate.proof.talk import Heard
from phase_gate.values import replace

TARGET = "test_a.py::test_a"
PASSED, FAILED = Report(has_passed=True), Report(has_passed=False, message="assert 1 == 2")
SKIPPED = Report(has_passed=False, is_skipped=True)


def ran(**reports: Report) -> SandboxRun:
    """Return a run with these rows: `plain` for the test itself, `file` for its module, others as parameters."""
    names = {"plain": TARGET, "file": "test_a.py"}
    return SandboxRun(
        kind="mounted",
        seconds=0.1,
        reports=Reports({names.get(name, f"{TARGET}[{name}]"): report for name, report in reports.items()}),
    )


def late(**reports: Report) -> SandboxRun:
    return replace(ran(**reports), problem="it took longer than 30 s", is_cut=True, is_late=True)


BROKEN = SandboxRun(kind="mounted", seconds=0.1, problem="it took longer than 30 s")


@pytest.mark.parametrize(
    ("controls", "treatments", "expected"),
    [
        pytest.param([ran(plain=FAILED)], [ran(plain=PASSED)], "proven", id="fails-without-passes-with"),
        pytest.param([ran(file=FAILED)], [ran(plain=PASSED)], "proven", id="its-module-can-not-be-imported-without"),
        pytest.param([ran(plain=PASSED)], [ran(plain=PASSED)], "passes-without", id="passes-without"),
        pytest.param([ran(plain=FAILED)], [ran(plain=FAILED)], "fails-with", id="fails-with"),
        pytest.param([ran(plain=FAILED)], [ran(file=FAILED)], "fails-with", id="its-module-can-not-be-imported-with"),
        pytest.param([ran(plain=PASSED)], [ran(plain=FAILED)], "fails-with", id="the-wrong-way-round"),
        pytest.param([ran(a=FAILED, b=PASSED)], [ran(a=PASSED, b=PASSED)], "proven", id="one-failing-row-is-enough"),
        pytest.param([ran(a=FAILED)], [ran(a=PASSED, b=FAILED)], "fails-with", id="one-failing-row-with-it-is-not"),
        pytest.param([ran(plain=PASSED), ran(plain=FAILED)], [ran(plain=PASSED)], "flaky", id="two-controls-differ"),
        pytest.param([ran(plain=FAILED)], [ran(plain=FAILED), ran(plain=PASSED)], "flaky", id="so-do-treatments"),
        pytest.param([BROKEN], [ran(plain=PASSED)], "unknown", id="no-word-from-the-control"),
        pytest.param([ran(plain=FAILED)], [BROKEN], "unknown", id="no-word-from-the-treatment"),
        pytest.param([ran()], [ran(plain=PASSED)], "unknown", id="it-did-not-run-without"),
        pytest.param([ran(plain=FAILED)], [late(plain=PASSED)], "proven", id="it-passed-before-the-time-was-over"),
        pytest.param([late(plain=FAILED)], [ran(plain=PASSED)], "proven", id="it-failed-before-the-time-was-over"),
        pytest.param([ran(plain=FAILED)], [late()], "unknown", id="it-did-not-end"),
        pytest.param([late(plain=PASSED)], [ran(plain=PASSED)], "unknown", id="what-did-not-end-disproves-nothing"),
        pytest.param([ran(plain=FAILED)], [late(plain=FAILED)], "unknown", id="with-the-change-neither"),
        pytest.param(
            [ran(plain=FAILED)], [replace(late(plain=PASSED), kind="copied")], "unknown", id="origins-are-not-known"
        ),
        pytest.param([ran(plain=SKIPPED)], [ran(plain=SKIPPED)], "skipped", id="skipped-here"),
        pytest.param([ran(file=FAILED)], [ran(plain=SKIPPED)], "skipped", id="skipped-in-a-file-of-new-code"),
        pytest.param([ran(plain=FAILED)], [ran(plain=SKIPPED)], "fails-with", id="the-change-skips-it"),
        pytest.param([ran(plain=SKIPPED)], [ran(plain=PASSED)], "unknown", id="skipped-without"),
        pytest.param([ran(a=FAILED, b=SKIPPED)], [ran(a=PASSED, b=SKIPPED)], "proven", id="a-row-is-skipped-here"),
        pytest.param([ran(a=PASSED, b=SKIPPED)], [ran(a=PASSED, b=SKIPPED)], "passes-without", id="it-helps-none"),
    ],
)
def test_verdicts(controls: list[SandboxRun], treatments: list[SandboxRun], expected: Verdict) -> None:
    proof = judge_target(TARGET, tuple(controls), tuple(treatments))
    assert proof.verdict == expected


def test_of_a_run_that_did_not_end_only_whole_functions_count() -> None:
    rows = [f"test_a.py::test_{name}" for name in ("a[1]", "a[2]", "b[1]", "b[2]", "c", "d")]
    collected = {"kind": "collected", "items": [{"id": row} for row in rows], "dropped": []}
    answers: list[dict[str, Any]] = [collected]
    for test_id in ("test_a.py::test_a[1]", "test_a.py::test_a[2]", "test_a.py::test_b[1]", "test_a.py::test_c"):
        answers.append({"kind": "started", "id": test_id})
        said = {"outcome": "passed", "expected": False, "lie": "", "doubt": "", "files": []}
        answers.append({"kind": "report", "id": test_id, **said})
    heard = Heard(answers=tuple(answers), seconds=30.0, late="30 s")
    run = read_heard(heard, "mounted", "", "")
    assert run.problem == "it took longer than 30 s in test_a.py::test_c"
    # A row of one has not run, and the last one was at work still.
    assert sorted(run.reports) == ["test_a.py::test_a[1]", "test_a.py::test_a[2]"]


def test_without_a_control_only_the_treatment_speaks() -> None:
    proof = judge_target(TARGET, (), (ran(plain=PASSED),), has_control=False)
    assert proof.verdict == "proven"


def test_the_reason_of_an_unknown_one_is_named() -> None:
    proof = judge_target(TARGET, (BROKEN,), (ran(plain=PASSED),))
    assert proof.why == "without the change: it took longer than 30 s"


@pytest.mark.parametrize(
    ("verdict", "is_structural", "required", "expected"),
    [
        ("proven", False, True, False),
        ("passes-without", False, False, True),
        ("fails-with", False, False, True),
        ("checks-nothing", True, False, True),
        ("checks-nothing", False, True, False),
        ("unknown", True, False, False),
        ("unknown", False, True, True),
        ("nothing-raised", True, False, False),
        ("nothing-raised", True, True, True),
        ("flaky", False, False, False),
        ("flaky", False, True, True),
    ],
)
def test_what_keeps_a_gate_closed(verdict: Verdict, is_structural: bool, required: bool, expected: bool) -> None:
    target = TargetProof(id=TARGET, verdict=verdict, is_structural=is_structural)
    assert target.closes(required=required) is expected
