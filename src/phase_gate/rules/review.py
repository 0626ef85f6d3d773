"""Look at a workflow that could be read: what in it can't work, or can't fail.

Pure. Phases that nothing leads to, or that lead to no end; conditions that are met, or unmet, whatever is measured;
names that nothing measures where they are asked for. Each remark says where in the file it belongs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import find_transitions, reach
from phase_gate.rules.truth import Names, find_fixed_truth
from phase_gate.values import Value
from phase_gate.workflow.conditions import Condition, parse_condition
from phase_gate.workflow.conditions.tree import Group, render
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import DRIFT, Guard, Phase, Workflow, requires_of
from phase_gate.workflow.names import DONE

_NO_TEST = "compare with a value that can be missed; `NAME != null` asks only that something is known"
_NO_WAY = "let the clauses allow each other: no values fulfil all of them"

_ADD = "add what it speaks of, or leave the name out"

_CONSENSUS = frozenset({"consensus_score", "consensus_voters", "consensus_reached"})
_RECOVERY = frozenset({"root_cause_known", "recovery_target", "fix_checked", "fix_tested"})
_CHECKS = frozenset({"checks_failed", "checks_missing"})
_DRIFT = frozenset({"drift_found", "lines_changed"})
_REQUESTS = frozenset({"requests_pending", "blocking_issues"})


class Remark(Value):
    """Something that is wrong, and where: keys from the top of the file down."""

    path: tuple[str, ...]
    problem: str
    remedy: str
    #: Whether it speaks of the last key itself, not of its value.
    of_key: bool = False


def review_workflow(
    workflow: Workflow,
    types: Mapping[str, MetricType],
    *,
    own_guards: Collection[str] = (),
    unprovided: Collection[str] = (),
    commands: Collection[str] | None = None,
) -> Iterator[Remark]:
    """Yield whatever is wrong.

    :param types: every name that its conditions may use.
    :param own_guards: the guards that stand in its file.
    :param unprovided: names that it says are measured, and that nothing here measures.
    :param commands: what the project runs as checks; None if that is not known.
    """
    yield from _review_order(workflow)
    names = Names(types=types, values=workflow.parameters)
    for name in own_guards:
        yield from _review_guard(workflow.guards[name], names)
    for phase in workflow.phases:
        yield from _review_gate(phase, workflow, names)
        yield from _review_names(phase, workflow, unprovided)
        if commands is not None and phase.requires is not None:
            yield from _review_checks(phase, phase.requires.checks, commands)


# --- order


def _review_order(workflow: Workflow) -> Iterator[Remark]:
    onwards = [each for each in find_transitions(workflow) if each.why != "rewind"]
    reached = reach(workflow.first.name, onwards)
    for phase in workflow.phases:
        if phase.name not in reached:
            key = "on_failure" if phase.recovers else "next"
            yield Remark(
                path=("phases", phase.name),
                of_key=True,
                problem=f"phase {phase.name} can't be reached from {workflow.first.name}",
                remedy=f"let the `{key}` of another phase name {phase.name}",
            )
    lost = [phase.name for phase in workflow.phases if DONE not in reach(phase.name, onwards)]
    if lost:
        yield Remark(
            path=("phases", lost[0]),
            of_key=True,
            problem=f"no way leads from {', '.join(lost)} to {DONE}: the phases go round for ever",
            remedy=f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`",
        )


# --- gates and guards


def _review_gate(phase: Phase, workflow: Workflow, names: Names) -> Iterator[Remark]:
    path = ("phases", phase.name, "gate_1", "condition")
    condition = phase.gate_1.condition
    truth = find_fixed_truth([condition], names)
    if truth is True:
        problem = f"the condition of {phase.name} can't fail: it is met whatever is measured"
        yield Remark(path=path, problem=problem, remedy=_NO_TEST)
        return
    if truth is False:
        problem = f"the gate of {phase.name} can never open: its condition fails whatever is measured"
        yield Remark(path=path, problem=problem, remedy=_NO_WAY)
        return
    # With parameters left open: one that is 0 may well switch a clause off.
    for clause in _conjuncts(condition):
        if find_fixed_truth([clause], Names(types=names.types)) is True:
            problem = f"{clause.text} in the condition of {phase.name} can't fail: it is met whatever is measured"
            yield Remark(path=path, problem=problem, remedy=_NO_TEST)
    for name in phase.gate_1.guards:
        guard = workflow.guards[name].condition
        if find_fixed_truth([guard], names) is None and find_fixed_truth([condition, guard], names) is False:
            problem = f"the gate of {phase.name} can never open: its condition and its guard {name} exclude each other"
            remedy = f"change one of the two: {name} is met if {guard.text}"
            yield Remark(path=path, problem=problem, remedy=remedy)


def _review_guard(guard: Guard, names: Names) -> Iterator[Remark]:
    path = ("guards", guard.name, "condition")
    truth = find_fixed_truth([guard.condition], names)
    if truth is True:
        problem = f"guard {guard.name} can't fail: it is met whatever is measured"
        yield Remark(path=path, problem=problem, remedy=_NO_TEST)
    elif truth is False:
        problem = f"guard {guard.name} can never be met: it fails whatever is measured"
        yield Remark(path=path, problem=problem, remedy=_NO_WAY)


def _conjuncts(condition: Condition) -> Iterator[Condition]:
    tree = condition.tree
    if isinstance(tree, Group) and tree.word == "AND":
        yield from (parse_condition(render(part)) for part in tree.parts)


# --- names


def _review_names(phase: Phase, workflow: Workflow, unprovided: Collection[str]) -> Iterator[Remark]:
    path = ("phases", phase.name, "gate_1", "condition")
    for name in sorted(wanted_names(workflow, phase)):
        if name in unprovided:
            problem = f"nothing measures {name}, which the gate of {phase.name} asks for"
            yield Remark(path=path, problem=problem, remedy=_provide(name))
        elif reason := _why_unknown(name, phase, workflow):
            problem = f"nothing measures {name} in {phase.name}: {reason}"
            yield Remark(path=path, problem=problem, remedy=_ADD)
        elif reason := _why_fixed(name, phase, workflow):
            yield Remark(path=path, problem=f"{name} in {phase.name} is always {reason}", remedy=_ADD)


def _review_checks(phase: Phase, checks: Collection[str], commands: Collection[str]) -> Iterator[Remark]:
    for name in checks:
        if name not in commands:
            yield Remark(
                path=("phases", phase.name, "requires", "checks"),
                problem=f"nothing runs the check {name}, which {phase.name} requires",
                remedy=f"describe the command {name} under `evidence: commands:` in phase-gate.yaml",
            )


def _provide(name: str) -> str:
    hook = "install or write the plugin whose pytest_phase_gate_metrics gives it"
    command = name.removesuffix("_ok")
    if command == name:
        return hook
    return f"describe the command {command} under `evidence: commands:` in phase-gate.yaml, or {hook}"


def _why_unknown(name: str, phase: Phase, workflow: Workflow) -> str:
    """Return why a metric of pipelines has no value in a phase; nothing if it has one."""
    if name not in PIPELINE_METRICS:
        return ""
    if workflow.pipeline is None:
        return "the workflow says nothing of artifacts, requirements or change requests"
    requires = requires_of(phase)
    if name in _CONSENSUS and requires.consensus is None:
        return "the phase requires no consensus"
    if name in _CHECKS and not requires.checks:
        return "the phase requires no check"
    if name in _RECOVERY and not phase.recovers:
        return "the phase does not recover"
    if name in _DRIFT and DRIFT not in phase.raises:
        return "the phase does not look for drift"
    return ""


def _why_fixed(name: str, phase: Phase, workflow: Workflow) -> str:
    """Return why a metric of pipelines always has the same value in a phase, and which; nothing if it has not."""
    rules, requires = workflow.pipeline, requires_of(phase)
    if rules is None:
        return ""
    if name == "artifacts_missing" and not requires.artifacts:
        return "0: the phase requires no artifact"
    if name == "artifacts_unapproved" and not requires.approved:
        return "0: the phase requires nothing to be as approved"
    if name in _REQUESTS and not rules.routes:
        return "0: the workflow has no routes for change requests"
    if name == "constitution_intact" and not rules.constitution:
        return "true: the workflow has no constitution"
    return ""
