"""Make workflows and guards from YAML text, and lay a project's own rules over them.

Two forms are read: our own (`workflow:` and `phases:`), and gate documents (`phase:`, `gate_1:`, `gate_2:`), one a
phase. Gate 2 is the explicit signal in both; a file may say so, and can't say anything else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePath
from typing import get_args

from pytest_phase_gate.core.conditions import Condition, parse_condition
from pytest_phase_gate.core.metrics import ALIAS_CONDITIONS, ALIASES, METRIC_TYPES, MetricType, MetricValue
from pytest_phase_gate.core.settings import Overlay, PhaseOverlay
from pytest_phase_gate.core.words import DONE
from pytest_phase_gate.core.workflow import Gate1, Guard, Phase, Scope, Start, Tests, Workflow
from pytest_phase_gate.errors import ConditionError, ConfigurationError, PhaseGateError, WorkflowError
from pytest_phase_gate.yaml_fields import Fields, closest_first, shorten
from pytest_phase_gate.yaml_text import YamlMapping, read_bytes, read_document, read_documents

#: Far more than any set of rules that a person can still read.
MAX_BYTES = 1024 * 1024

#: Guards that workflows name already, and that `guards.yaml` does not define yet.
ANNOUNCED_GUARDS = frozenset(
    {
        "criteria-covered",
    }
)

_SHIPPED = Path(__file__).parent / "workflows"
_GUARDS_FILE = "guards.yaml"
_DEFAULT = "tdd"

_PHASE_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_WORKFLOW_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
_GUARD_NAME = re.compile("[a-z][a-z0-9-]*")
_VALUE_NAME = re.compile("[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

#: `--phase=auto` is a question, and DONE is where a cycle ends.
_RESERVED_PHASES = frozenset({DONE, "AUTO"})
_GATE_2 = "exit_signal == true"
_SOME_TESTS = parse_condition("tests_total > 0")
_EXIT_ALLOWED = "gate_1 == true AND gate_2 == true"
_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})

_STARTS: tuple[Start, ...] = get_args(Start)
_TESTS: tuple[Tests, ...] = get_args(Tests)
_SCOPES: tuple[Scope, ...] = get_args(Scope)
_TYPES: tuple[MetricType, ...] = get_args(MetricType)

#: Names that nobody may give a second meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys((*ALIASES, *ALIAS_CONDITIONS), "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "in", "true", "false", "null"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


# Files


def shipped_workflow_names() -> tuple[str, ...]:
    """Return the names of the workflows that come with the package, sorted."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.yaml") if path.name != _GUARDS_FILE))


def load_shipped_guards() -> dict[str, Guard]:
    """Return the guards that come with the package."""
    return parse_guards((_SHIPPED / _GUARDS_FILE).read_bytes(), _GUARDS_FILE)


def load_shipped_workflow(name: str) -> Workflow:
    """Return a workflow that comes with the package."""
    names = shipped_workflow_names()
    if name not in names:
        raise WorkflowError(f"there is no workflow {shorten(name)}", f"use one of: {closest_first(name, names)}")
    path = _SHIPPED / f"{name}.yaml"
    return parse_workflow(path.read_bytes(), name=path.name, guards=load_shipped_guards())


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
    names = shipped_workflow_names()
    if name_or_path in names:
        path, name = _SHIPPED / f"{name_or_path}.yaml", f"{name_or_path}.yaml"
    else:
        path, name = root / name_or_path, name_or_path
        if PurePath(name).name == name and not PurePath(name).suffix and not os.path.lexists(path):
            remedy = f"use one of: {closest_first(name, names)}; or the path of a file"
            raise WorkflowError(f"there is no workflow {shorten(name)}", remedy)
    text = read_bytes(path, name=name, limit=MAX_BYTES, error=WorkflowError)
    guards = {**extra_guards, **load_shipped_guards()}
    return parse_workflow(text, name=name, guards=guards, extra_metrics=extra_metrics)


