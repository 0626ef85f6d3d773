"""Parse workflows and guards from YAML text.

There are two formats: workflow files (`workflow:` and `phases:`), and gate documents (`phase:`, `gate_1:`, `gate_2:`),
one per phase. Gate 2 is the explicit signal in both: a file can state that, but not change it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from phase_gate.config.nodes import MAX_BYTES, Node, Table, Text, closest_first, find, find_meant, plain, shorten
from phase_gate.config.pipeline_keys import (
    RULES,
    PipelineReader,
    is_pipeline,
    with_implied_guards,
    without_pipeline_guards,
)
from phase_gate.config.reading import Reader
from phase_gate.config.vocabulary import RESERVED_NAMES, Vocabulary, name_types, take_names
from phase_gate.config.yaml import read_document, read_documents
from phase_gate.errors import WorkflowError
from phase_gate.values import Value, as_dict, field, fields, replace
from phase_gate.workflow.conditions import Condition, parse_condition
from phase_gate.workflow.metrics import METRIC_TYPES, MetricValue
from phase_gate.workflow.model import Gate1, Guard, Limits, MetricType, Phase, Start, Workflow
from phase_gate.workflow.model_json import digest_rules
from phase_gate.workflow.names import DONE, STUCK

#: The workflow that fills in the parts that gate documents leave open.
_MODEL = "tdd"

_PHASE_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_WORKFLOW_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")

#: `--phase=auto` lets the gate choose the phase; DONE and STUCK end a cycle.
_RESERVED_PHASES = frozenset({DONE, STUCK, "AUTO"})
_SOME_TESTS = parse_condition("tests_total > 0")


class _Guards(Value):
    """A file with guards only."""

    guards: Mapping[str, Guard] = field(named=("a guard", "-"))


class _File(Value):
    """A workflow file."""

    workflow: str
    phases: Mapping[str, Any]
    start: Start | None = None
    rewind_by_option: bool | None = None
    metrics: Mapping[str, MetricType] = field(default_factory=dict, named=("a metric", "_"))
    facts: Mapping[str, MetricType] = field(default_factory=dict, named=("a fact", "_"))
    parameters: Mapping[str, MetricValue] = field(default_factory=dict, named=("a parameter", "_"))
    guards: Mapping[str, Guard] = field(default_factory=dict, named=("a guard", "-"))
    breaker: Limits = field(default_factory=Limits)


class _Gate(Value):
    """A gate of a gate document, which can't list guards."""

    condition: Condition
    name: str = field(prose=True)
    rationale: str = field(default="", prose=True)


class _GateDocument(Value):
    phase: str
    gate_1: _Gate
    purpose: str = field(default="", prose=True)


class _Gate2(Value):
    condition: Condition
    name: str = ""
    rationale: str = ""


class _Exit(Value):
    when: Condition


#: The only conditions that a file may give for the second gate and the exit, and why.
_FIXED: Mapping[str, tuple[type[Value], str, str]] = {
    "gate_2": (_Gate2, "exit_signal == true", "Gate 2 is always the explicit signal"),
    "exit_allowed": (_Exit, "gate_1 == true AND gate_2 == true", "a phase ends only when both gates are open"),
}


def parse_guards(text: str | bytes, name: str) -> dict[str, Guard]:
    """Return the guards of a guard file, by their names."""
    faults = Reader(WorkflowError)
    guards = faults.read(_Guards, read_document(text, name=name, limit=MAX_BYTES)).guards
    return Vocabulary(types=METRIC_TYPES, constants=(), guards={}, faults=faults).check_new_guards(guards)


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
    nodes = read_documents(text, name=name, limit=MAX_BYTES)
    return plain(build_workflow(nodes, name=name, guards=guards, extra_metrics=extra_metrics))


def build_workflow(
    nodes: Sequence[Node],
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    faults: Reader | None = None,
    offers: Callable[[str], bool] | None = None,
) -> Workflow:
    """Return the workflow that these documents describe. Its texts have their places.

    :param faults: collects faults; by default, the first one is raised.
    :param offers: returns whether a plugin may offer a guard of that name.
    """
    faults = faults or Reader(WorkflowError)
    known = Vocabulary(types=extra_metrics, constants=(), guards=guards, faults=faults, offers=offers)
    if len(nodes) > 1 or (isinstance(nodes[0], Table) and "phase" in nodes[0]):
        workflow = _read_gate_documents(nodes, known, name=name)
    else:
        workflow = _read_workflow(nodes[0], known)
    _check_order(workflow, faults)
    workflow = without_pipeline_guards(workflow)
    return replace(workflow, digest=digest_rules(workflow))


