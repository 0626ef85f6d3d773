"""The verdict in a few words for machines: what CI systems hand from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.visible import show_line

#: Characters of a sentence that are handed on: enough for a person, little enough for every limit.
_LONGEST = 500


def verdict_words(document: Mapping[str, Any]) -> dict[str, str]:
    """Return names and values, each in one line, from an evaluation's JSON document."""
    metrics = document["metrics"]
    words = {
        "can-exit": document["can_exit"],
        "gate1": document["gate_1"]["satisfied"],
        "gate2": document["gate_2"]["satisfied"],
        "phase": document["phase"],
        "iteration": document["iteration"],
        "streak": metrics.get("consecutive_green_runs"),
        "run-kind": document["run_kind"],
        "reason": document["reason"],
        "next": document["next"],
    }
    return {name: _plain(value) for name, value in words.items()}


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(show_line(str(value)).split())[:_LONGEST].strip()