# Text


def parse_guards(text: str | bytes, name: str) -> dict[str, Guard]:
    """Return the guards of a guard file, by their names."""
    fields = Fields(read_document(text, name=name, limit=MAX_BYTES), file=name, error=WorkflowError)
    section = fields.mapping("guards")
    guards = read_guards(section)
    fields.finish()
    for guard in guards.values():
        _check_guard(guard, METRIC_TYPES, place=section.key_place(guard.name), error=WorkflowError)
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
    documents = [
        Fields(node, file=name, error=WorkflowError) for node in read_documents(text, name=name, limit=MAX_BYTES)
    ]
    if len(documents) > 1 or "phase" in documents[0]:
        workflow = _parse_gate_documents(documents, name=name, guards=guards, extra_metrics=extra_metrics)
    else:
        workflow = _parse_workflow(documents[0], guards=guards, extra_metrics=extra_metrics)
    return replace(workflow, digest=_digest(workflow))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vocabulary:
    """What the gates of a workflow may speak of, and how a slip is reported."""

    types: Mapping[str, MetricType]
    #: Names whose values are fixed: a gate that looks at nothing else is always open or always closed.
    constants: Iterable[str]
    guards: Mapping[str, Guard]
    error: type[PhaseGateError]

    def check_gate(self, condition: Condition, place: str) -> None:
        check_condition(condition, self.types, place=place, error=self.error)
        if not condition.names - set(self.constants):
            raise self.error(f"{place}: the condition measures nothing", "compare at least one metric or fact")

    def check_guard_name(self, name: str, place: str) -> None:
        if name not in self.guards and name not in ANNOUNCED_GUARDS:
            names = closest_first(name, sorted({*self.guards, *ANNOUNCED_GUARDS}))
            raise self.error(f"{place}: unknown guard {shorten(name)}", f"use one of: {names}")

    def check_new_guard(self, guard: Guard, place: str) -> None:
        if guard.name in self.guards or guard.name in ANNOUNCED_GUARDS:
            raise self.error(f"{place}: guard {guard.name} exists already", "give your guard another name")
        _check_guard(guard, self.types, place=place, error=self.error)


def _parse_workflow(
    fields: Fields, *, guards: Mapping[str, Guard], extra_metrics: Mapping[str, MetricType]
) -> Workflow:
    name = fields.text("workflow")
    if not _WORKFLOW_NAME.fullmatch(name):
        fields.refuse("workflow", f"a workflow can't be named {shorten(name)}", "use letters, digits, `.`, `-` and `_`")
    start: Start = fields.choice("start", _STARTS, "any")
    rewind_by_option = fields.boolean("rewind_by_option", True)
    taken = dict(RESERVED_NAMES)
    metrics = read_types(fields.mapping("metrics", None), taken, "a metric")
    for metric, kind in metrics.items():
        if extra_metrics.get(metric, kind) != kind:
            place = fields.mapping("metrics").place(metric)
            raise WorkflowError(f"{place}: a plugin measures {metric} as {extra_metrics[metric]}", "use that type")
    metrics = {**extra_metrics, **metrics}
    taken.update(dict.fromkeys(extra_metrics, "a metric of a plugin"))
    facts = read_types(fields.mapping("facts", None), taken, "a fact")
    parameters = _read_parameters(fields.mapping("parameters", None), taken)
    types = _types(parameters=parameters, facts=facts, metrics=metrics)
    vocabulary = _Vocabulary(types=types, constants=parameters, guards=guards, error=WorkflowError)
    own_guards = {}
    if (section := fields.mapping("guards", None)) is not None:
        own_guards = read_guards(section)
        for guard in own_guards.values():
            vocabulary.check_new_guard(guard, section.key_place(guard.name))
    guards = {**guards, **own_guards}
    phases = _read_phases(fields.mapping("phases"), replace(vocabulary, guards=guards))
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
    )


