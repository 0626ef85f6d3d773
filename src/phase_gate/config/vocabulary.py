"""Read and check the parts that workflows and the configuration share: conditions, guards, names and their types.

The caller says which error to raise: the same slip is the workflow's fault in one file and the project's in another.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args

from phase_gate.config.faults import Faults
from phase_gate.config.fields import Fields, closest_first, is_null, shorten
from phase_gate.config.yaml import YamlScalar
from phase_gate.errors import ConditionError
from phase_gate.values import MISSING, Value, annotation_of, as_dict, default_of, replace, told_about
from phase_gate.values import fields as names_of
from phase_gate.workflow.conditions import Condition, parse_condition
from phase_gate.workflow.metrics import METRIC_TYPES, SPELLINGS, MetricType, MetricValue
from phase_gate.workflow.model import Guard, Workflow
from phase_gate.workflow.model_json import decisive_rules
from phase_gate.workflow.phrases import PatternError, check_pattern

T = TypeVar("T", bound=Value)

#: Far more than any set of rules that a person can still read.
MAX_BYTES = 1024 * 1024

#: Stands for a condition that can't be read, where faults are collected.
STAND_IN = parse_condition("run_complete == true")

_GUARD_NAME = re.compile("[a-z][a-z0-9-]*")
_VALUE_NAME = re.compile("[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})
_TYPES: tuple[MetricType, ...] = get_args(MetricType)

#: Names that must not get a second meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys(SPELLINGS, "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "in", "true", "false", "null"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


class Vocabulary(Value):
    """What the gates of a workflow may speak of, and how a slip is reported."""

    types: Mapping[str, MetricType]
    #: Names whose values are fixed: a gate that looks at nothing else is always open or always closed.
    constants: Iterable[str]
    guards: Mapping[str, Guard]
    faults: Faults
    #: Tells whether a plugin may offer a guard of that name.
    offers: Callable[[str], bool] | None = None

    def check_gate(self, condition: Condition, place: str) -> Condition:
        """Return the condition of a gate, or a stand-in."""
        if not check_condition(condition, self.types, place=place, faults=self.faults):
            return STAND_IN
        if not condition.names - set(self.constants):
            self.faults.report(place, "the condition measures nothing", "compare at least one metric or fact")
            return STAND_IN
        return condition

    def knows_guard(self, name: str, place: str) -> bool:
        """Tell whether there is such a guard; it is a fault if there is none."""
        if name in self.guards or (self.offers is not None and self.offers(name)):
            return True
        names = closest_first(name, sorted(self.guards))
        self.faults.report(place, f"unknown guard {shorten(name)}", f"use one of: {names}")
        return False

    def check_new_guard(self, guard: Guard, place: str) -> Guard:
        """Return the guard, with a stand-in for a condition that can't be evaluated."""
        if guard.name in self.guards:
            self.faults.report(place, f"guard {guard.name} exists already", "give your guard another name")
        if check_guard(guard, self.types, place=place, faults=self.faults):
            return guard
        return replace(guard, condition=STAND_IN)


def read_condition(fields: Fields, key: str = "condition") -> Condition:
    """Return the condition under that key, other spellings resolved; whether its names exist is not looked at."""
    before = fields.faults.number
    text = fields.text(key)
    if fields.faults.number > before:
        return STAND_IN
    try:
        return parse_condition(text).replace_names(_aliases())
    except ConditionError as error:
        fields.report(key, f"{fields.dotted(key)}: {error.problem}", error.remedy)
        return STAND_IN


def read_guards(fields: Fields) -> dict[str, Guard]:
    """Return guard definitions; whether their metrics exist is not looked at."""
    guards = {}
    for name in fields:
        if not _GUARD_NAME.fullmatch(name):
            fields.report_key(name, f"a guard can't be named {shorten(name)}", "use lower case, digits and `-`")
        guard = fields.mapping(name)
        guards[name] = read_value(guard, Guard, name=name, condition=read_condition(guard))
    return guards


