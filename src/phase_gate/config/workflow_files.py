"""Find workflows and guards, and read them from YAML.

There are two formats: workflow files (`workflow:` and `phases:`), and gate documents (`phase:`, `gate_1:`, `gate_2:`),
one per phase. Gate 2 is the explicit signal in both: a file can state that, but not change it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TypeVar

from phase_gate.config.documents import read_bytes, read_document, read_documents
from phase_gate.config.reading import Node, Reader, Table, Text, closest_first, find, plain, shorten
from phase_gate.config.rule_checks import (
    RESERVED_NAMES,
    PipelineCheck,
    Vocabulary,
    is_pipeline,
    name_types,
    take_names,
    with_implied_guards,
    without_pipeline_guards,
)
from phase_gate.errors import WorkflowError
from phase_gate.values import Value, field, fields, replace
from phase_gate.workflow.condition_parser import conjoin
from phase_gate.workflow.metrics import METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import (
    MAX_RECOVERIES,
    USUAL_RECOVERIES,
    Gate1,
    Guard,
    Phase,
    PipelineRules,
    Start,
    Workflow,
    requires_of,
)
from phase_gate.workflow.names import DONE, STUCK

T = TypeVar("T")

_SHIPPED = Path(__file__).parents[1] / "workflows"
#: Guards for all workflows, and guards that only a pipeline can measure.
_GUARD_FILES = ("guards.yaml", "pipeline-guards.yaml")

#: The workflow that fills in the parts that gate documents leave open.
_MODEL = "tdd"

_PHASE_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_WORKFLOW_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")

#: `--phase=auto` lets the gate choose the phase; DONE and STUCK end a cycle.
_RESERVED_PHASES = frozenset({DONE, STUCK, "AUTO"})
_SOME_TESTS = "tests_total > 0"


class _Guards(Value):
    """A file with guards only."""

    guards: Mapping[str, Guard] = field(named=("a guard", "-"))


class _Gate2(Value):
    condition: str = field(is_condition=True)
    name: str = ""
    rationale: str = ""


class _Exit(Value):
    when: str = field(is_condition=True)


class _Phase(Phase):
    """A phase in a file, which may state the rules of Gate 2 and of the exit, but not change them."""

    gate_2: _Gate2 | None = field(default=None, short="condition")
    exit_allowed: _Exit | None = field(default=None, short="when")


class _File(PipelineRules):
    """A workflow file."""

    workflow: str
    phases: Mapping[str, _Phase]
    start: Start | None = None
    metrics: Mapping[str, MetricType] = field(default_factory=dict, named=("a metric", "_"))
    facts: Mapping[str, MetricType] = field(default_factory=dict, named=("a fact", "_"))
    parameters: Mapping[str, MetricValue] = field(default_factory=dict, named=("a parameter", "_"))
    guards: Mapping[str, Guard] = field(default_factory=dict, named=("a guard", "-"))


class _GateDocument(Value):
    phase: str
    gate_1: Gate1
    purpose: str = field(default="", prose=True)
    gate_2: _Gate2 | None = field(default=None, short="condition")
    exit_allowed: _Exit | None = field(default=None, short="when")


def parse_guards(text: str | bytes, name: str) -> dict[str, Guard]:
    """Return the guards of a guard file, by their names."""
    faults = Reader(WorkflowError)
    guards = faults.read(_Guards, read_document(text, name=name)).guards
    Vocabulary(types=METRIC_TYPES, faults=faults).check_new_guards(guards)
    return {guard.name: guard for guard in guards.values()}


def parse_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
) -> Workflow:
    """Return the workflow that the text describes, in either format.

    :param name: the file name, for messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: metrics of plugins, in addition to the built-in ones.
    """
    nodes = read_documents(text, name=name)
    known = Vocabulary(types=extra_metrics, guards=guards, faults=Reader(WorkflowError))
    if len(nodes) > 1 or (isinstance(nodes[0], Table) and "phase" in nodes[0]):
        workflow = _read_gate_documents(nodes, known, name=name)
    else:
        workflow = _read_workflow(nodes[0], known)
    return plain(without_pipeline_guards(workflow))


def _read_workflow(node: Node, known: Vocabulary) -> Workflow:
    """Return the workflow of a workflow file."""
    faults = known.faults
    file = faults.read(_File, node)
    if not _WORKFLOW_NAME.fullmatch(file.workflow):
        problem = f"a workflow can't be named {shorten(file.workflow)}"
        faults.stop(file.workflow, problem, "use letters, digits, `.`, `-` and `_`")
    _check_names(file, known)
    rows = _name_phases(file.phases.items(), faults)
    if not file.phases:
        faults.stop(find(node, "phases"), "there are no phases", "describe at least one phase")
    workflow = _make_workflow(file, rows, known)
    _check_next(rows, faults)
    if workflow.pipeline is not None:
        PipelineCheck(workflow, workflow.pipeline, node, faults).check(file.phases)
    vocabulary = replace(known, types=name_types(workflow), constants=workflow.parameters)
    vocabulary.check_new_guards(file.guards)
    vocabulary = replace(vocabulary, guards=workflow.guards)
    for row in rows.values():
        vocabulary.check_gate(row.gate_1.condition, row.gate_1.guards)
        _check_fixed(row, faults)
    return workflow


def _check_names(file: _File, known: Vocabulary) -> None:
    """Report names of metrics, facts and parameters that have another meaning already."""
    faults, taken = known.faults, dict(RESERVED_NAMES)
    take_names(file.metrics, taken, "a metric", faults)
    for metric, kind in file.metrics.items():
        if known.types.get(metric, kind) != kind:
            faults.stop(metric, f"a plugin measures {metric} as {known.types[metric]}", "use that type")
    taken.update(dict.fromkeys(known.types, "a metric of a plugin"))
    take_names(file.facts, taken, "a fact", faults)
    take_names(file.parameters, taken, "a parameter", faults)


def _make_workflow(file: _File, rows: Mapping[Text, _Phase], known: Vocabulary) -> Workflow:
    """Return the workflow of a file, completed but not checked."""
    main = [name for name, row in rows.items() if not row.recovers]
    following = dict(zip(main, [*main, DONE][1:], strict=True))
    phases = [
        replace(
            Phase(**{each: getattr(row, each) for each in fields(Phase)}),
            name=name,
            gate_1=replace(row.gate_1, guards=tuple(dict.fromkeys(row.gate_1.guards))),
            next="" if row.recovers else row.next.upper() or following[name],
            on_failure=row.on_failure.upper(),
        )
        for name, row in rows.items()
    ]
    guards = {**known.guards, **{guard.name: guard for guard in file.guards.values()}}
    parameters, pipeline = file.parameters, None
    if is_pipeline(file, phases):
        parameters = {**parameters, MAX_RECOVERIES: parameters.get(MAX_RECOVERIES, USUAL_RECOVERIES)}
        pipeline = PipelineRules(
            artifacts=file.artifacts,
            constitution=tuple(dict.fromkeys(file.constitution)),
            routes={kind: target.upper() for kind, target in file.routes.items()},
            drift=file.drift,
        )
        phases = [with_implied_guards(phase, pipeline, guards) for phase in phases]
    return Workflow(
        name=file.workflow,
        phases=tuple(phases),
        start=file.start or ("any" if pipeline is None else "first"),
        parameters=parameters,
        facts=file.facts,
        metrics={**known.types, **file.metrics},
        pipeline=pipeline,
        guards=guards,
    )


def _check_next(rows: Mapping[Text, _Phase], faults: Reader) -> None:
    for name, row in rows.items():
        others = [each for each, other in rows.items() if each != name and not other.recovers]
        target = row.next.upper()
        if target and not row.recovers:
            faults.check_known(target, [*others, DONE], f"{shorten(target)} can't follow {name}", where=row.next)


def _read_gate_documents(nodes: Sequence[Node], known: Vocabulary, *, name: str) -> Workflow:
    """Return a workflow from one document per phase, completed from the shipped workflow `tdd`."""
    shipped, faults = load_shipped_workflow(_MODEL), known.faults
    workflow = replace(
        shipped,
        name=PurePath(name).stem or name,
        metrics={**shipped.metrics, **known.types},
        guards={**shipped.guards, **known.guards},
    )
    vocabulary = replace(known, types=name_types(workflow), constants=workflow.parameters, guards=workflow.guards)
    read = [faults.read(_GateDocument, node) for node in nodes]
    documents = _name_phases([(document.phase, document) for document in read], faults)
    for document in read:
        vocabulary.check_gate(document.gate_1.condition, document.gate_1.guards)
        _check_fixed(document, faults)
    phases = []
    for (phase, document), following in zip(documents.items(), [*documents, DONE][1:], strict=True):
        # A phase that `tdd` does not have gets the guard that every phase needs: a complete run.
        model = shipped.phase(phase) or Phase(
            name=phase, gate_1=replace(shipped.first.gate_1, guards=("complete-run",)), next=following
        )
        gate = document.gate_1
        gate = replace(gate, guards=tuple(dict.fromkeys((*model.gate_1.guards, *gate.guards))))
        if model.tests != "none":
            # With zero tests, the condition of such a document may hold (0 == 0), so require at least one test.
            gate = replace(gate, condition=conjoin(_SOME_TESTS, gate.condition))
        phases.append(replace(model, name=phase, purpose=document.purpose, gate_1=gate, next=following))
    return replace(workflow, phases=tuple(phases))


def _name_phases(rows: Iterable[tuple[str, T]], faults: Reader) -> dict[Text, T]:
    """Return the phases by their names in capitals."""
    named: dict[Text, T] = {}
    for key, row in rows:
        assert isinstance(key, Text)
        name = key.upper()
        if name in named:
            faults.stop(key, f"phase {name} is defined twice", "keep one; upper and lower case are the same")
        if name in _RESERVED_PHASES:
            faults.stop(key, f"the name {name} is reserved", "give the phase another name")
        if not _PHASE_NAME.fullmatch(key):
            problem = f"a phase can't be named {shorten(key)}"
            faults.stop(key, problem, "use letters, digits and `_`, a letter first")
        named[Text.like(key, name)] = row
    return named


def _check_fixed(row: _Phase | _GateDocument, faults: Reader) -> None:
    """Refuse any condition except the explicit signal for Gate 2, and both gates for the exit."""
    stated = (
        (row.gate_2 and row.gate_2.condition, "exit_signal == true", "Gate 2 is always the explicit signal"),
        (
            row.exit_allowed and row.exit_allowed.when,
            "gate_1 == true AND gate_2 == true",
            "a phase ends only when both gates are open",
        ),
    )
    for condition, expected, why in stated:
        if isinstance(condition, Text) and condition != expected:
            problem = f"{condition.path} can't be changed: {why}"
            faults.stop(condition, problem, f"write `{expected}`, or leave it out")


# --- files: those that come with the package, and a project's own


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
    path = _SHIPPED / f"{name}.yaml"
    return parse_workflow(path.read_bytes(), name=path.name, guards=load_shipped_guards())


def find_workflow(name_or_path: str, *, root: Path) -> Path:
    """Return the path of a shipped workflow by its name, or of another one by its path from the root."""
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

    :param extra_guards: guards of plugins, which its phases may also name.
    :param extra_metrics: metrics of plugins, in addition to the built-in ones.
    """
    path = find_workflow(name_or_path, root=root)
    name = path.name if path.parent == _SHIPPED else name_or_path
    text = read_bytes(path, name=name, error=WorkflowError)
    shipped = load_shipped_guards()
    workflow = parse_workflow(text, name=name, guards={**extra_guards, **shipped}, extra_metrics=extra_metrics)
    vocabulary = Vocabulary(types=name_types(workflow), faults=Reader(WorkflowError))
    for guard in extra_guards.values():
        place = f"guard {guard.name!r} of a plugin"
        if guard.name in shipped:
            raise WorkflowError(f"{place}: a guard of that name is shipped", "give it another name")
        vocabulary.check_guard(guard, place)
    return workflow


def check_commands(workflow: Workflow, commands: Collection[str]) -> None:
    """Refuse a workflow that requires a check which no command of the project runs."""
    for phase in workflow.phases:
        for check in requires_of(phase).checks:
            if check not in commands:
                problem = f"nothing runs the check {check}, which {phase.name} requires"
                raise WorkflowError(problem, f"describe the command {check} under `evidence: commands:`")
