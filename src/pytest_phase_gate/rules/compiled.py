"""Shipped workflows, read ahead: as JSON beside their YAML.

A project without settings and plugins of its own needs no YAML parser then, which is a tenth of pytest's own start.
The YAML is the source: `python docs/generate.py` writes the JSON, and a test compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_phase_gate.core.workflow_json import workflow_from_json, workflow_to_json

if TYPE_CHECKING:
    from pytest_phase_gate.core.workflow import Workflow

COMPILED_FILE = Path(__file__).parents[1] / "workflows" / "compiled.json"


def load_compiled(name: str) -> Workflow | None:
    """Return a shipped workflow as it is without any settings; None if there is none of that name."""
    document = json.loads(COMPILED_FILE.read_bytes()).get(name)
    return None if document is None else workflow_from_json(document)


def compile_shipped() -> str:
    """Return what has to stand in the file."""
    from pytest_phase_gate.core.settings import Overlay
    from pytest_phase_gate.rules.overlay import apply_overlay
    from pytest_phase_gate.rules.workflow_files import load_shipped_workflow, shipped_workflow_names

    workflows = {name: apply_overlay(load_shipped_workflow(name), Overlay()) for name in shipped_workflow_names()}
    return json.dumps({name: workflow_to_json(each) for name, each in workflows.items()}, indent=1) + "\n"
