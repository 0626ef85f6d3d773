"""Tests that are skipped under a waiver: exempt as long as it covers all of them."""

from __future__ import annotations

import pytest

from phase_gate.gate.inventory import Inventory
from phase_gate.gate.measured import Waiver, name_tests
from phase_gate.gate.outcomes import Bucket, Judgement, References, judge_outcomes
from phase_gate.gate.run_end import excuse_skips

NOW = "2026-07-01T12:00:00.000Z"


def skips(*names: str) -> Judgement:
    """A run in which these were skipped that had been red, and one test passed."""
    ids = [f"t.py::{name}" for name in names]
    outcomes: dict[str, Bucket] = {**dict.fromkeys(ids, "skipped"), "t.py::test_fine": "passed"}
    past = References(red=dict.fromkeys(ids, "body"), targets=ids)
    return judge_outcomes(outcomes, Inventory({}), past, in_first_phase=False)


def waive_skips(*names: str, expires: str = "") -> Waiver:
    found = name_tests("no-new-skips", "hard", [f"t.py::{name}" for name in names], "skipped now, and not before")
    keys = tuple(finding.key for finding in found)
    return Waiver(guard="no-new-skips", findings=keys, reason="because", by="dev", at=NOW, expires=expires)


@pytest.mark.parametrize(
    ("waivers", "is_excused"),
    [
        pytest.param([waive_skips("test_a", "test_b")], True, id="both"),
        pytest.param([waive_skips("test_a")], False, id="one-more-closes-again"),
        pytest.param([waive_skips("test_a", "test_b", expires=NOW)], False, id="expired"),
        pytest.param([], False, id="none"),
    ],
)
def test_skips_that_a_person_lets_pass(waivers: list[Waiver], is_excused: bool) -> None:
    judged = skips("test_a", "test_b")
    assert judged.newly_skipped == {"t.py::test_a", "t.py::test_b"}
    after = excuse_skips(judged, waivers, at=NOW)
    assert (after.newly_skipped == frozenset()) is is_excused
    assert after.excused == (judged.newly_skipped if is_excused else frozenset())
    assert after.newly_skipped | after.exempt == judged.newly_skipped | judged.exempt
