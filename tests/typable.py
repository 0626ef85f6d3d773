"""A next command can be typed as it stands, and is never alone the one that was just refused."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from typing import Any

from phase_gate.cli._parser import parse
from phase_gate.errors import UsageError

#: Stands for something that people have to fill in, like FILE and NAME.
_PLACEHOLDER = re.compile(r"[A-Z]{2,}|\.\.\.")
_PHASE_OPTION = re.compile("--phase=[a-z][a-z0-9_]*|--phase-task=.+")


def find_untypable(document: Any) -> list[str]:
    """Return the next commands in a JSON document that can't be typed."""
    return [row["next_command"] for row in _next_steps(document) if not is_typable(row["next_command"])]


def find_repeated(document: Any) -> list[str]:
    """Return the next commands of closed gates that would be refused once more: nothing says what to change first."""
    return [
        f"{row['reason']}: {row['next_command']}"
        for row in _next_steps(document)
        if row.get("status") in ("closed", "early") and not row.get("next_hint")
        # A run on unchanged files is what a streak is made of; another phase is something else.
        if "green run" not in row["reason"] and f"--phase={row.get('phase', '')}".lower() in row["next_command"]
    ]


@functools.cache
def is_typable(command: str) -> bool:
    program, *words = shlex.split(command)
    if program == "pytest":
        return bool(words) and all(_PHASE_OPTION.fullmatch(word) for word in words)
    if program != "phase-gate" or any(_PLACEHOLDER.fullmatch(word) for word in words):
        return False
    try:
        parse(words)
    except UsageError:
        return False
    return True


def _next_steps(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        # In a schema the name stands for a description of it.
        if isinstance(command := document.get("next_command"), str) and command:
            yield document
        document = list(document.values())
    if isinstance(document, list):
        for each in document:
            yield from _next_steps(each)