def read_types(fields: Fields | None, taken: dict[str, str], what: str) -> dict[str, MetricType]:
    """Return new names with their types, and add the names to what is taken."""
    types: dict[str, MetricType] = {}
    if fields is not None:
        for name in fields:
            with fields.faults.about(name):
                take_name(fields, name, taken, what)
                types[name] = fields.choice(name, _TYPES)
    return types


def read_parameters(fields: Fields | None, taken: dict[str, str]) -> dict[str, MetricValue]:
    """Return new parameters with their values, and add the names to what is taken."""
    if fields is not None:
        for name in fields:
            with fields.faults.about(name):
                take_name(fields, name, taken, "a parameter")
    return read_values(fields)


def read_values(fields: Fields | None) -> dict[str, MetricValue]:
    """Return parameters by their names, new or not; each has to have a value."""
    values: dict[str, MetricValue] = {}
    if fields is not None:
        for name in fields:
            with fields.faults.about(name):
                values[name] = fields.value(name)
                if values[name] is None:
                    fields.report(name, f"{fields.dotted(name)} has no value", "give it a number, a boolean or a text")
                    values[name] = 1
    return values


def read_prose(fields: Fields, key: str, *, required: bool = False) -> str:
    """Return the text in one line, however it was wrapped in the file: it is shown in one."""
    return " ".join((fields.text(key) if required else fields.text(key, "")).split())


def check_condition(condition: Condition, types: Mapping[str, MetricType], *, place: str, faults: Faults) -> bool:
    """Tell whether a condition knows its names, and compares what can be compared; it is a fault if not."""
    unknown = sorted(condition.names - types.keys() - faults.broken)
    for name in unknown:
        if name in _GATE_NAMES:
            faults.report(place, f"{name} is known in gate_2 and exit_allowed only", "speak of metrics here")
        else:
            problem = f"unknown name {shorten(name)} in a condition"
            faults.report(place, problem, f"use one of: {closest_first(name, types)}")
    if unknown or condition.names & faults.broken:
        return False
    try:
        condition.check_types(types)
    except ConditionError as wrong:
        faults.report(place, wrong.problem, wrong.remedy)
        return False
    return True


def check_guard(guard: Guard, types: Mapping[str, MetricType], *, place: str, faults: Faults) -> bool:
    """Tell whether a guard's condition can be evaluated; it is a fault if not, or if its detail has unknown names."""
    for name in _PLACEHOLDER.findall(guard.detail):
        if name not in types and name not in faults.broken:
            problem = f"unknown name {shorten(name)} in the detail of guard {guard.name}"
            faults.report(place, problem, f"use one of: {closest_first(name, types)}")
    if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
        faults.report(place, f"a lone brace in the detail of guard {guard.name}", "write {metric}, or no brace")
    return check_condition(guard.condition, types, place=place, faults=faults)


def conjoin(one: Condition, other: Condition, *, place: str, faults: Faults) -> Condition:
    """Return the condition that both hold."""
    try:
        return one.conjoin(other)
    except ConditionError as wrong:  # together they may be too long
        faults.report(place, wrong.problem, wrong.remedy)
        return other


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    return combine_types(parameters=workflow.parameters, facts=workflow.facts, metrics=workflow.metrics)


def combine_types(
    *, parameters: Mapping[str, MetricValue], facts: Mapping[str, MetricType], metrics: Mapping[str, MetricType]
) -> dict[str, MetricType]:
    """Return every name that a condition may use, with its type: these, and the metrics that we measure."""
    values = {name: type_of(value) for name, value in parameters.items()}
    # Last: whatever a plugin says, a measured metric keeps its type.
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
def _aliases() -> Mapping[str, Condition]:
    return {name: parse_condition(text) for name, text in SPELLINGS.items()}


