"""A next command can be typed as it stands: the real command line reads it, and nothing is left to be filled in."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Iterator
from typing import Any

from phase_gate.cli._parser import build_full_parser

#: Stands for something that people have to fill in, like FILE and NAME.
_PLACEHOLDER = re.compile(r"[A-Z]{2,}|\.\.\.")
_PHASE_OPTION = re.compile("--phase=[a-z][a-z0-9_]*|--phase-task=.+")


def find_untypable(document: Any) -> list[str]:
    """Return the next commands in a JSON document that can't be typed."""
    return [command for command in _next_commands(document) if not is_typable(command)]


@functools.cache
def is_typable(command: str) -> bool:
    program, *words = shlex.split(command)
    if program == "pytest":
        return bool(words) and all(_PHASE_OPTION.fullmatch(word) for word in words)
    if program != "phase-gate" or any(_PLACEHOLDER.fullmatch(word) for word in words):
        return False
    parser = _parser()  # not in the block: if it can't be built, nothing is known about the command
    try:
        parser.parse_args(words)
    except Exception:
        return False
    return True


@functools.cache
def _parser() -> argparse.ArgumentParser:
    return build_full_parser()


def _next_commands(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        # In a schema the name stands for a description of it.
        if isinstance(command := document.get("next_command"), str) and command:
            yield command
        document = list(document.values())
    if isinstance(document, list):
        for each in document:
            yield from _next_commands(each)
