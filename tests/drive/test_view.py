"""The live view, on a terminal that a test reads; and the question that a person answers there."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from phase_gate.drive.view import Working, render_status
from tests.drive.conftest import RIGHT, Terminal, Track

pytestmark = pytest.mark.sampled(3)

Begin = Callable[[str], Track]


@pytest.mark.parametrize(
    ("working", "status"),
    [
        (Working(role="agent", where="GREEN", number=3, limit=1200), "GREEN 3 · agent works 1m 02s of 20m"),
        (Working(role="reviewer", where="part", number=2), "part 2 · reviewer works 1m 02s"),
        (Working(role="tests", where="RED", number=1), "RED 1 · tests run 1m 02s"),
    ],
)
def test_the_status_line(working: Working, status: str) -> None:
    assert render_status(working, 62.0) == status


# --- with a real one


Opens = Callable[..., Terminal]
DONE_BECAUSE = "done, because: "


@pytest.mark.processes
def test_a_person_is_asked_and_answers(track: Begin, at_terminal: Opens) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "say": "working \x1b[31mred\n", "until": ".phase-gate/seen"},
        {"expect": ["dev signaled that it is not done: more tests"]},
    )
    terminal = at_terminal(driven.root, "--", *driven.agent)
    assert "\x1b[31m" not in terminal.read_until("agent works"), "the live view is there"
    (driven.gated.folder / "seen").touch()
    assert "\x1b[31m" not in terminal.answers("no, more tests", to=DONE_BECAUSE)
    assert "iteration 2: GREEN" in terminal.answers("both pass, I looked", to=DONE_BECAUSE)
    assert terminal.end() == 0, terminal.shown
    assert "drive ends: done" in terminal.shown
    answers = [(row["answer"], row["reason"]) for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert answers[-1] == ("done", "both pass, I looked")
    assert driven.iterations()[-1].get("code", 0) == 0, "the agent was told what is missing"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("number", "code"),
    [(None, 13), (signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130)],
    ids=["no-answer", "SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_question_without_an_answer(
    track: Begin, at_terminal: Opens, number: signal.Signals | None, code: int
) -> None:
    driven = track("green").plan({})
    terminal = at_terminal(driven.root, "--", *driven.agent)
    if number is None:
        terminal.answers("", to=DONE_BECAUSE)
    else:
        terminal.read_until(DONE_BECAUSE)
        terminal.process.send_signal(number)
    assert terminal.end() == code
