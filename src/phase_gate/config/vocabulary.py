"""What conditions may speak of: names and their types, guards. Shared by workflows and the configuration.

The reader says which error to raise: the same slip is the workflow's fault in one file and the project's in another.
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

#: Names that must not get a second meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys(SPELLINGS, "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "in", "true", "false", "null"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


def take_names(names: Iterable[str], taken: dict[str, str], what: str, faults: Reader) -> None:
    """Refuse names that mean something else already, and add them to what is taken."""
    for name in names:
        if name in taken:
            faults.report(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
            faults.broken.add(name)
        taken[name] = what


class Vocabulary(Value):
    """What the gates of a workflow may speak of, and how a slip is reported."""

    types: Mapping[str, MetricType]
    #: Names whose values are fixed: a gate that looks at nothing else is always open or always closed.
    constants: Iterable[str]
    guards: Mapping[str, Guard]
    faults: Reader
    #: Tells whether a plugin may offer a guard of that name.
    offers: Callable[[str], bool] | None = None

    def check_gate(self, condition: Condition) -> Condition:
        """Return the condition of a gate, or a stand-in."""
        if not self.check_condition(condition, condition.source):
            return STAND_IN
        if not condition.names - set(self.constants):
            self.faults.report(
                condition.source, "the condition measures nothing", "compare at least one metric or fact"
            )
            return STAND_IN
        return condition

    def known_guards(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those that there are, each once; any other is a fault."""
        known = []
        for name in names:
            if name in self.guards or (self.offers is not None and self.offers(name)):
                known.append(str(name))
                continue
            names = closest_first(name, sorted(self.guards))
            self.faults.report(name, f"unknown guard {shorten(name)}", f"use one of: {names}")
        return tuple(dict.fromkeys(known))

    def check_new_guards(self, guards: Mapping[str, Guard]) -> dict[str, Guard]:
        """Return guards of a file, with stand-ins for conditions that can't be evaluated."""
        checked = {}
        for key, guard in guards.items():
            if guard.name in self.guards:
                self.faults.report(key, f"guard {guard.name} exists already", "give your guard another name")
            is_usable = self.check_guard(guard, key)
            checked[guard.name] = guard if is_usable else replace(guard, condition=STAND_IN)
        return checked

    def check_guard(self, guard: Guard, where: str) -> bool:
        """Tell whether a guard's condition can be evaluated; it is a fault if not, or if its detail has unknown names.

        :param where: its key in a file, or what stands for a place in messages.
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
        """Tell whether a condition knows its names, and compares what can be compared; it is a fault if not."""
        faults = self.faults
        unknown = sorted(condition.names - self.types.keys() - faults.broken)
        for name in unknown:
            if name in _GATE_NAMES:
                faults.report(where, f"{name} is known in gate_2 and exit_allowed only", "speak of metrics here")
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
        """Return the condition that both hold; it stands where the other one does."""
        try:
            both = one.conjoin(other)
        except ConditionError as wrong:  # together they may be too long
            self.faults.report(other.source, wrong.problem, wrong.remedy)
            return other
        where = other.source
        return replace(both, source=Text.of(both.source, where.at, where.path)) if isinstance(where, Text) else both


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    values = {name: type_of(value) for name, value in workflow.parameters.items()}
    # Last: whatever a plugin says, a measured metric keeps its type.
    return {**workflow.metrics, **workflow.facts, **values, **METRIC_TYPES}


def type_of(value: MetricValue) -> MetricType:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return "number" if isinstance(value, float) else "text"