def _read_workflow(node: Node, known: Vocabulary) -> Workflow:
    """Return the workflow of a workflow file.

    :param known: the guards that its phases may name, and the metrics of plugins.
    """
    faults, has_pipeline = known.faults, is_pipeline(node)
    file = faults.read(_File, node, beside=RULES)
    if not _WORKFLOW_NAME.fullmatch(file.workflow):
        problem = f"a workflow can't be named {shorten(file.workflow)}"
        faults.report(find(node, "workflow"), problem, "use letters, digits, `.`, `-` and `_`")
    taken = dict(RESERVED_NAMES)
    take_names(file.metrics, taken, "a metric", faults)
    for metric, kind in file.metrics.items():
        if known.types.get(metric, kind) != kind:
            where = find(node, "metrics", metric)
            faults.report(where, f"a plugin measures {metric} as {known.types[metric]}", "use that type")
    taken.update(dict.fromkeys(known.types, "a metric of a plugin"))
    take_names(file.facts, taken, "a fact", faults)
    take_names(file.parameters, taken, "a parameter", faults)
    pipeline = PipelineReader(node, file.parameters, faults) if has_pipeline else None
    workflow = Workflow(
        name=file.workflow,
        phases=(),
        start=file.start or ("first" if has_pipeline else "any"),
        rewind_by_option=not has_pipeline if file.rewind_by_option is None else file.rewind_by_option,
        parameters=file.parameters if pipeline is None else pipeline.parameters,
        facts=file.facts,
        metrics={**known.types, **file.metrics},
        pipeline=None if pipeline is None else pipeline.rules,
    )
    vocabulary = replace(known, types=name_types(workflow), constants=workflow.parameters)
    guards = {**known.guards, **vocabulary.check_new_guards(file.guards)}
    phases = _read_phases(file, find(node, "phases"), replace(vocabulary, guards=guards), pipeline)
    if pipeline is not None:
        pipeline.check_start(workflow)
        workflow = replace(
            workflow, pipeline=pipeline.check_routes([each.name for each in phases if not each.recovers])
        )
    return replace(workflow, phases=phases, guards=guards)


def _read_phases(file: _File, node: Node, vocabulary: Vocabulary, pipeline: PipelineReader | None) -> tuple[Phase, ...]:
    faults = vocabulary.faults
    names: dict[Text, Node] = {}
    for key, row in file.phases.items():
        if (name := _read_phase_name(key, names, faults)) is not None:
            names[name] = row
    if not names:
        faults.stop(node, "there are no phases", "describe at least one phase")
    recovering = [name for name, row in names.items() if _has(row, "recovers") and find(row, "recovers") != "false"]
    main = [name for name in names if name not in recovering]
    if recovering[:1] == list(names)[:1]:
        faults.report(node, "the first phase can't be one that recovers", "begin with a phase that does the work")
    following: dict[str, str] = dict(zip(main, [*main, DONE][1:], strict=True))
    phases = []
    for name, row in names.items():
        given: dict[str, Any] = {} if pipeline is None else pipeline.read_phase(row, recovering)
        given["breaker"] = file.breaker
        if _has(row, "breaker"):
            given["breaker"] = faults.read(Limits, find(row, "breaker"), usual=file.breaker)
        phase = faults.read(
            Phase,
            row,
            beside=tuple(_FIXED),
            name=name,
            next=_read_next(row, name, main, following, faults),
            **given,
        )
        for key in _FIXED:
            _check_fixed(row, key, faults)
        phase = replace(phase, gate_1=_check_gate(phase.gate_1, vocabulary))
        if pipeline is not None:
            phase = pipeline.check_phase(row, phase)
            phase = with_implied_guards(phase, pipeline.rules, vocabulary.guards)
        phases.append(phase)
    return tuple(phases)


def _has(row: Node, key: str) -> bool:
    return isinstance(row, Table) and key in row


def _read_next(row: Node, name: str, main: Sequence[str], following: Mapping[str, str], faults: Reader) -> str:
    """Return the phase after this one: the one that it names, or the next one in the file."""
    if name not in main:
        return ""
    usual = following[name]
    if not _has(row, "next"):
        return usual
    target, others = faults.text(find(row, "next")).upper(), [other for other in (*main, DONE) if other != name]
    if target in others:
        return target
    if target not in faults.broken:
        remedy = f"use one of: {closest_first(target, others)}"
        faults.report(find(row, "next"), f"{shorten(target)} can't follow {name}", remedy)
    return find_meant(target, others) or usual


