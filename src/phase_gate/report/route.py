"""Draw how far a task has come: one row a phase, in plain text, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.core.route import Mark, Route, Stop
from phase_gate.values import as_dict

#: In columns.
WIDTH = 80
#: Turns that are drawn, the last ones: a long history is for `history`.
MAX_TURNS = 5

_SIGNS: Mapping[Mark, str] = {
    "done": "x",
    "here": ">",
    "blocked": "!",
    "again": "~",
    "ahead": " ",
    "left-out": "-",
    "aside": " ",
}
_WORDS: Mapping[Mark, str] = {
    "done": "",
    "here": "here",
    "blocked": "here, blocked",
    "again": "to be done again",
    "ahead": "",
    "left-out": "left out: the cycle began later",
    "aside": "where a gate that fails leads to",
}
_TURNS: Mapping[str, str] = {
    "failure": "the gate failed",
    "recovered": "recovered",
    "request": "a change request",
    "rewind": "rewound",
}


def render_route(route: Route, *, recoveries: int | None = None) -> list[str]:
    """Return the rows.

    :param recoveries: how many recoveries a cycle has; None if failures lead nowhere.
    """
    width = max(len(stop.phase) for stop in route.stops)
    rows = [_row(stop, width) for stop in route.stops]
    if route.turns:
        left_out = len(route.turns) - MAX_TURNS
        rows.append("turns" + (f", the last {MAX_TURNS} of {len(route.turns)}" if left_out > 0 else ""))
        rows += (
            f"  {turn.source} -> {turn.target}: {_TURNS.get(turn.how, turn.how)}" for turn in route.turns[-MAX_TURNS:]
        )
    if recoveries is not None:
        rows.append(f"recoveries  {route.recoveries} of {recoveries} used")
    return [_cut(row) for row in rows]


def _row(stop: Stop, width: int) -> str:
    return f"  [{_SIGNS[stop.mark]}] {stop.phase:{width}}  {', '.join(_notes(stop))}".rstrip()


def _notes(stop: Stop) -> Iterator[str]:
    if words := _WORDS[stop.mark]:
        yield words
    if stop.entered > 1:
        yield f"{_ordinal(stop.entered)} time" if stop.mark in ("here", "blocked") else f"{stop.entered} times"


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in (11, 12, 13) else endings.get(number % 10, 'th')}"


def _cut(row: str) -> str:
    return row if len(row) <= WIDTH else f"{row[: WIDTH - 3]}..."


def route_to_json(route: Route) -> dict[str, Any]:
    return {
        "phases": [as_dict(stop) for stop in route.stops],
        "turns": [as_dict(turn) for turn in route.turns],
        "recoveries": route.recoveries,
    }