def take_name(fields: Fields, name: str, taken: dict[str, str], what: str) -> None:
    """Refuse a name that is none, or that means something else already."""
    if not _VALUE_NAME.fullmatch(name):
        fields.report_key(name, f"{what} can't be named {shorten(name)}", "use lower case, digits and `_`")
    if name in taken:
        fields.report_key(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
    taken[name] = what


def check_path(path: str, place: str, fields: Fields, *, otherwise: str = "") -> None:
    """Refuse what lies outside of the project.

    :param otherwise: the way to name such a place all the same.
    """
    is_absolute = path.startswith(("/", "~")) or path[1:2] == ":"
    if is_absolute or ".." in path.split("/") or "\\" in path or "\0" in path:
        remedy = f"write it from the root, with `/`{otherwise and f'; or {otherwise}'}"
        fields.faults.report(place, f"{shorten(path)} is no path below the root", remedy)


# --- a section as the annotations of its settings say


def read_settings(fields: Fields | None, usual: T, **read: Any) -> T:
    """Return a value with what stands in a section, and the rest as usual.

    :param read: what the caller has read of it, by its name in the value.
    """
    return usual if fields is None else _read_rest(fields, type(usual), as_dict(usual), read)


def read_value(fields: Fields, kind: type[T], **read: Any) -> T:
    """Return a value as a mapping gives it, each field as its annotation says; one without a default has to be there.

    What a field is told may be what it is for settings; `name`, of a person or an agent; `prose`, shown in one line;
    `blank`, null or nothing may stand there for its default.

    :param read: what the caller has read of it, by its name in the value.
    """
    return _read_rest(fields, kind, {name: default_of(kind, name) for name in names_of(kind)}, read)


def _read_rest(fields: Fields, kind: type[T], usual: Mapping[str, Any], read: dict[str, Any]) -> T:
    for name in names_of(kind):
        if name not in read:
            read[name] = _read_field(fields, kind, name, usual[name])
    fields.finish()
    return kind(**read)


def _read_field(fields: Fields, kind: type[Value], name: str, usual: Any) -> Any:
    told = told_about(kind, name)
    node = fields.node_of(told.get("key", name)) if "blank" in told else None
    if isinstance(node, YamlScalar) and (is_null(node) or not node.text.strip()):
        return usual
    key, minimum = told.get("key", name), told.get("minimum")
    annotation, module = annotation_of(kind, name)
    if "span" in told:
        return fields.duration(key, usual, minimum=told["minimum"])
    match annotation.removesuffix(" | None"):
        case "bool":
            return fields.boolean(key, usual)
        case "int":
            return fields.integer(key, usual, minimum=minimum)
        case "float":
            return fields.number(key, usual, minimum=minimum)
        case "str" if "blank" in told and "name" not in told:
            return fields.text(key, usual).strip()
        case "str" if "name" in told:
            return fields.name(key, usual)
        case "str" if "prose" in told:
            return read_prose(fields, key, required=usual is MISSING)
        case "str":
            return _checked(fields, key, told, fields.text(key, usual))
        case "tuple[str, ...]":
            return _checked(fields, key, told, fields.text_list(key, usual, or_one=told.get("or_one", False)))
        case "Mapping[str, int]":
            section = fields.mapping(key, None)
            return usual if section is None else {each: section.integer(each, minimum=minimum) for each in section}
    found = vars(sys.modules[module])[annotation.removesuffix(" | None")]
    if isinstance(found, type) and issubclass(found, Value):
        section = fields.mapping(key) if usual is MISSING else fields.mapping(key, None)
        return (
            usual
            if section is None
            else read_value(section, found)
            if usual in (None, MISSING)
            else read_settings(section, usual)
        )
    return fields.choice(key, found.__args__, usual)


def _checked(fields: Fields, key: str, told: Mapping[str, Any], value: Any) -> Any:
    """Return a text, or several, that are paths or phrases where the settings say so."""
    texts = ((value,) if isinstance(value, str) else value) if key in fields else ()
    for number, text in enumerate(texts):
        if "below_root" in told:
            check_path(text, fields.item_place(key, number), fields, otherwise=told["below_root"])
        if "phrases" in told:
            try:
                check_pattern(text)
            except PatternError as error:
                problem, remedy = f"{fields.dotted(key)}: {error}", "write a simple phrase, with `.*` at most"
                fields.faults.stop(fields.item_place(key, number), problem, remedy)
    return value
