"""`phase-gate check`: 0 if the phase may end, 10 if not, 11 if nobody can tell. It only looks."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "both", "gate_1"),
    [
        pytest.param("", 10, 10, id="nothing-was-run"),
        pytest.param("red", 10, 0, id="red-without-a-signal"),
        pytest.param("red-exited", 0, 0, id="red-has-exited"),
        pytest.param("green-once", 10, 10, id="green-only-once"),
        pytest.param("green", 10, 0, id="green-without-a-signal"),
        pytest.param("green-exited", 0, 0, id="green-has-exited"),
        pytest.param("refactor", 10, 10, id="refactoring-not-declared-done"),
        pytest.param("document", 10, 10, id="entered-and-nothing-run-since"),
        pytest.param("done", 0, 0, id="the-cycle-is-done"),
    ],
)
def test_whether_the_phase_may_end(begin: Begin, story: str, both: int, gate_1: int) -> None:
    gated = begin(story)
    before = gated.files()
    assert gated.gate("check").code == both
    assert gated.gate("check", "--gate1").code == gate_1
    assert gated.files() == before, "it only looks"


def test_what_it_says(begin: Begin) -> None:
    gated = begin("green")
    document = gated.json("check")
    assert document == {
        "task": "default",
        "root": str(gated.root),
        "phase": "GREEN",
        "open": False,
        "reason": "Gate 1 is open; Gate 2 waits for the exit signal",
        "status": "waiting",
        "next_command": "phase-gate signal",
        "next_hint": '--reason "..." adds a reason',
        "forced_exit": False,
    }
    following = f"{document['next_command']}  # {document['next_hint']}"
    assert gated.gate("check").out == f"GREEN: closed: {document['reason']}\n  next: {following}\n"
