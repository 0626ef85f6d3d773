"""`phase-gate workflow schema`: the JSON Schemas (draft-07) of our files, and workflows as diagrams."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import UsageError

_FOLDER = Path(__file__).parent.parent / "schemas"


def schema_names() -> tuple[str, ...]:
    return tuple(sorted(path.name.removesuffix(".schema.json") for path in _FOLDER.glob("*.schema.json")))


def read_schema(name: str) -> str:
    return (_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help=f"one of: {', '.join(schema_names())}; with --mermaid a workflow, or the path of its file",
    )
    parser.add_argument("--mermaid", action="store_true", help="print a workflow as a Mermaid state diagram")


def run(call: Call) -> Answer:
    if call.arguments.mermaid:
        return _draw(call)
    name = "evaluation" if call.arguments.name is None else call.arguments.name
    if name not in schema_names():
        raise UsageError(f"there is no schema {name!r}", remedy=f"use one of: {', '.join(schema_names())}")
    text = read_schema(name)
    return Answer(text=text.rstrip(), document=json.loads(text))


def _draw(call: Call) -> Answer:
    from phase_gate.config.compiled import load_compiled
    from phase_gate.config.files import load_workflow
    from phase_gate.report.mermaid import render_mermaid

    name = call.arguments.name
    workflow = None if name is None else load_compiled(name)
    if workflow is None:
        project = call.project()
        metrics = project.configuration.overlay.metrics
        # A path is typed from the current folder; the project's own workflow is found from its root.
        workflow = project.workflow() if name is None else load_workflow(name, root=call.start, extra_metrics=metrics)
    text = render_mermaid(workflow)
    return Answer(text=text.rstrip(), document={"workflow": workflow.name, "mermaid": text})