def _read_phases(section: Fields, vocabulary: _Vocabulary) -> tuple[Phase, ...]:
    keys: dict[str, str] = {}
    for key in section:
        keys[_phase_name(key, section.key_place(key), taken=keys)] = key
    if not keys:
        section.refuse("", "there are no phases", "describe at least one phase")
    phases = []
    for name, following in zip(keys, [*keys, DONE][1:], strict=True):
        fields = section.mapping(keys[name])
        target = fields.text("next", following).upper()
        if target == name or (target not in keys and target != DONE):
            others = [other for other in (*keys, DONE) if other != name]
            remedy = f"use one of: {closest_first(target, others)}"
            fields.refuse("next", f"after {name} can't come {shorten(target)}", remedy)
        phase = Phase(
            name=name,
            purpose=_prose(fields, "purpose"),
            tests=fields.choice("tests", _TESTS, "passing"),
            scope=fields.choice("scope", _SCOPES, "suite"),
            may_end_cycle=fields.boolean("may_end_cycle", False),
            gate_1=_read_gate_1(fields.mapping("gate_1"), vocabulary),
            next=target,
        )
        _check_gate_2(fields)
        fields.finish()
        phases.append(phase)
    _check_order(phases, {phase: section.key_place(key) for phase, key in keys.items()})
    return tuple(phases)


