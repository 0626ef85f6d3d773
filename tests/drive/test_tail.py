"""The end of an agent's output, as the view shows it: lines as they are, and what events tell."""

from __future__ import annotations

import json

from phase_gate.drive.iteration import read_said
from phase_gate.drive.view import Tail

RUNS = {"type": "item.started", "item": {"type": "command_execution", "command": "pytest -q"}}
SAYS = {"type": "item.completed", "item": {"type": "agent_message", "text": "All done."}}


def lines(*rows: object, most: int = 5) -> list[str]:
    tail = Tail()
    for row in rows:
        tail.write((row if isinstance(row, str) else json.dumps(row)).encode() + b"\n")
    return tail.lines(most)


def test_events_are_told_and_lines_are_shown() -> None:
    assert lines("a warning", {"type": "turn.started"}, RUNS, "", SAYS) == ["a warning", "pytest -q", "All done."]
    assert lines(RUNS, SAYS, most=1) == ["All done."]


def test_half_an_event_is_not_shown() -> None:
    large = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "x" * (1 << 17)}}
    assert lines(large, SAYS) == ["All done."]


def test_a_line_without_an_end_is_shown_all_the_same() -> None:
    tail = Tail()
    tail.write(b"." * (1 << 17))
    assert tail.lines(1)[0].startswith("...")


def test_only_messages_are_claims_where_events_are_printed() -> None:
    events = "\n".join(map(json.dumps, ({"type": "turn.started"}, RUNS, SAYS)))
    assert read_said(events) == ("All done.",)
    assert read_said("EXIT_SIGNAL: true\n") == ("EXIT_SIGNAL: true\n",)
    assert read_said("") == ("",)