def _read_gate_documents(nodes: Sequence[Node], known: Vocabulary, *, name: str) -> Workflow:
    """Return a workflow from one document per phase, completed from the shipped workflow `tdd`."""
    from phase_gate.config.rule_files import load_shipped_workflow  # imported here to avoid an import cycle

    shipped, faults = load_shipped_workflow(_MODEL), known.faults
    workflow = replace(
        shipped,
        name=PurePath(name).stem or name,
        metrics={**shipped.metrics, **known.types},
        guards={**shipped.guards, **known.guards},
    )
    vocabulary = replace(known, types=name_types(workflow), constants=workflow.parameters, guards=workflow.guards)
    documents: dict[Text, _GateDocument] = {}
    for node in nodes:
        if _has(node, "workflow") and not _has(node, "phase"):
            faults.report(node, "one of several documents has no phase", "keep a `workflow:` alone in its file")
            continue
        document = faults.read(_GateDocument, node, beside=tuple(_FIXED))
        key = find(node, "phase")
        if isinstance(key, Text) and (phase := _read_phase_name(key, documents, faults)) is not None:
            documents[phase] = document
        for each in _FIXED:
            _check_fixed(node, each, faults)
    phases = []
    for (phase, document), following in zip(documents.items(), [*documents, DONE][1:], strict=True):
        # A phase that `tdd` does not have gets the guard that every phase needs: a complete run.
        model = shipped.phase(phase) or Phase(
            name=phase, gate_1=replace(shipped.first.gate_1, guards=("complete-run",)), next=following
        )
        gate = Gate1(**as_dict(document.gate_1), guards=model.gate_1.guards)
        gate = _check_gate(gate, vocabulary)
        if model.tests != "none":
            # With zero tests, the condition of such a document may hold (0 == 0), so require at least one test.
            gate = replace(gate, condition=vocabulary.conjoin(_SOME_TESTS, gate.condition))
        phases.append(replace(model, name=phase, purpose=document.purpose, gate_1=gate, next=following))
    if not phases:
        faults.stop(nodes[0], "there are no phases", "describe at least one phase")
    return replace(workflow, phases=tuple(phases))


def _read_phase_name(key: str, taken: Container[str], faults: Reader) -> Text | None:
    """Return the name of a phase in capitals; None for an invalid name, which is reported."""
    assert isinstance(key, Text)
    name = key.upper()
    if name in taken:
        faults.report(key, f"phase {name} is defined twice", "keep one; upper and lower case are the same")
        return None
    if _PHASE_NAME.fullmatch(key) and name not in _RESERVED_PHASES:
        return Text.of(name, key.at, key.path)
    faults.broken.add(name)
    if name in _RESERVED_PHASES:
        faults.report(key, f"the name {name} is reserved", "give the phase another name")
    else:
        problem = f"a phase can't be named {shorten(key)}"
        faults.report(key, problem, "use letters, digits and `_`, a letter first")
    return None


def _check_gate(gate: Gate1, vocabulary: Vocabulary) -> Gate1:
    return replace(gate, condition=vocabulary.check_gate(gate.condition), guards=vocabulary.known_guards(gate.guards))


def _check_fixed(node: Node, key: str, faults: Reader) -> None:
    """Refuse any condition except the explicit signal for Gate 2, and both gates for the exit."""
    if not _has(node, key):
        return
    kind, expected, why = _FIXED[key]
    row = find(node, key)
    if not isinstance(row, Table):
        inner = fields(kind)[0]
        row = Table.of({Text.of(inner, row.at, row.path): row}, row.at, row.path)
    before, given = faults.number, faults.read(kind, row)
    where = find(row, fields(kind)[0])
    if faults.number == before and getattr(given, fields(kind)[0]).text != parse_condition(expected).text:
        problem = f"{where.path} can't be changed: {why}"
        faults.report(where, problem, f"write `{expected}`, or leave {key} out")


# --- whether every phase is reachable, and can reach the end


def _check_order(workflow: Workflow, faults: Reader) -> None:
    """Refuse a phase that can't be reached, and phases that never end."""
    following = {phase.name: frozenset(_following(phase, workflow)) for phase in workflow.phases}
    reached = _reach(workflow.first.name, following)
    for phase in workflow.phases:
        if phase.name not in reached:
            problem = f"phase {phase.name} can't be reached from {workflow.first.name}"
            key = "on_failure" if phase.recovers else "next"
            faults.report(phase.name, problem, f"let the `{key}` of another phase name {phase.name}")
    lost = [phase.name for phase in workflow.phases if DONE not in _reach(phase.name, following)]
    if lost:
        problem = f"no path leads from {', '.join(lost)} to {DONE}: the phases repeat forever"
        faults.report(lost[0], problem, f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`")


def _following(phase: Phase, workflow: Workflow) -> Iterator[str]:
    """Yield the phases that may follow a phase, except by the option to return to an earlier one."""
    if phase.recovers:
        # The record names the failed phase, or an earlier one.
        yield from (each.name for each in workflow.phases if not each.recovers)
    else:
        yield phase.next
    if phase.may_end_cycle:
        yield DONE
    if phase.on_failure:
        yield phase.on_failure
    if phase.routes and workflow.pipeline is not None:
        yield from workflow.pipeline.routes.values()


def _reach(start: str, following: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the phases that can be reached from a phase, including itself."""
    reached, left = {start}, [start]
    while left:
        new = following.get(left.pop(), frozenset()) - reached
        reached |= new
        left.extend(new)
    return frozenset(reached)
