"""Make workflows and guards from YAML text.

Two forms are read: our own (`workflow:` and `phases:`), and gate documents (`phase:`, `gate_1:`, `gate_2:`), one a
phase. Gate 2 is the explicit signal in both; a file may say so, and can't say anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, get_args

from phase_gate.config import pipeline as pipeline_text
from phase_gate.config.faults import Faults, Place
from phase_gate.config.fields import Fields, closest_first, find_meant, shorten
from phase_gate.config.vocabulary import (
    MAX_BYTES,
    RESERVED_NAMES,
    Vocabulary,
    check_guard,
    combine_types,
    conjoin,
    digest_rules,
    name_types,
    read_condition,
    read_guards,
    read_parameters,
    read_prose,
    read_settings,
    read_types,
    read_value,
)
from phase_gate.config.yaml import YamlMapping, YamlNode, read_document, read_documents
from phase_gate.errors import WorkflowError
from phase_gate.gate.order import Transition, find_transitions
from phase_gate.values import replace
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.metrics import METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import Gate1, Guard, Limits, Phase, PipelineRules, Scope, Start, Tests, Workflow
from phase_gate.workflow.names import DONE, STUCK

#: What fills in whatever gate documents leave open.
_MODEL = "tdd"

_PHASE_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_WORKFLOW_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")

#: `--phase=auto` is a question, DONE and STUCK are where a cycle ends.
_RESERVED_PHASES = frozenset({DONE, STUCK, "AUTO"})
_GATE_2 = "exit_signal == true"
_SOME_TESTS = parse_condition("tests_total > 0")
_EXIT_ALLOWED = "gate_1 == true AND gate_2 == true"

_STARTS: tuple[Start, ...] = get_args(Start)
_TESTS: tuple[Tests, ...] = get_args(Tests)
_SCOPES: tuple[Scope, ...] = get_args(Scope)


def parse_guards(text: str | bytes, name: str) -> dict[str, Guard]:
    """Return the guards of a guard file, by their names."""
    fields = Fields(read_document(text, name=name, limit=MAX_BYTES), file=name, error=WorkflowError)
    section = fields.mapping("guards")
    guards = read_guards(section)
    fields.finish()
    for guard in guards.values():
        check_guard(guard, METRIC_TYPES, place=section.key_place(guard.name), faults=fields.faults)
    return guards


def parse_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
) -> Workflow:
    """Return the workflow that the text describes, in either form.

    :param name: what stands in front of the line in messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: what plugins measure besides the metrics that we know.
    """
    nodes = read_documents(text, name=name, limit=MAX_BYTES)
    return build_workflow(nodes, name=name, guards=guards, extra_metrics=extra_metrics)


def build_workflow(
    nodes: Sequence[YamlNode],
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    faults: Faults | None = None,
    offers: Callable[[str], bool] | None = None,
) -> Workflow:
    """Return the workflow that these documents describe.

    :param faults: collects faults; the first is raised without it.
    :param offers: tells whether a plugin may offer a guard of that name.
    """
    faults = faults or Faults(WorkflowError)
    documents = [Fields(node, file=name, error=WorkflowError, faults=faults) for node in nodes]
    known = Vocabulary(types=extra_metrics, constants=(), guards=guards, faults=faults, offers=offers)
    if len(documents) > 1 or "phase" in documents[0]:
        workflow = _parse_gate_documents(documents, known, name=name)
    else:
        workflow = _parse_workflow(documents[0], known)
    _check_order(workflow, faults)
    workflow = pipeline_text.without_pipeline_guards(workflow)
    return replace(workflow, digest=digest_rules(workflow))


def _parse_workflow(fields: Fields, known: Vocabulary) -> Workflow:
    """Return the workflow of a file in our own form.

    :param known: the guards that its phases may name, and the metrics of plugins.
    """
    guards, extra_metrics = known.guards, known.types
    name = fields.text("workflow")
    if not _WORKFLOW_NAME.fullmatch(name):
        fields.report("workflow", f"a workflow can't be named {shorten(name)}", "use letters, digits, `.`, `-` and `_`")
    has_pipeline = pipeline_text.is_pipeline(fields)
    start: Start = fields.choice("start", _STARTS, "first" if has_pipeline else "any")
    rewind_by_option = fields.boolean("rewind_by_option", not has_pipeline)
    taken = dict(RESERVED_NAMES)
    metrics = read_types(fields.mapping("metrics", None), taken, "a metric")
    for metric, kind in metrics.items():
        if extra_metrics.get(metric, kind) != kind:
            place = fields.mapping("metrics").place(metric)
            fields.faults.report(place, f"a plugin measures {metric} as {extra_metrics[metric]}", "use that type")
    metrics = {**extra_metrics, **metrics}
    taken.update(dict.fromkeys(extra_metrics, "a metric of a plugin"))
    facts = read_types(fields.mapping("facts", None), taken, "a fact")
    parameters = read_parameters(fields.mapping("parameters", None), taken)
    pipeline = None
    if has_pipeline:
        pipeline_text.check_start(fields, start, rewind_by_option=rewind_by_option)
        parameters = pipeline_text.add_budget(parameters)
        pipeline = pipeline_text.read_rules(fields, parameters)
    types = combine_types(parameters=parameters, facts=facts, metrics=metrics)
    vocabulary = replace(known, types=types, constants=parameters)
    own_guards = {}
    if (section := fields.mapping("guards", None)) is not None:
        own_guards = {
            name: vocabulary.check_new_guard(guard, section.key_place(name))
            for name, guard in read_guards(section).items()
        }
    guards = {**guards, **own_guards}
    limits = read_settings(fields.mapping("breaker", None), Limits())
    phases = _read_phases(fields.mapping("phases"), replace(vocabulary, guards=guards), limits, parameters, pipeline)
    if pipeline is not None:
        main = [phase.name for phase in phases if not phase.recovers]
        pipeline = pipeline_text.check_routes(fields, pipeline, main)
    fields.finish()
    return Workflow(
        name=name,
        phases=phases,
        start=start,
        rewind_by_option=rewind_by_option,
        parameters=parameters,
        facts=facts,
        metrics=metrics,
        guards=guards,
        pipeline=pipeline,
    )


def _read_phases(
    section: Fields,
    vocabulary: Vocabulary,
    limits: Limits,
    parameters: Mapping[str, MetricValue],
    pipeline: PipelineRules | None,
) -> tuple[Phase, ...]:
    keys: dict[str, str] = {}
    for key in section:
        if _is_phase_name(key, section.key_place(key), taken=keys, faults=section.faults):
            keys[key.upper()] = key
    if not keys:
        section.refuse("", "there are no phases", "describe at least one phase")
    phases = []
    recovering = [name for name, key in keys.items() if section.mapping(key).boolean("recovers", False)]
    main = [name for name in keys if name not in recovering]
    if recovering and recovering[0] == next(iter(keys)):
        section.report("", "the first phase can't be one that recovers", "begin with a phase that does the work")
    usual = {**dict.fromkeys(recovering, ""), **dict(zip(main, [*main, DONE][1:], strict=True))}
    for name in keys:
        fields = section.mapping(keys[name])
        given: dict[str, Any] = {}
        if pipeline is not None:
            given = pipeline_text.read_phase_rules(fields, pipeline, parameters, recovering)
        target = fields.text("next", usual[name]).upper()
        if name in recovering:
            target = ""
        elif target in recovering or target == name or (target not in keys and target != DONE):
            others = [other for other in (*main, DONE) if other != name]
            if target not in fields.faults.broken:
                remedy = f"use one of: {closest_first(target, others)}"
                fields.report("next", f"after {name} can't come {shorten(target)}", remedy)
            target = find_meant(target, others) or usual[name]
        _note_places(name, section.key_place(keys[name]), fields)
        phase = Phase(
            name=name,
            purpose=read_prose(fields, "purpose"),
            tests=fields.choice("tests", _TESTS, "passing"),
            scope=fields.choice("scope", _SCOPES, "suite"),
            may_end_cycle=fields.boolean("may_end_cycle", False),
            breaker=read_settings(fields.mapping("breaker", None), limits),
            gate_1=_read_gate_1(fields.mapping("gate_1"), vocabulary),
            next=target,
            **given,
        )
        _check_gate_2(fields)
        fields.finish()
        if pipeline is not None:
            phase = pipeline_text.with_implied_guards(phase, pipeline, vocabulary.guards)
        phases.append(phase)
    return tuple(phases)


def _parse_gate_documents(documents: list[Fields], known: Vocabulary, *, name: str) -> Workflow:
    """Return a workflow from one document a phase; what they leave open comes from the shipped `tdd`."""
    from phase_gate.config.files import load_shipped_workflow  # here, not above: it needs us in turn

    shipped = load_shipped_workflow(_MODEL)
    workflow = replace(
        shipped,
        name=PurePath(name).stem or name,
        metrics={**shipped.metrics, **known.types},
        guards={**shipped.guards, **known.guards},
    )
    faults = known.faults
    vocabulary = replace(known, types=name_types(workflow), constants=workflow.parameters, guards=workflow.guards)
    named: dict[str, Fields] = {}
    for fields in documents:
        if "phase" not in fields and "workflow" in fields:
            fields.report("", "one of several documents has no phase", "keep a `workflow:` alone in its file")
            continue
        before, text = faults.number, fields.text("phase")
        is_given = faults.number == before
        if is_given and _is_phase_name(text, fields.place("phase"), taken=named, faults=faults):
            named[text.upper()] = fields
    phases = []
    for (phase_name, fields), following in zip(named.items(), [*named, DONE][1:], strict=True):
        # A phase that `tdd` does not know gets what holds for any: green tests, seen in a whole run.
        model = shipped.phase(phase_name) or Phase(
            name=phase_name,
            gate_1=replace(shipped.first.gate_1, guards=("complete-run",)),
            next=following,
        )
        _note_places(phase_name, fields.place("phase"), fields)
        gate_1 = _read_gate_1(fields.mapping("gate_1"), vocabulary, model.gate_1.guards)
        if model.tests != "none":
            # These documents hold on zero tests (0 == 0). Nothing measured is never enough.
            condition = conjoin(_SOME_TESTS, gate_1.condition, place=fields.place("gate_1"), faults=faults)
            gate_1 = replace(gate_1, condition=condition)
        phases.append(
            replace(model, name=phase_name, purpose=read_prose(fields, "purpose"), gate_1=gate_1, next=following)
        )
        _check_gate_2(fields)
        fields.finish()
    if not phases:
        documents[0].refuse("", "there are no phases", "describe at least one phase")
    return replace(workflow, phases=tuple(phases))


def _note_places(name: str, place: Place, fields: Fields) -> None:
    """Let later looks at the workflow find a phase, its condition and the checks that it requires."""
    places = {name: place}
    for key, inner in (("gate_1", "condition"), ("requires", "checks")):
        section = fields.mapping(key, None)
        places[f"{name}.{inner}"] = place if section is None else section.place(inner)
    fields.faults.places |= places


def _is_phase_name(text: str, place: str, *, taken: Container[str], faults: Faults) -> bool:
    """Tell whether a phase may be called so; it is a fault if not, and the phase is not read."""
    name = text.upper()
    if name in taken:
        faults.report(place, f"phase {name} comes twice", "keep one; upper and lower case are the same")
        return False
    with faults.about(name):
        if not _PHASE_NAME.fullmatch(text):
            remedy = "use letters, digits and `_`, a letter first"
            faults.report(place, f"a phase can't be named {shorten(text)}", remedy)
        elif name in _RESERVED_PHASES:
            faults.report(place, f"the name {name} is reserved", "give the phase another name")
    return name not in faults.broken


def _read_gate_1(fields: Fields, vocabulary: Vocabulary, guards: tuple[str, ...] | None = None) -> Gate1:
    """Return the gate; its guards are in the file unless they are given."""
    if guards is None:
        named = enumerate(fields.text_list("guards", ()))
        guards = tuple(
            name for index, name in named if vocabulary.knows_guard(name, fields.item_place("guards", index))
        )
    condition = vocabulary.check_gate(read_condition(fields), fields.place("condition"))
    return read_value(fields, Gate1, condition=condition, guards=tuple(dict.fromkeys(guards)), replaced=False)


def _check_gate_2(fields: Fields) -> None:
    """Refuse anything but the explicit signal, and both gates together."""
    _check_fixed(fields, "gate_2", "condition", _GATE_2, "Gate 2 is always the explicit signal")
    _check_fixed(fields, "exit_allowed", "when", _EXIT_ALLOWED, "a phase ends only when both gates are open")


def _check_fixed(fields: Fields, key: str, inner: str, expected: str, why: str) -> None:
    node = fields.node_of(key)
    if node is None:
        return
    section, name = (fields.mapping(key), inner) if isinstance(node, YamlMapping) else (fields, key)
    before, given = fields.faults.number, read_condition(section, name)
    if fields.faults.number == before and given.text != parse_condition(expected).text:
        section.report(
            name, f"{section.dotted(name)} can't be changed: {why}", f"write `{expected}`, or leave {key} out"
        )
    if section is not fields:
        if key == "gate_2":
            read_prose(section, "name")
            read_prose(section, "rationale")
        section.finish()


# --- whether the phases lead from the first to the end


def _check_order(workflow: Workflow, faults: Faults) -> None:
    """Refuse a phase that nothing leads to, and a way without an end."""
    onwards = [each for each in find_transitions(workflow) if each.why != "rewind"]
    reached = _reach(workflow.first.name, onwards)
    for phase in workflow.phases:
        if phase.name not in reached:
            problem = f"phase {phase.name} can't be reached from {workflow.first.name}"
            key = "on_failure" if phase.recovers else "next"
            faults.report(faults.places[phase.name], problem, f"let the `{key}` of another phase name {phase.name}")
    lost = [phase.name for phase in workflow.phases if DONE not in _reach(phase.name, onwards)]
    if lost:
        problem = f"no way leads from {', '.join(lost)} to {DONE}: the phases go round for ever"
        remedy = f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`"
        faults.report(faults.places[lost[0]], problem, remedy)


def _reach(start: str, transitions: Iterable[Transition]) -> frozenset[str]:
    """Return the phases that one may come to from there, itself included."""
    following: dict[str, list[str]] = {}
    for each in transitions:
        following.setdefault(each.source, []).append(each.target)
    reached, left = {start}, [start]
    while left:
        new = set(following.get(left.pop(), ())) - reached
        reached |= new
        left.extend(new)
    return frozenset(reached)
