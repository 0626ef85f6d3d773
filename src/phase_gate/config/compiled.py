"""Shipped workflows, read ahead: each as JSON beside their YAML. Every run comes here, so no parser is imported."""

from __future__ import annotations

import json
from pathlib import Path

from phase_gate.workflow.model import Workflow
from phase_gate.workflow.model_json import workflow_from_json, workflow_to_json

COMPILED_FOLDER = Path(__file__).parents[1] / "workflows" / "compiled"


def load_compiled(name: str) -> Workflow | None:
    """Return a shipped workflow as it is without any settings; None if there is none of that name."""
    if "/" in name or "\\" in name:
        return None  # the path of a file of the project
    try:
        document = (COMPILED_FOLDER / f"{name}.json").read_bytes()
    except (OSError, ValueError):
        return None
    return workflow_from_json(json.loads(document))


def compile_shipped(name: str) -> str:
    """Return what has to stand in the file of a workflow."""
    from phase_gate.config.files import apply_overlay, load_shipped_workflow
    from phase_gate.workflow.model import Overlay

    document = workflow_to_json(apply_overlay(load_shipped_workflow(name), Overlay()))
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    return f"{{\n{rows}\n}}\n"
