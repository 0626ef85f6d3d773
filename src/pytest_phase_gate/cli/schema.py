"""`phase-gate schema`: the JSON Schemas (draft-07) of our files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from pytest_phase_gate.cli._answer import Answer, Call
from pytest_phase_gate.errors import UsageError

_FOLDER = Path(__file__).parent.parent / "schemas"


def schema_names() -> tuple[str, ...]:
    return tuple(sorted(path.name.removesuffix(".schema.json") for path in _FOLDER.glob("*.schema.json")))


def read_schema(name: str) -> str:
    return (_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", default="evaluation", metavar="NAME", help=f"one of: {', '.join(schema_names())}"
    )


def run(call: Call) -> Answer:
    name = call.arguments.name
    if name not in schema_names():
        raise UsageError(f"there is no schema {name!r}", remedy=f"use one of: {', '.join(schema_names())}")
    text = read_schema(name)
    return Answer(text=text.rstrip(), document=json.loads(text))
