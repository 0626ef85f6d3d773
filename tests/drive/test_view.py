"""The live view, on a terminal that a test reads; and the question that a person answers there."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest

from phase_gate.drive.view import Tail, Working, render_status
from tests.drive.conftest import RIGHT, Terminal, Track

pytestmark = pytest.mark.sampled(3)

Begin = Callable[[str], Track]

RUNS = {"type": "item.started", "item": {"type": "command_execution", "command": "pytest -q"}}
SAYS = {"type": "item.completed", "item": {"type": "agent_message", "text": "All done."}}
LARGE = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "x" * (1 << 17)}}


def tail_of(*rows: object) -> Tail:
    tail = Tail()
    for row in rows:
        tail.write((row if isinstance(row, str) else json.dumps(row)).encode() + b"\n")
    return tail


@pytest.mark.parametrize(
    ("working", "printed", "status"),
    [
        (Working(role="agent", where="GREEN", number=3, limit=1200), (), "GREEN 3 · agent works 1m 02s of 20m"),
        (
            Working(role="reviewer", where="part", number=2),
            ("\x1b[2JGate 1  open",),
            "part 2 · reviewer works 1m 02s · \\x1b[2JGate 1  open",
        ),
        (Working(role="tests", where="RED", number=1), (SAYS,), "RED 1 · tests run 1m 02s · All done."),
    ],
)
def test_the_status_line(working: Working, printed: tuple[object, ...], status: str) -> None:
    assert render_status(working, 62.0, tail_of(*printed)) == status


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        pytest.param(("a warning", RUNS, {"type": "turn.started"}, ""), "pytest -q", id="what-an-event-tells"),
        pytest.param((RUNS, SAYS), "All done.", id="a-message"),
        pytest.param((SAYS, LARGE, SAYS), "All done.", id="half-an-event-is-none"),
        pytest.param((), "", id="nothing"),
    ],
)
def test_the_last_line_that_says_something(rows: tuple[object, ...], last: str) -> None:
    assert tail_of(*rows).last() == last


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
    shown = terminal.read_until("working \\x1b[31mred")
    assert "agent works" in shown, "the live view is there"
    (driven.gated.folder / "seen").touch()
    assert "\x1b[31m" not in shown + terminal.answers("no, more tests", to=DONE_BECAUSE)
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
