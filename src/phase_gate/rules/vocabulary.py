"""Read and check the parts that workflows and the configuration share: conditions, guards, names and their types.

Whoever calls says which error to raise: the same slip is the workflow's fault in one file and the project's in another.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import get_args

from phase_gate.errors import ConditionError, PhaseGateError
from phase_gate.rules.fields import Fields, closest_first, shorten
from phase_gate.values import Value
from phase_gate.workflow.conditions import Condition, parse_condition
from phase_gate.workflow.decisive import decisive_rules
from phase_gate.workflow.metrics import ALIAS_CONDITIONS, ALIASES, METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import Guard, Limits, Workflow

#: Far more than any set of rules that a person can still read.
MAX_BYTES = 1024 * 1024

_GUARD_NAME = re.compile("[a-z][a-z0-9-]*")
_VALUE_NAME = re.compile("[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})
_TYPES: tuple[MetricType, ...] = get_args(MetricType)

#: Names that nobody may give a second meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys((*ALIASES, *ALIAS_CONDITIONS), "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "in", "true", "false", "null"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


class Vocabulary(Value):
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
        if name not in self.guards:
            names = closest_first(name, sorted(self.guards))
            raise self.error(f"{place}: unknown guard {shorten(name)}", f"use one of: {names}")

    def check_new_guard(self, guard: Guard, place: str) -> None:
        if guard.name in self.guards:
            raise self.error(f"{place}: guard {guard.name} exists already", "give your guard another name")
        check_guard(guard, self.types, place=place, error=self.error)


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
            remedy=read_prose(guard, "remedy", required=True),
            detail=read_prose(guard, "detail"),
        )
        guard.finish()
    return guards


def read_types(fields: Fields | None, taken: dict[str, str], what: str) -> dict[str, MetricType]:
    """Return new names with their types, and add the names to what is taken."""
    types: dict[str, MetricType] = {}
    if fields is not None:
        for name in fields:
            take_name(fields, name, taken, what)
            types[name] = fields.choice(name, _TYPES)
    return types


def read_parameters(fields: Fields | None, taken: dict[str, str]) -> dict[str, MetricValue]:
    """Return new parameters with their values, and add the names to what is taken."""
    if fields is not None:
        for name in fields:
            take_name(fields, name, taken, "a parameter")
    return read_values(fields)


def read_values(fields: Fields | None) -> dict[str, MetricValue]:
    """Return parameters by their names, new or not; each has to have a value."""
    values: dict[str, MetricValue] = {}
    if fields is not None:
        for name in fields:
            values[name] = fields.value(name)
            if values[name] is None:
                fields.refuse(name, f"{fields.dotted(name)} has no value", "give it a number, a boolean or a text")
    return values


def read_limits(fields: Fields | None, usual: Limits) -> Limits:
    """Return the breaker's limits, as far as they are given; the others are the usual ones."""
    if fields is None:
        return usual
    limits = Limits(
        no_progress=fields.integer("no_progress", usual.no_progress, minimum=0),
        same_error=fields.integer("same_error", usual.same_error, minimum=0),
        exit_blocked=fields.integer("exit_blocked", usual.exit_blocked, minimum=0),
        cool_down=float(fields.number("cool_down", usual.cool_down, minimum=0)),
    )
    fields.finish()
    return limits


def read_prose(fields: Fields, key: str, *, required: bool = False) -> str:
    """Return the text in one line, however it was wrapped in the file: it is shown in one."""
    return " ".join((fields.text(key) if required else fields.text(key, "")).split())


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


def check_guard(guard: Guard, types: Mapping[str, MetricType], *, place: str, error: type[PhaseGateError]) -> None:
    """Refuse a guard whose condition or detail speaks of what nobody knows."""
    check_condition(guard.condition, types, place=place, error=error)
    for name in _PLACEHOLDER.findall(guard.detail):
        if name not in types:
            problem = f"{place}: unknown name {shorten(name)} in the detail of guard {guard.name}"
            raise error(problem, f"use one of: {closest_first(name, types)}")
    if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
        raise error(f"{place}: a lone brace in the detail of guard {guard.name}", "write {metric}, or no brace")


def conjoin(one: Condition, other: Condition, *, place: str, error: type[PhaseGateError]) -> Condition:
    """Return the condition that both hold."""
    try:
        return one.conjoin(other)
    except ConditionError as wrong:  # together they may be too long
        raise error(f"{place}: {wrong.problem}", wrong.remedy) from None


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    return combine_types(parameters=workflow.parameters, facts=workflow.facts, metrics=workflow.metrics)


def combine_types(
    *, parameters: Mapping[str, MetricValue], facts: Mapping[str, MetricType], metrics: Mapping[str, MetricType]
) -> dict[str, MetricType]:
    """Return every name that a condition may use, with its type: these, and the metrics that we measure."""
    values = {name: type_of(value) for name, value in parameters.items()}
    # Last: whatever a plugin says, nobody gives a measured metric another type.
    return {**metrics, **facts, **values, **METRIC_TYPES}


def type_of(value: MetricValue) -> MetricType:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return "number" if isinstance(value, float) else "text"


def digest_rules(workflow: Workflow) -> str:
    """Return a hash of what decides; prose may change in the middle of a cycle, rules may not."""
    rules = decisive_rules(workflow)
    canonical = json.dumps(rules, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


@cache
def _alias_conditions() -> Mapping[str, Condition]:
    return {name: parse_condition(text) for name, text in ALIAS_CONDITIONS.items()}


def take_name(fields: Fields, name: str, taken: dict[str, str], what: str) -> None:
    """Refuse a name that is none, or that means something else already."""
    if not _VALUE_NAME.fullmatch(name):
        fields.refuse_key(name, f"{what} can't be named {shorten(name)}", "use lower case, digits and `_`")
    if name in taken:
        fields.refuse_key(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
    taken[name] = what


def check_path(path: str, place: str, fields: Fields, *, otherwise: str = "") -> None:
    """Refuse what lies outside of the project.

    :param otherwise: the way to name such a place all the same.
    """
    is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
    if is_absolute or ".." in path.split("/") or "\\" in path or "\0" in path:
        remedy = f"write it from the root, with `/`{otherwise and f'; or {otherwise}'}"
        raise fields.error(f"{place}: {shorten(path)} is no path below the root", remedy)
