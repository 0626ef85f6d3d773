"""Check the rules of workflows: names in conditions, guards, and what only pipelines have.

Shared by workflow files and the configuration: the reader determines which error to raise. Each requirement of a
pipeline's phase becomes one of its guards, so that a condition can't omit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from phase_gate.config.reading import Node, Reader, closest_first, find, shorten
from phase_gate.errors import ConditionError
from phase_gate.values import Value, field, replace
from phase_gate.workflow.condition_parser import ALIASES, check_types
from phase_gate.workflow.conditions import TYPE_NAMES, names_in
from phase_gate.workflow.metrics import METRIC_TYPES, PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import (
    AUDIT,
    CHANGE_TYPES,
    DRIFT,
    ROOT_CAUSE,
    Consensus,
    Guard,
    Phase,
    PipelineRules,
    Workflow,
    requires_of,
)

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_GATE_NAMES = frozenset({"exit_signal", "gate_1", "gate_2"})

#: Names that already have a meaning, and what they are.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(METRIC_TYPES, "a measured metric"),
    **dict.fromkeys(ALIASES, "another spelling of a metric"),
    **dict.fromkeys(("and", "or", "not", "true", "false"), "a word of conditions"),
    **dict.fromkeys(_GATE_NAMES, "a name of the gates"),
}


def take_names(names: Iterable[str], taken: dict[str, str], what: str, faults: Reader) -> None:
    """Report names that are already taken, and add the others to `taken`."""
    for name in names:
        if name in taken:
            faults.stop(name, f"{name} is {taken[name]} already", f"give {what} a name of its own")
        taken[name] = what


class Vocabulary(Value):
    """The names and guards that the gates of a workflow may use, and the reader that reports faults."""

    types: Mapping[str, MetricType]
    #: Names whose values are fixed: a gate that uses only these is always open or always closed.
    constants: Iterable[str] = ()
    guards: Mapping[str, Guard] = field(default_factory=dict)
    faults: Reader

    def check_gate(self, condition: str, guards: Iterable[str] = ()) -> None:
        """Report unknown guards of a gate, and faults of its condition."""
        for name in guards:
            self.faults.check_known(name, sorted(self.guards), f"unknown guard {shorten(name)}")
        self.check_condition(condition, condition)
        if not names_in(condition) - set(self.constants):
            problem = "the condition measures nothing"
            self.faults.stop(condition, problem, "compare at least one metric or fact")

    def check_new_guards(self, guards: Mapping[str, Guard]) -> None:
        """Report faults of the guards of a file."""
        for key, guard in guards.items():
            if guard.name in self.guards:
                self.faults.stop(key, f"guard {guard.name} exists already", "give your guard another name")
            self.check_guard(guard, key)

    def check_guard(self, guard: Guard, where: str) -> None:
        """Report unknown names in a guard, and types that can't be compared.

        :param where: its key in a file, or a description of the place for messages.
        """
        for name in _PLACEHOLDER.findall(guard.detail):
            problem = f"unknown name {shorten(name)} in the detail of guard {guard.name}"
            self.faults.check_known(name, self.types, problem, where=where)
        if re.search("[{}]", _PLACEHOLDER.sub("", guard.detail)):
            problem = f"a lone brace in the detail of guard {guard.name}"
            self.faults.stop(where, problem, "write {metric}, or no brace")
        self.check_condition(guard.condition, where)

    def check_condition(self, condition: str, where: str) -> None:
        """Report unknown names in a condition, and types that can't be compared."""
        for name in sorted(names_in(condition) - self.types.keys()):
            if name in _GATE_NAMES:
                self.faults.stop(where, f"{name} is known in gate_2 and exit_allowed only", "use metrics here")
            self.faults.check_known(name, self.types, f"unknown name {shorten(name)} in a condition", where=where)
        try:
            check_types(condition, self.types)
        except ConditionError as wrong:
            self.faults.stop(where, wrong.problem, wrong.remedy)


def name_types(workflow: Workflow) -> dict[str, MetricType]:
    """Return every name that a condition of the workflow may use, with its type."""
    values = {name: TYPE_NAMES[type(value)] for name, value in workflow.parameters.items()}
    # Last, so that plugins can't change the type of a built-in metric.
    return {**workflow.metrics, **workflow.facts, **values, **METRIC_TYPES}


# --- pipelines: artifacts, routes of change requests, requirements of phases


def is_pipeline(rules: PipelineRules, phases: Iterable[Phase]) -> bool:
    """Return whether a workflow file has any rule that only pipelines have."""
    return bool(rules.artifacts or rules.constitution or rules.routes or rules.drift) or any(
        phase.requires or phase.on_failure or phase.routes or phase.recovers or phase.raises for phase in phases
    )


