"""A workflow as JSON, and back: the rules that a run was judged by are stored with it.

Pure. So a signal that comes later is judged by the same rules, guards of conftest plugins included, and no command
has to read YAML for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.codec import from_json, stand_as_text, to_json
from phase_gate.workflow.conditions import Condition, stored_condition
from phase_gate.workflow.model import Workflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Here, not where it is defined: the model does not import the language of conditions.
stand_as_text(Condition, lambda condition: condition.text, stored_condition)


def workflow_to_json(workflow: Workflow) -> dict[str, Any]:
    return to_json(workflow)


def workflow_from_json(document: Mapping[str, Any]) -> Workflow:
    """Return the workflow that `workflow_to_json` wrote. Raises TypeError or ValueError on anything else."""
    return from_json(Workflow, document)
