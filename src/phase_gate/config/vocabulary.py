"""The names that conditions may use, with their types, and the guards. Shared by workflows and the configuration.

The reader determines which error to raise: one for workflow files, another one for the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from phase_gate.config.nodes import Text, closest_first, shorten
from phase_gate.config.reading import STAND_IN, Reader
from phase_gate.errors import ConditionError
from phase_gate.values import Value, replace
from phase_gate.workflow.conditions import Condition
from phase_gate.workflow.metrics import METRIC_TYPES, SPELLINGS, MetricValue
from phase_gate.workflow.model import Guard, MetricType, Workflow

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})

#: Names that already have a meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys(SPELLINGS, "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "in", "true", "false", "null"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


def take_names(names: Iterable[str], taken: dict[str, str], what: str, faults: Reader) -> None:
    """Report names that are already taken, and add the others to `taken`."""
    for name in names:
        if name in taken:
            faults.report(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
            faults.broken.add(name)
        taken[name] = what


class Vocabulary(Value):
    """The names and guards that the gates of a workflow may use, and the reader that reports faults."""

    types: Mapping[str, MetricType]
    #: Names whose values are fixed: a gate that uses only these is always open or always closed.
    constants: Iterable[str]
    guards: Mapping[str, Guard]
    faults: Reader
    #: Returns whether a plugin may offer a guard of that name.
    offers: Callable[[str], bool] | None = None

    def check_gate(self, condition: Condition) -> Condition:
        """Return the condition of a gate, or a placeholder if it is faulty."""
        if not self.check_condition(condition, condition.source):
            return STAND_IN
        if not condition.names - set(self.constants):
            self.faults.report(
                condition.source, "the condition measures nothing", "compare at least one metric or fact"
            )
            return STAND_IN
        return condition

    def known_guards(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the known guards without duplicates. Unknown ones are reported."""
        known = []
        for name in names:
            if name in self.guards or (self.offers is not None and self.offers(name)):
                known.append(str(name))
                continue
            names = closest_first(name, sorted(self.guards))
            self.faults.report(name, f"unknown guard {shorten(name)}", f"use one of: {names}")
        return tuple(dict.fromkeys(known))

    def check_new_guards(self, guards: Mapping[str, Guard]) -> dict[str, Guard]:
        """Return the guards of a file, with placeholders for conditions that can't be evaluated."""
        checked = {}
        for key, guard in guards.items():
            if guard.name in self.guards:
                self.faults.report(key, f"guard {guard.name} exists already", "give your guard another name")
            is_usable = self.check_guard(guard, key)
            checked[guard.name] = guard if is_usable else replace(guard, condition=STAND_IN)
        return checked

    def check_guard(self, guard: Guard, where: str) -> bool:
        """Return whether a guard's condition can be evaluated. If not, or if its detail has unknown names, report it.

        :param where: its key in a file, or a description of the place for messages.
        """
        for name in _PLACEHOLDER.findall(guard.detail):
            if name not in self.types and name not in self.faults.broken:
                problem = f"unknown name {shorten(name)} in the detail of guard {guard.name}"
                self.faults.report(where, problem, f"use one of: {closest_first(name, self.types)}")
        if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
            problem = f"a lone brace in the detail of guard {guard.name}"
            self.faults.report(where, problem, "write {metric}, or no brace")
        return self.check_condition(guard.condition, where)

    def check_condition(self, condition: Condition, where: str) -> bool:
        """Return whether a condition uses known names with compatible types. If not, report it."""
        faults = self.faults
        unknown = sorted(condition.names - self.types.keys() - faults.broken)
        for name in unknown:
            if name in _GATE_NAMES:
                faults.report(where, f"{name} is known in gate_2 and exit_allowed only", "use metrics here")
            else:
                problem = f"unknown name {shorten(name)} in a condition"
                faults.report(where, problem, f"use one of: {closest_first(name, self.types)}")
        if unknown or condition.names & faults.broken:
            return False
        try:
            condition.check_types(self.types)
        except ConditionError as wrong:
            faults.report(where, wrong.problem, wrong.remedy)
            return False
        return True

    def conjoin(self, one: Condition, other: Condition) -> Condition:
        """Return the condition that both hold, with the place of the second one."""
        try:
            both = one.conjoin(other)
        except ConditionError as wrong:  # joined, they may be too long
            self.faults.report(other.source, wrong.problem, wrong.remedy)
            return other
        where = other.source
        return replace(both, source=Text.of(both.source, where.at, where.path)) if isinstance(where, Text) else both


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    values = {name: type_of(value) for name, value in workflow.parameters.items()}
    # Last, so that plugins can't change the type of a built-in metric.
    return {**workflow.metrics, **workflow.facts, **values, **METRIC_TYPES}


def type_of(value: MetricValue) -> MetricType:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return "number" if isinstance(value, float) else "text"
