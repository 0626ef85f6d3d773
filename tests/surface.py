"""Every name that users and programs depend on, by section; `python -m tests.surface` writes them to `surface.txt`.

A name that appears or vanishes by accident is a broken promise: `test_surface.py` compares the file with the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from _pytest.config.argparsing import Parser

from phase_gate import exit_codes, plugin
from phase_gate.cli._table import COMMANDS
from phase_gate.config.workflow_files import load_shipped_guards
from phase_gate.errors import MESSAGES
from phase_gate.workflow.metrics import METRIC_TYPES

FILE = Path(__file__).with_suffix(".txt")
SCHEMAS = Path(exit_codes.__file__).parent / "schemas"

Surface = Mapping[str, frozenset[str]]


def read_code() -> Surface:
    """Return the names that the code has now."""
    parser = Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    options = (name for group in parser._groups for option in group.options for name in option.names())
    return {
        "exit codes": frozenset(f"{code} {name}" for name, code in vars(exit_codes).items() if isinstance(code, int)),
        "commands": frozenset(COMMANDS),
        "options of pytest": frozenset([*options, *parser._inidict]),
        "guards": frozenset(load_shipped_guards()),
        "messages": frozenset(MESSAGES),
        "metrics": frozenset(METRIC_TYPES),
        "keys of the evaluation": frozenset(schema_keys("evaluation")),
        "keys of status --json": frozenset(schema_keys("status")),
    }


def schema_keys(name: str) -> Iterator[str]:
    """Yield the keys that a schema of ours allows, as paths; other schemas that it refers to are not followed."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return _keys(schema, schema.get("definitions", {}), "")


def _keys(node: Any, definitions: Mapping[str, Any], place: str) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _keys(each, definitions, place)
        return
    if not isinstance(node, dict):
        return
    before, _, definition = node.get("$ref", "").rpartition("/")
    if before == "#/definitions":
        yield from _keys(definitions[definition], definitions, place)
    for key, value in node.get("properties", {}).items():
        yield f"{place}{key}"
        yield from _keys(value, definitions, f"{place}{key}.")
    for inner in ("items", "additionalProperties", "anyOf", "oneOf", "allOf"):
        yield from _keys(node.get(inner), definitions, place)


def render(surface: Surface) -> str:
    sections = ("\n".join([f"[{title}]", *sorted(names)]) for title, names in surface.items())
    return "\n\n".join(sections) + "\n"


def parse(text: str) -> Surface:
    found: dict[str, frozenset[str]] = {}
    for section in text.strip().split("\n\n"):
        title, *names = section.splitlines()
        found[title.strip("[]")] = frozenset(names)
    return found


def compare(before: Surface, now: Surface) -> Iterable[str]:
    """Yield a line for each name that appeared or vanished."""
    for title in dict.fromkeys([*before, *now]):
        was, has = before.get(title, frozenset()), now.get(title, frozenset())
        for name in sorted(was ^ has):
            yield f"{title}: {name} {'appeared' if name in has else 'vanished'}"


if __name__ == "__main__":
    FILE.write_text(render(read_code()), encoding="utf-8")
