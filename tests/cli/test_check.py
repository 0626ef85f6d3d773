"""`phase-gate check`: 0 if the phase may end, 10 if not, 11 if nobody can tell. It only looks."""

from __future__ import annotations

from tests.cli.conftest import Begin


def test_what_it_says(begin: Begin) -> None:
    gated = begin("green")
    before = gated.files()
    document = gated.json("check")
    assert gated.files() == before, "it only looks"
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
