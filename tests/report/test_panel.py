"""The panel on screens of several widths, and what it keeps where a run is quiet."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.breaker import Breaker
from phase_gate.gate.judging import with_breaker
from phase_gate.gate.measured import TEST_FAILS, Finding, name_tests
from phase_gate.gate.verdict import Evaluation, GuardResult
from phase_gate.report.panel import panel_text, render_panel
from phase_gate.values import replace
from tests.gate.test_advice import ALTERED, judge
from tests.gate.verdicts import AT


@pytest.fixture
def altered() -> Evaluation:
    return judge("tdd", "GREEN", ALTERED, tests_altered=1, consecutive_green_runs=1)


def test_an_open_circuit_hides_no_test_behind_a_clause() -> None:
    failing = name_tests(TEST_FAILS, "advisory", ["t.py::test_a", "t.py::test_b"], "fails")
    stuck = Breaker(status="open", opened_at=AT, reason="the same error 5 times")
    closed = judge("tdd", "GREEN", *failing, tests_failing=2, tests_passing=0)
    rows = panel_text(render_panel(with_breaker(closed, stuck))).splitlines()
    assert rows[1] == "Gate 1  closed   t.py::test_a fails (and 1 more)"


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_screen(altered: Evaluation, width: int) -> None:
    rows = [line.text for line in render_panel(altered, width=width) if not line.is_title]
    assert max(map(len, rows)) <= min(width, 80)


def test_nothing_is_lost_on_a_narrow_screen_and_no_command_is_wrapped(altered: Evaluation) -> None:
    narrow, wide = (
        " ".join(line.text for line in render_panel(altered, width=width) if not line.is_title).split()
        for width in (40, 80)
    )
    assert narrow == wide
    once = judge("tdd", "GREEN", tests_total=2, tests_passing=2, tests_failing=0, consecutive_green_runs=1)
    rows = panel_text(render_panel(once, width=30), width=30).splitlines()
    assert "next    pytest --phase=green" in rows
    ready = judge("tdd", "GREEN", tests_total=2, tests_passing=2, tests_failing=0, consecutive_green_runs=2)
    rows = panel_text(render_panel(ready, width=40), width=40).splitlines()
    assert rows[-2:] == ["next    phase-gate signal", '        # --reason "..." adds a reason']


def test_what_red_did_to_older_tests_is_always_shown() -> None:
    gone = Finding(slug="tests-gone", tier="advisory", id="t.py::test_old", detail="gone now")
    text = panel_text(render_panel(judge("tdd", "GREEN", gone, consecutive_green_runs=1)))
    assert "note    t.py::test_old gone now [tests-gone]" in text
    assert "phase-gate explain" not in text


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        pytest.param({}, "(1 note: phase-gate explain)", id="a-verdict-is-recorded"),
        pytest.param({"task": "fare"}, "(1 note: phase-gate explain --task fare)", id="of-a-named-task"),
        pytest.param({"iteration": None, "run_kind": "partial"}, "(1 note with -v)", id="the-run-does-not-count"),
    ],
)
def test_notes_are_where_they_can_still_be_read(subject: dict[str, Any], said: str) -> None:
    noted = judge("tdd", "GREEN", *name_tests("flaky", "advisory", ["t.py::test_b"], "passed after a rerun"))
    rows = panel_text(render_panel(replace(noted, **subject)))
    assert said in " ".join(rows.split())


def test_it_has_four_lines(altered: Evaluation) -> None:
    rows = [line.text for line in render_panel(altered)]
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == ["phase", "Gate", "Gate", "next"]
    assert rows[1].startswith("Gate 1  closed   ")
    assert "Gate 2  waiting  no exit signal" in rows


def test_with_v_it_has_every_clause_and_guard(altered: Evaluation) -> None:
    text = panel_text(render_panel(altered, verbosity=1))
    missing = {clause.text for clause in altered.gate_1.clauses} | {guard.name for guard in altered.gate_1.guards}
    assert {each for each in missing if each not in text} == set()
    assert "t.py::test_a altered" in text
    assert "\n  ? guards  criteria-covered, targets-proven (not measured)\n" in text, "that is not ticked"


def test_a_waived_guard_is_not_named_once_more_as_unmeasured(altered: Evaluation) -> None:
    guards = (GuardResult(name="targets-proven", met=False, waived=True),)
    waived = replace(altered, gate_1=replace(altered.gate_1, guards=guards))
    rows = [line.text for line in render_panel(waived, verbosity=1)]
    assert [row for row in rows if "targets-proven" in row] == ["  + guards  targets-proven (waived)"]


def test_with_qq_it_is_one_line(altered: Evaluation) -> None:
    (line,) = render_panel(altered, verbosity=-2)
    assert line.text == f"phase gate: GREEN · iteration 1 · 2 tests: {altered.verdict}; next: {altered.next_hint}"


def test_a_run_that_another_one_follows_says_which_it_is(altered: Evaluation) -> None:
    text = panel_text(render_panel(altered, series=(1, 2)))
    assert "Gate 1  closed   run 1 of 2: " in text
    assert text.endswith("next    run 2 of 2 starts by itself")
