"""Find and load workflows and guards: those that come with the package, and those of a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from phase_gate.errors import WorkflowError
from phase_gate.rules.faults import Faults
from phase_gate.rules.fields import closest_first, shorten
from phase_gate.rules.vocabulary import MAX_BYTES, check_guard, name_types
from phase_gate.rules.workflow import parse_guards, parse_workflow
from phase_gate.rules.yaml import read_bytes
from phase_gate.workflow.metrics import MetricType
from phase_gate.workflow.model import Guard, Workflow

_SHIPPED = Path(__file__).parents[1] / "workflows"
#: What every workflow may name, and what only a pipeline can measure.
_GUARD_FILES = ("guards.yaml", "pipeline-guards.yaml")


def shipped_workflow_names() -> tuple[str, ...]:
    """Return the names of the workflows that come with the package, sorted."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.yaml") if path.name not in _GUARD_FILES))


def load_shipped_guards() -> dict[str, Guard]:
    """Return the guards that come with the package."""
    guards: dict[str, Guard] = {}
    for name in _GUARD_FILES:
        guards |= parse_guards((_SHIPPED / name).read_bytes(), name)
    return guards


def load_shipped_workflow(name: str) -> Workflow:
    """Return a workflow that comes with the package."""
    names = shipped_workflow_names()
    if name not in names:
        raise WorkflowError(f"there is no workflow {shorten(name)}", f"use one of: {closest_first(name, names)}")
    path = _SHIPPED / f"{name}.yaml"
    return parse_workflow(path.read_bytes(), name=path.name, guards=load_shipped_guards())


def find_workflow(name_or_path: str, *, root: Path) -> Path:
    """Return the file of a shipped workflow by its name, or of another by its path from the root."""
    names = shipped_workflow_names()
    if name_or_path in names:
        return _SHIPPED / f"{name_or_path}.yaml"
    path = root / name_or_path
    if PurePath(name_or_path).name == name_or_path and not path.suffix and not os.path.lexists(path):
        remedy = f"use one of: {closest_first(name_or_path, names)}; or the path of a file"
        raise WorkflowError(f"there is no workflow {shorten(name_or_path)}", remedy)
    return path


def load_workflow(
    name_or_path: str,
    *,
    root: Path,
    extra_guards: Mapping[str, Guard] = {},
    extra_metrics: Mapping[str, MetricType] = {},
) -> Workflow:
    """Return a shipped workflow by its name, or one from a file by its path from the root.

    :param extra_guards: guards of plugins, which its phases may name too.
    :param extra_metrics: what plugins measure besides the metrics that we know.
    """
    path = find_workflow(name_or_path, root=root)
    name = path.name if path.parent == _SHIPPED else name_or_path
    text = read_bytes(path, name=name, limit=MAX_BYTES, error=WorkflowError)
    shipped = load_shipped_guards()
    workflow = parse_workflow(text, name=name, guards={**extra_guards, **shipped}, extra_metrics=extra_metrics)
    for guard in extra_guards.values():
        place = f"guard {guard.name!r} of a plugin"
        if guard.name in shipped:
            raise WorkflowError(f"{place}: a guard of that name is shipped", "give it another name")
        check_guard(guard, name_types(workflow), place=place, faults=Faults(WorkflowError))
    return workflow
