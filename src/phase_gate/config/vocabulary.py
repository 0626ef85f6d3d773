"""The names that conditions may use, with their types, and the guards. Shared by workflows and the configuration.

The reader determines which error to raise: one for workflow files, another one for the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from phase_gate.config.nodes import Text, closest_first, shorten
from phase_gate.config.reading import Reader
from phase_gate.errors import ConditionError
from phase_gate.values import Value
from phase_gate.workflow.condition_text import SPELLINGS
from phase_gate.workflow.conditions import check_types, conjoin, names_in
from phase_gate.workflow.metrics import METRIC_TYPES, MetricValue
from phase_gate.workflow.model import Guard, MetricType, Workflow

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})

#: Names that already have a meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys(SPELLINGS, "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "true", "false"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


def take_names(names: Iterable[str], taken: dict[str, str], what: str, faults: Reader) -> None:
    """Report names that are already taken, and add the others to `taken`."""
    for name in names:
        if name in taken:
            faults.report(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
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

    def check_gate(self, condition: str, guards: Iterable[str] = ()) -> None:
        """Report unknown guards of a gate, and faults of its condition."""
        for name in guards:
            if name not in self.guards and not (self.offers and self.offers(name)):
                known = closest_first(name, sorted(self.guards))
                self.faults.report(name, f"unknown guard {shorten(name)}", f"use one of: {known}")
        self.check_condition(condition, condition)
        if not names_in(condition) - set(self.constants):
            problem = "the condition measures nothing"
            self.faults.report(condition, problem, "compare at least one metric or fact")

    def check_new_guards(self, guards: Mapping[str, Guard]) -> None:
        """Report faults of the guards of a file."""
        for key, guard in guards.items():
            if guard.name in self.guards:
                self.faults.report(key, f"guard {guard.name} exists already", "give your guard another name")
            self.check_guard(guard, key)

    def check_guard(self, guard: Guard, where: str) -> None:
        """Report unknown names in a guard, and types that can't be compared.

        :param where: its key in a file, or a description of the place for messages.
        """
        for name in _PLACEHOLDER.findall(guard.detail):
            if name not in self.types:
                problem = f"unknown name {shorten(name)} in the detail of guard {guard.name}"
                self.faults.report(where, problem, f"use one of: {closest_first(name, self.types)}")
        if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
            problem = f"a lone brace in the detail of guard {guard.name}"
            self.faults.report(where, problem, "write {metric}, or no brace")
        self.check_condition(guard.condition, where)

    def check_condition(self, condition: str, where: str) -> None:
        """Report unknown names in a condition, or else types that can't be compared."""
        unknown = sorted(names_in(condition) - self.types.keys())
        for name in unknown:
            if name in _GATE_NAMES:
                self.faults.report(where, f"{name} is known in gate_2 and exit_allowed only", "use metrics here")
            else:
                problem = f"unknown name {shorten(name)} in a condition"
                self.faults.report(where, problem, f"use one of: {closest_first(name, self.types)}")
        if not unknown:
            try:
                check_types(condition, self.types)
            except ConditionError as wrong:
                self.faults.report(where, wrong.problem, wrong.remedy)

    def conjoin(self, one: str, other: str) -> str:
        """Return the condition that both hold, with the place of the second one."""
        try:
            both = conjoin(one, other)
        except ConditionError as wrong:  # joined, they may be too long
            self.faults.stop(other, wrong.problem, wrong.remedy)
        return Text.of(both, other.at, other.path) if isinstance(other, Text) else both


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
