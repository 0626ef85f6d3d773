"""Shipped workflows, precompiled to JSON files next to their YAML files. Every run loads one, without any parser."""

from __future__ import annotations

import json
from pathlib import Path

from phase_gate.workflow.model import Workflow
from phase_gate.workflow.model_json import workflow_from_json, workflow_to_json

COMPILED_FOLDER = Path(__file__).parents[1] / "workflows" / "compiled"


def load_compiled(name: str) -> Workflow | None:
    """Return a shipped workflow without any settings applied; None if there is none of that name."""
    if "/" in name or "\\" in name:
        return None  # a path in the project
    try:
        document = (COMPILED_FOLDER / f"{name}.json").read_bytes()
    except (OSError, ValueError):
        return None
    return workflow_from_json(json.loads(document))


def compile_shipped(name: str) -> str:
    """Return the content of a shipped workflow's JSON file."""
    from phase_gate.config.rule_files import apply_overlay, load_shipped_workflow
    from phase_gate.workflow.model import Overlay

    document = workflow_to_json(apply_overlay(load_shipped_workflow(name), Overlay()))
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    return f"{{\n{rows}\n}}\n"
