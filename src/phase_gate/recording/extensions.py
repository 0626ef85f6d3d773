"""Contributions of other plugins through our hooks: guards, workflows, metrics, listeners for the verdict.

Each implementation is called separately. If one raises, the error names it and the others still run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import ConditionError, PhaseGateError, WorkflowError
from phase_gate.gate.measured import wanted_names
from phase_gate.gate.verdict import Evaluation, evaluation_to_json
from phase_gate.workflow.condition_parser import normalize
from phase_gate.workflow.metrics import MetricType, MetricValue
from phase_gate.workflow.model import Guard, Phase, Workflow

_TYPES: Mapping[MetricType, tuple[type, ...]] = {
    "int": (int,),
    "number": (int, float),
    "bool": (bool,),
    "text": (str,),
}


def gather_guards(config: pytest.Config) -> dict[str, Guard]:
    """Return the guards of plugins. Raises WorkflowError for an invalid one."""
    return {name: _guard(plugin, name, row) for name, (plugin, row) in _offered(config, "guard").items()}


def gather_workflows(config: pytest.Config) -> dict[str, Path]:
    """Return the workflows of plugins."""
    return {name: Path(path) for name, (_, path) in _offered(config, "workflow").items()}


def _guard(plugin: str, name: str, row: Any) -> Guard:
    try:
        return Guard(
            name=name,
            condition=normalize(row["condition"]),
            remedy=row["remedy"],
            detail=row.get("detail", ""),
        )
    except ConditionError as error:
        raise WorkflowError(f"{plugin}: guard {name!r}: {error.problem}", remedy=error.remedy) from error
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"{plugin}: guard {name!r} has no {error}"
        raise WorkflowError(problem, remedy="give it a condition and a remedy") from error


def _offered(config: pytest.Config, kind: str) -> dict[str, tuple[str, Any]]:
    """Return all that plugins offer of one kind, by name. Raises WorkflowError for an invalid offer."""
    hook, found = f"pytest_phase_gate_{kind}s", dict[str, tuple[str, Any]]()
    for plugin, offered, error in _each(config, hook):
        if isinstance(error, PhaseGateError):
            raise error
        if error is not None:
            raise WorkflowError(f"{plugin}: {hook} raised {type(error).__name__}: {error}", remedy="fix that plugin")
        if offered is not None and not isinstance(offered, Mapping):
            raise WorkflowError(f"{plugin}: {type(offered).__name__} is no mapping of names", remedy="return a dict")
        for name, row in dict(offered or {}).items():
            if name in found:
                raise WorkflowError(f"{plugin}: {kind} {name!r} is offered twice", remedy="give one another name")
            found[name] = (plugin, row)
    return found


def gather_metrics(
    config: pytest.Config, workflow: Workflow, phase: Phase, root: Path
) -> tuple[dict[str, MetricValue], tuple[str, ...]]:
    """Return the metrics of plugins, and complaints about them. A doubtful metric is unknown."""
    wanted = wanted_names(workflow, phase)
    if wanted.isdisjoint(workflow.metrics):
        return {}, ()  # no rule uses a declared metric, so no plugin has to measure
    found: dict[str, MetricValue] = {}
    doubtful: set[str] = set()
    complaints: list[str] = []
    for plugin, result, error in _each(config, "pytest_phase_gate_metrics", phase=phase.name, root=root, wanted=wanted):
        if error is not None:
            complaints.append(f"metrics of {plugin} are unknown: {type(error).__name__}: {error}")
            continue
        if result is not None and not isinstance(result, Mapping):
            complaints.append(f"metrics of {plugin} are unknown: {type(result).__name__} is no mapping of names")
            continue
        for name, value in dict(result or {}).items():
            expected = workflow.metrics.get(name)
            if expected is None:
                complaints.append(f"metric {name!r} of {plugin} is not declared under metrics: ignored")
            elif not _has_type(value, expected):
                complaints.append(f"metric {name!r} of {plugin} is no {expected}: unknown")
                doubtful.add(name)
            elif name in found and found[name] != value:
                complaints.append(f"metric {name!r} has two values, {found[name]!r} and {value!r}: unknown")
                doubtful.add(name)
            else:
                found[name] = value
    return {name: value for name, value in found.items() if name not in doubtful}, tuple(complaints)


def announce_evaluation(config: pytest.Config, evaluation: Evaluation) -> list[str]:
    """Pass the verdict to the plugins that listen for it; return their errors."""
    if not hasattr(config.pluginmanager.hook, "pytest_phase_gate_evaluated"):
        return []
    document = evaluation_to_json(evaluation)
    return [
        f"pytest_phase_gate_evaluated of {plugin} raised {type(error).__name__}: {error}"
        for plugin, _, error in _each(config, "pytest_phase_gate_evaluated", evaluation=document)
        if error is not None
    ]


def _has_type(value: object, expected: MetricType) -> bool:
    if value is None:
        return True
    if isinstance(value, float) and not math.isfinite(value):
        return False
    # bool is an int in Python, but not in a condition.
    return isinstance(value, _TYPES[expected]) and (expected == "bool" or not isinstance(value, bool))


def _each(config: pytest.Config, hook: str, **arguments: object) -> Iterator[tuple[str, Any, Exception | None]]:
    caller = getattr(config.pluginmanager.hook, hook, None)  # None without an implementation
    for implementation in () if caller is None else caller.get_hookimpls():
        plugin = str(implementation.plugin_name)
        try:
            result = implementation.function(*(arguments[name] for name in implementation.argnames))
        except Exception as error:
            yield plugin, None, error
        else:
            yield plugin, result, None