def _check_order(phases: list[Phase], places: Mapping[str, str]) -> None:
    following = {phase.name: phase.next for phase in phases}
    reached: dict[str, None] = {}
    name = phases[0].name
    while name != DONE and name not in reached:
        reached[name] = None
        name = following[name]
    for phase in phases:
        if phase.name not in reached:
            problem = f"{places[phase.name]}: phase {phase.name} can't be reached from {phases[0].name}"
            raise WorkflowError(problem, f"let the `next` of another phase name {phase.name}")
    if name != DONE and not any(phase.may_end_cycle for phase in phases):
        problem = f"{places[name]}: the phases go round for ever: no `next` is {DONE}"
        raise WorkflowError(problem, f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`")


def _parse_gate_documents(
    documents: list[Fields], *, name: str, guards: Mapping[str, Guard], extra_metrics: Mapping[str, MetricType]
) -> Workflow:
    """Return a workflow from one document a phase; what they leave open comes from the shipped `tdd`."""
    shipped = load_shipped_workflow(_DEFAULT)
    workflow = replace(
        shipped,
        name=PurePath(name).stem or name,
        metrics={**shipped.metrics, **extra_metrics},
        guards={**shipped.guards, **guards},
    )
    vocabulary = _Vocabulary(
        types=name_types(workflow), constants=workflow.parameters, guards=workflow.guards, error=WorkflowError
    )
    names: dict[str, None] = {}
    for fields in documents:
        if "phase" not in fields and "workflow" in fields:
            fields.refuse("", "one of several documents has no phase", "keep a `workflow:` alone in its file")
        names[_phase_name(fields.text("phase"), fields.place("phase"), taken=names)] = None
    phases = []
    for fields, phase_name, following in zip(documents, names, [*names, DONE][1:], strict=True):
        # A phase that `tdd` does not know gets what holds for any: green tests, seen in a whole run.
        model = shipped.phase(phase_name) or Phase(
            name=phase_name,
            gate_1=replace(shipped.first.gate_1, guards=("complete-run",)),
            next=following,
        )
        gate_1 = _read_gate_1(fields.mapping("gate_1"), vocabulary, model.gate_1.guards)
        if model.tests != "none":
            # These documents hold on zero tests (0 == 0). Nothing measured is never enough.
            gate_1 = replace(gate_1, condition=_conjoin(_SOME_TESTS, gate_1.condition, fields.place("gate_1")))
        phases.append(replace(model, name=phase_name, purpose=_prose(fields, "purpose"), gate_1=gate_1, next=following))
        _check_gate_2(fields)
        fields.finish()
    return replace(workflow, phases=tuple(phases))


def _phase_name(text: str, place: str, *, taken: Container[str]) -> str:
    name = text.upper()
    if not _PHASE_NAME.fullmatch(text):
        problem = f"{place}: a phase can't be named {shorten(text)}"
        raise WorkflowError(problem, "use letters, digits and `_`, a letter first")
    if name in _RESERVED_PHASES:
        raise WorkflowError(f"{place}: the name {name} is reserved", "give the phase another name")
    if name in taken:
        raise WorkflowError(f"{place}: phase {name} comes twice", "keep one; upper and lower case are the same")
    return name


def _read_gate_1(fields: Fields, vocabulary: _Vocabulary, guards: tuple[str, ...] | None = None) -> Gate1:
    """Return the gate; its guards are in the file unless they are given."""
    if guards is None:
        guards = fields.text_list("guards", ())
        for index, name in enumerate(guards):
            vocabulary.check_guard_name(name, fields.item_place("guards", index))
    gate = Gate1(
        name=_prose(fields, "name", required=True),
        condition=read_condition(fields),
        guards=tuple(dict.fromkeys(guards)),
        rationale=_prose(fields, "rationale"),
    )
    vocabulary.check_gate(gate.condition, fields.place("condition"))
    fields.finish()
    return gate


def _check_gate_2(fields: Fields) -> None:
    """Refuse anything but the explicit signal, and both gates together."""
    _check_fixed(fields, "gate_2", "condition", _GATE_2, "Gate 2 is always the explicit signal")
    _check_fixed(fields, "exit_allowed", "when", _EXIT_ALLOWED, "a phase ends only when both gates hold")


def _check_fixed(fields: Fields, key: str, inner: str, expected: str, why: str) -> None:
    node = fields.node_of(key)
    if node is None:
        return
    section, name = (fields.mapping(key), inner) if isinstance(node, YamlMapping) else (fields, key)
    if read_condition(section, name).text != parse_condition(expected).text:
        section.refuse(
            name, f"{section.dotted(name)} can't be changed: {why}", f"write `{expected}`, or leave {key} out"
        )
    if section is not fields:
        if key == "gate_2":
            _prose(section, "name")
            _prose(section, "rationale")
        section.finish()


# Parts that the configuration shares


@cache
def _alias_conditions() -> Mapping[str, Condition]:
    return {name: parse_condition(text) for name, text in ALIAS_CONDITIONS.items()}


def read_condition(fields: Fields, key: str = "condition") -> Condition:
    """Return the condition under that key, other spellings resolved; whether its names exist is not looked at."""
    text = fields.text(key)
    try:
        return parse_condition(text).replace_names(_alias_conditions(), ALIASES)
    except ConditionError as error:
        fields.refuse(key, f"{fields.dotted(key)}: {error.problem}", error.remedy)


def read_guards(fields: Fields) -> dict[str, Guard]:
    """Return guard definitions; whether their metrics exist is not looked at."""
    guards = {}
    for name in fields:
        if not _GUARD_NAME.fullmatch(name):
            fields.refuse_key(name, f"a guard can't be named {shorten(name)}", "use lower case, digits and `-`")
        guard = fields.mapping(name)
        guards[name] = Guard(
            name=name,
            condition=read_condition(guard),
            remedy=_prose(guard, "remedy", required=True),
            detail=_prose(guard, "detail"),
        )
        guard.finish()
    return guards


def read_types(fields: Fields | None, taken: dict[str, str], what: str) -> dict[str, MetricType]:
    """Return new names with their types, and add the names to what is taken."""
    types: dict[str, MetricType] = {}
    if fields is not None:
        for name in fields:
            _take_name(fields, name, taken, what)
            types[name] = fields.choice(name, _TYPES)
    return types


def read_values(fields: Fields | None) -> dict[str, MetricValue]:
    """Return parameters; each has to have a value."""
    values: dict[str, MetricValue] = {}
    if fields is not None:
        for name in fields:
            values[name] = fields.value(name)
            if values[name] is None:
                fields.refuse(name, f"{fields.dotted(name)} has no value", "give it a number, a boolean or a text")
    return values


def check_condition(
    condition: Condition, types: Mapping[str, MetricType], *, place: str, error: type[PhaseGateError]
) -> None:
    """Refuse a condition with names that nobody knows, or that compares what can't be compared."""
    for name in sorted(condition.names - types.keys()):
        if name in _GATE_NAMES:
            raise error(f"{place}: {name} is known in gate_2 and exit_allowed only", "speak of metrics here")
        problem = f"{place}: unknown name {shorten(name)} in a condition"
        raise error(problem, f"use one of: {closest_first(name, types)}")
    try:
        condition.check_types(types)
    except ConditionError as wrong:
        raise error(f"{place}: {wrong.problem}", wrong.remedy) from None


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    return _types(parameters=workflow.parameters, facts=workflow.facts, metrics=workflow.metrics)


def _types(
    *, parameters: Mapping[str, MetricValue], facts: Mapping[str, MetricType], metrics: Mapping[str, MetricType]
) -> dict[str, MetricType]:
    values = {name: _type_of(value) for name, value in parameters.items()}
    # Last: whatever a plugin says, nobody gives a measured metric another type.
    return {**metrics, **facts, **values, **METRIC_TYPES}


def _type_of(value: MetricValue) -> MetricType:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return "number" if isinstance(value, float) else "text"


def _check_guard(guard: Guard, types: Mapping[str, MetricType], *, place: str, error: type[PhaseGateError]) -> None:
    check_condition(guard.condition, types, place=place, error=error)
    for name in _PLACEHOLDER.findall(guard.detail):
        if name not in types:
            problem = f"{place}: unknown name {shorten(name)} in the detail of guard {guard.name}"
            raise error(problem, f"use one of: {closest_first(name, types)}")
    if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
        raise error(f"{place}: a lone brace in the detail of guard {guard.name}", "write {metric}, or no brace")


def _conjoin(one: Condition, other: Condition, place: str, error: type[PhaseGateError] = WorkflowError) -> Condition:
    try:
        return one.conjoin(other)
    except ConditionError as wrong:  # together they may be too long
        raise error(f"{place}: {wrong.problem}", wrong.remedy) from None


def _read_parameters(fields: Fields | None, taken: dict[str, str]) -> dict[str, MetricValue]:
    if fields is not None:
        for name in fields:
            _take_name(fields, name, taken, "a parameter")
    return read_values(fields)


def _take_name(fields: Fields, name: str, taken: dict[str, str], what: str) -> None:
    if not _VALUE_NAME.fullmatch(name):
        fields.refuse_key(name, f"{what} can't be named {shorten(name)}", "use lower case, digits and `_`")
    if name in taken:
        fields.refuse_key(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
    taken[name] = what


def _prose(fields: Fields, key: str, *, required: bool = False) -> str:
    # One line, however it was wrapped in the file: it is shown in one.
    return " ".join((fields.text(key) if required else fields.text(key, "")).split())


# Overlay


def apply_overlay(workflow: Workflow, overlay: Overlay) -> Workflow:
    """Return the workflow with a project's rules laid over it. Guards are only ever added, and Gate 2 stays."""
    _check_metrics(workflow, overlay)
    _check_parameters(workflow, overlay)
    laid = replace(
        workflow,
        parameters={**workflow.parameters, **overlay.parameters},
        metrics={**workflow.metrics, **overlay.metrics},
        guards={**workflow.guards, **overlay.guards},
    )
    vocabulary = _Vocabulary(
        types=name_types(laid), constants=laid.parameters, guards=workflow.guards, error=ConfigurationError
    )
    for name, guard in overlay.guards.items():
        vocabulary.check_new_guard(guard, overlay.place(f"guards.{name}"))
    vocabulary = replace(vocabulary, guards=laid.guards)
    phases = {phase.name: phase for phase in workflow.phases}
    for key, change in overlay.phases.items():
        phase = workflow.phase(key)
        if phase is None:
            problem = f"{overlay.place(f'phases.{key}')}: workflow {workflow.name} has no phase {shorten(key)}"
            raise ConfigurationError(problem, f"use one of: {closest_first(key.upper(), phases)}")
        phases[phase.name] = replace(phase, gate_1=_change_gate(phase.gate_1, change, key, vocabulary, overlay))
    laid = replace(laid, phases=tuple(phases.values()))
    return replace(laid, digest=_digest(laid))


def _change_gate(gate: Gate1, change: PhaseOverlay, key: str, vocabulary: _Vocabulary, overlay: Overlay) -> Gate1:
    place = overlay.place(f"phases.{key}.condition")
    if change.condition is not None and change.replace:
        vocabulary.check_gate(change.condition, place)
        gate = replace(gate, condition=change.condition, replaced=True)
    elif change.condition is not None:
        check_condition(change.condition, vocabulary.types, place=place, error=vocabulary.error)
        gate = replace(gate, condition=_conjoin(gate.condition, change.condition, place, vocabulary.error))
    elif change.replace:
        problem = f"{overlay.place(f'phases.{key}.replace')}: there is no condition to replace the workflow's"
        raise ConfigurationError(problem, "add a condition, or take replace out")
    for name in change.guards:
        vocabulary.check_guard_name(name, overlay.place(f"phases.{key}.guards"))
    return replace(gate, guards=tuple(dict.fromkeys((*gate.guards, *change.guards))))


def _check_metrics(workflow: Workflow, overlay: Overlay) -> None:
    known = name_types(workflow)
    for name, kind in overlay.metrics.items():
        if name in known and workflow.metrics.get(name) != kind:
            place = overlay.place(f"metrics.{name}")
            raise ConfigurationError(f"{place}: {name} exists already", "give the metric a name of its own")


def _check_parameters(workflow: Workflow, overlay: Overlay) -> None:
    for name, value in overlay.parameters.items():
        place = overlay.place(f"parameters.{name}")
        if name not in workflow.parameters:
            names = closest_first(name, workflow.parameters)
            problem = f"{place}: workflow {workflow.name} has no parameter {shorten(name)}"
            raise ConfigurationError(problem, f"use one of: {names}" if names else "take it out")
        old, new = _type_of(workflow.parameters[name]), _type_of(value)
        if old != new and (old, new) != ("number", "int"):
            problem = f"{place}: parameter {name} has to be of type {old}, not {new}"
            raise ConfigurationError(problem, f"write a value like {workflow.parameters[name]}")


# Digest


def _digest(workflow: Workflow) -> str:
    """Return a hash of what decides; prose may change in the middle of a cycle, rules may not."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    rules = {
        "workflow": workflow.name,
        "start": workflow.start,
        "rewind_by_option": workflow.rewind_by_option,
        "parameters": dict(workflow.parameters),
        "facts": dict(workflow.facts),
        "metrics": dict(workflow.metrics),
        # Only those in use: a guard that a newer version ships besides changes no rule.
        "guards": {name: guard.condition.text for name, guard in workflow.guards.items() if name in named},
        "phases": [
            {
                "name": phase.name,
                "tests": phase.tests,
                "scope": phase.scope,
                "condition": phase.gate_1.condition.text,
                "replaced": phase.gate_1.replaced,
                "guards": phase.gate_1.guards,
                "next": phase.next,
                "may_end_cycle": phase.may_end_cycle,
            }
            for phase in workflow.phases
        ],
    }
    canonical = json.dumps(rules, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