class PipelineCheck(Value, kw_only=False):
    """Reports the faults of a pipeline. Names know their places; the places of numbers and booleans are looked up."""

    workflow: Workflow
    rules: PipelineRules
    node: Node
    faults: Reader

    def check(self, phases: Mapping[str, Phase]) -> None:
        """Check all rules.

        :param phases: the phases by their names in the file.
        """
        workflow, faults = self.workflow, self.faults
        main = [phase.name for phase in workflow.phases if not phase.recovers]
        if workflow.start != "first":
            problem = "a pipeline begins with its first phase"
            faults.stop(find(self.node, "start"), problem, "write `start: first`, or leave it out")
        if workflow.first.recovers:
            problem = "the first phase can't be one that recovers"
            faults.stop(workflow.first.name, problem, "begin with a phase that does the work")
        if self.rules.drift is not None:
            self._check_number(self.rules.drift.lines, find(self.node, "drift", "lines"))
        for kind, target in self.rules.routes.items():
            faults.check_known(kind, CHANGE_TYPES, f"there are no change requests of type {shorten(kind)}")
            problem = f"a change request can't lead to {shorten(target)}"
            faults.check_known(target, main, problem, where=find(self.node, "routes", kind))
        for key, phase in phases.items():
            self._check_phase(phase, find(self.node, "phases", key))

    def _check_number(self, given: float | str, where: Node) -> float:
        """Return a number, or the value of the parameter of that name."""
        parameters = self.workflow.parameters
        value = parameters.get(given) if isinstance(given, str) else given
        if isinstance(value, bool) or not isinstance(value, int | float):
            known = [each for each, held in parameters.items() if isinstance(held, int | float)]
            problem = f"{shorten(str(given))} is neither a number nor a parameter with one"
            self.faults.stop(where, problem, f"use one of: {closest_first(str(given), known)}")
        return value

    def _check_phase(self, phase: Phase, row: Node) -> None:
        faults, requires = self.faults, requires_of(phase)
        recovering = [each.name for each in self.workflow.phases if each.recovers]
        if target := phase.on_failure.upper():
            remedy = "give a phase `recovers: true`, and name that one"
            problem = f"a failing gate can't lead to {shorten(target)}"
            faults.check_known(target, recovering, problem, where=phase.on_failure, otherwise=remedy)
        for name in requires.checks:
            faults.check_name(name, "a check")
        if requires.consensus is not None:
            self.check_consensus(requires.consensus, find(row, "requires", "consensus"))
        for name in (*requires.artifacts, *requires.approved):
            self._check_artifact(name)
        if (phase.routes or phase.raises) and not self.rules.routes:
            problem = "the workflow has no routes for change requests"
            where = find(row, "routes" if phase.routes else "raises")
            faults.stop(where, problem, "add `routes:` with their types at the top")
        for name in phase.raises:
            self._check_source(name)
        if phase.recovers:
            records = [name for name in requires.artifacts if self.rules.artifacts[name].schema == ROOT_CAUSE]
            if len(records) != 1:
                problem = "a phase that recovers requires one artifact with the root cause"
                faults.stop(find(row, "recovers"), problem, f"give it an artifact with `schema: {ROOT_CAUSE}`")
            if phase.next:
                problem = "the record of a recovery names the phase that follows"
                faults.stop(phase.next, problem, "remove `next`")

    def check_consensus(self, consensus: Consensus, row: Node) -> None:
        if not consensus.on:
            self.faults.stop(find(row, "on"), "a consensus needs artifacts", "name the artifacts that are voted on")
        for name in consensus.on:
            self._check_artifact(name)
        for key, most in (("threshold", 1), ("voters", 1000)):
            value = self._check_number(getattr(consensus, key), where := find(row, key))
            # With no voters, or a threshold of 0, there would always be a consensus.
            if not 0 < value <= most:
                self.faults.stop(where, f"{where.path} can't be {value}", f"write more than 0, up to {most}")

    def _check_artifact(self, name: str) -> None:
        problem, remedy = f"there is no artifact {shorten(name)}", "describe it under `artifacts:`"
        self.faults.check_known(name, self.rules.artifacts, problem, otherwise=remedy)

    def _check_source(self, name: str) -> None:
        """Check that this name can raise change requests."""
        reports = [each.name for each in self.rules.artifacts.values() if each.schema == AUDIT]
        if name == DRIFT and self.rules.drift is None:
            remedy = "add `drift: {files: [...], lines: ...}`"
            self.faults.stop(name, "the workflow does not define drift", remedy)
        self.faults.check_known(name, [DRIFT, *reports], f"{shorten(name)} raises no requests")


# --- guards of pipelines


def with_implied_guards(phase: Phase, rules: PipelineRules, known: Mapping[str, Guard]) -> Phase:
    """Return the phase with a guard for each of its requirements."""
    requires = requires_of(phase)
    implied = {
        "constitution-kept": rules.constitution,
        "rules-kept": True,
        "artifacts-made": requires.artifacts,
        "checks-passed": requires.checks,
        "consensus-reached": requires.consensus is not None,
        "as-approved": requires.approved,
        **dict.fromkeys(("root-cause-known", "fix-checked", "fix-tested"), phase.recovers),
        "drift-known": DRIFT in phase.raises,
        "no-blocking-issue": rules.routes,
    }
    named = [name for name, is_asked in implied.items() if is_asked and name in known]
    guards = dict.fromkeys((*phase.gate_1.guards, *named))
    return replace(phase, gate_1=replace(phase.gate_1, guards=tuple(guards)))


def without_pipeline_guards(workflow: Workflow) -> Workflow:
    """Return a workflow without the guards that only a pipeline can measure, unless it is one or a phase names them."""
    if workflow.pipeline is not None:
        return workflow
    named = {name for phase in workflow.phases for name in phase.gate_1.guards}
    kept = {
        name: guard
        for name, guard in workflow.guards.items()
        if name in named or guard.names.isdisjoint(PIPELINE_METRICS)
    }
    return replace(workflow, guards=kept)
