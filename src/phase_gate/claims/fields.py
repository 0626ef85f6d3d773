"""The fields of each kind of status block: which there are, what may stand in them, which of them answers.

Pure: tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

BlockKind = Literal["prp", "ralph", "exit", "doyaken"]

#: What each kind is called in messages.
NAMES: Mapping[BlockKind, str] = {
    "prp": "PRP_PHASE_STATUS",
    "ralph": "RALPH_STATUS",
    "exit": "EXIT_STATUS",
    "doyaken": "DOYAKEN_STATUS",
}


def is_nothing(text: str) -> bool:
    """Tell whether the words mean that no work is left."""
    return text.strip(" \t\"'.").lower() in ("", "none", "nothing")


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        return "" if value in allowed else f"is not one of {', '.join(allowed)}"

    return check


def _number(value: str) -> str:
    return "" if re.fullmatch(r"[0-9]{1,18}", value) else "is no number"


def _number_or_null(value: str) -> str:
    return "" if value == "null" else _number(value)


def check_text(value: str) -> str:
    return "is a template" if value[:1] in ("{", "<", "[") and value[-1:] in ("}", ">", "]") else ""


def _word(value: str) -> str:
    return "" if re.fullmatch(r"[A-Z][A-Z_]{0,40}", value) else "is no word in capitals"


_BOOLEAN = _one_of("true", "false")
_Checks = Mapping[str, Callable[[str], str]]

FIELDS: Mapping[BlockKind, _Checks] = {
    "prp": {
        "PHASE": check_text,
        "ITERATION": _number_or_null,
        "TESTS_TOTAL": _number_or_null,
        "TESTS_PASSING": _number_or_null,
        "TESTS_FAILING": _number_or_null,
        "REASON": check_text,
        "GATE_1": _BOOLEAN,
        "GATE_1_DETAIL": check_text,
        "GATE_2": _BOOLEAN,
        "CAN_EXIT": _BOOLEAN,
        "REMAINING_WORK": check_text,
        "EXIT_SIGNAL": _BOOLEAN,
    },
    "ralph": {
        "STATUS": _one_of("IN_PROGRESS", "COMPLETE", "BLOCKED"),
        "TASKS_COMPLETED_THIS_LOOP": _number,
        "FILES_MODIFIED": _number,
        "TESTS_STATUS": _one_of("PASSING", "FAILING", "NOT_RUN"),
        "WORK_TYPE": _word,
        "EXIT_SIGNAL": _BOOLEAN,
        "RECOMMENDATION": check_text,
    },
    "exit": {
        "EXIT_STATUS": _one_of("COMPLETE", "CONTINUE"),
        "EXIT_REASON": check_text,
        "REMAINING_WORK": check_text,
        "EXIT_CONFIDENCE": _one_of("HIGH", "MEDIUM", "LOW"),
        "EXIT_OVERRIDE": _BOOLEAN,
    },
    "doyaken": {
        "PHASE_COMPLETE": _BOOLEAN,
        "FILES_MODIFIED": _number,
        "TESTS_STATUS": _one_of("pass", "fail", "skip", "unknown"),
        "CONFIDENCE": _one_of("high", "medium", "low"),
        "REMAINING_WORK": check_text,
    },
}

#: The part that every PRP_PHASE_STATUS has.
DUAL_GATE = ("GATE_1", "GATE_2", "CAN_EXIT")

#: Without these a block says nothing.
REQUIRED: Mapping[BlockKind, tuple[str, ...]] = {
    "prp": (*DUAL_GATE, "EXIT_SIGNAL"),
    "ralph": ("STATUS", "EXIT_SIGNAL"),
    "exit": ("EXIT_STATUS",),
    "doyaken": tuple(FIELDS["doyaken"]),
}

#: The key that answers, and the value that means done.
ANSWERS: Mapping[BlockKind, tuple[str, str]] = {
    "prp": ("EXIT_SIGNAL", "true"),
    "ralph": ("EXIT_SIGNAL", "true"),
    "exit": ("EXIT_STATUS", "COMPLETE"),
    "doyaken": ("PHASE_COMPLETE", "true"),
}

#: Values that do not go together with done, and what they say.
AGAINST: Mapping[BlockKind, Mapping[tuple[str, str], str]] = {
    "prp": {("CAN_EXIT", "false"): "CAN_EXIT: false", ("GATE_1", "false"): "GATE_1: false"},
    "ralph": {
        ("STATUS", "IN_PROGRESS"): "STATUS: IN_PROGRESS",
        ("STATUS", "BLOCKED"): "STATUS: BLOCKED",
        ("TESTS_STATUS", "FAILING"): "TESTS_STATUS: FAILING",
    },
    "exit": {},
    "doyaken": {("TESTS_STATUS", "fail"): "TESTS_STATUS: fail"},
}
