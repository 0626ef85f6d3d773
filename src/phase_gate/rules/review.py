"""Look at a workflow that could be read: what in it can't work.

Pure. Phases that nothing leads to, or that lead to no end; names that nothing measures where they are asked for. Each
remark says where in the file it belongs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import Transition, find_transitions
from phase_gate.values import Value
from phase_gate.workflow.metrics import PIPELINE_METRICS
from phase_gate.workflow.model import DRIFT, Phase, Workflow, requires_of
from phase_gate.workflow.names import DONE

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
    *,
    unprovided: Collection[str] = (),
    commands: Collection[str] | None = None,
) -> Iterator[Remark]:
    """Yield whatever is wrong.

    :param unprovided: names that it says are measured, and that nothing here measures.
    :param commands: what the project runs as checks; None if that is not known.
    """
    yield from _review_order(workflow)
    for phase in workflow.phases:
        yield from _review_names(phase, workflow, unprovided)
        if commands is not None and phase.requires is not None:
            yield from _review_checks(phase, phase.requires.checks, commands)


# --- order


def _review_order(workflow: Workflow) -> Iterator[Remark]:
    onwards = [each for each in find_transitions(workflow) if each.why != "rewind"]
    reached = _reach(workflow.first.name, onwards)
    for phase in workflow.phases:
        if phase.name not in reached:
            key = "on_failure" if phase.recovers else "next"
            yield Remark(
                path=("phases", phase.name),
                of_key=True,
                problem=f"phase {phase.name} can't be reached from {workflow.first.name}",
                remedy=f"let the `{key}` of another phase name {phase.name}",
            )
    lost = [phase.name for phase in workflow.phases if DONE not in _reach(phase.name, onwards)]
    if lost:
        yield Remark(
            path=("phases", lost[0]),
            of_key=True,
            problem=f"no way leads from {', '.join(lost)} to {DONE}: the phases go round for ever",
            remedy=f"end with `next: {DONE}`, or give a phase `may_end_cycle: true`",
        )


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
