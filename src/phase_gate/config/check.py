"""Find everything that is wrong with a workflow file, not only the first of it.

The reader that loads workflows is the one that finds faults here: it collects them, and goes on with stand-ins. What
it can't see is looked for in the workflow that it made: phases that nothing leads to, or that lead to no end; names
that nothing measures where they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from phase_gate.config.faults import MAX_FAULTS, Fault, Faults, FaultyError
from phase_gate.config.vocabulary import MAX_BYTES, STAND_IN
from phase_gate.config.workflow import build_workflow
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence, read_documents
from phase_gate.errors import DocumentError, WorkflowError
from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import Transition, find_transitions
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import DRIFT, Guard, Phase, Workflow, requires_of
from phase_gate.workflow.names import DONE

_ADD = "add what it speaks of, or leave the name out"

_CONSENSUS = frozenset({"consensus_score", "consensus_voters", "consensus_reached"})
_RECOVERY = frozenset({"root_cause_known", "recovery_target", "fix_checked", "fix_tested"})
_CHECKS = frozenset({"checks_failed", "checks_missing"})
_DRIFT = frozenset({"drift_found", "lines_changed"})
_REQUESTS = frozenset({"requests_pending", "blocking_issues"})

#: From a document's number down: keys of mappings, places in lists.
Path = tuple[str | int, ...]


class _Remark(Value):
    """Something that is wrong, and where: keys from the top of the file down."""

    path: tuple[str, ...]
    problem: str
    remedy: str
    #: Whether it speaks of the last key itself, not of its value.
    of_key: bool = False


class Offers(Protocol):
    """What plugins may give to a workflow."""

    def find_unprovided(self, workflow: Workflow) -> Collection[str]:
        """Return the names that it says are measured, and that nothing measures."""

    def offers_guard(self, name: str) -> bool:
        """Tell whether a plugin may offer a guard of that name."""


class Checked(Value):
    """What is wrong with a file, by line; and the workflow, as far as it could be read."""

    problems: tuple[Fault, ...]
    workflow: Workflow | None = None


def check_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    plugins: Offers | None = None,
    commands: Collection[str] | None = None,
) -> Checked:
    """Return every problem of the text.

    :param name: what stands in front of the line in messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: what plugins and commands measure besides the metrics that we know.
    :param plugins: what plugins may offer; None if that is not known.
    :param commands: what the project runs by itself; None if it is not known which project this is for.
    """
    try:
        syntax = Faults(DocumentError, collects=True)
        documents = read_documents(text, name=name, limit=MAX_BYTES, faults=syntax)
    except FaultyError as error:
        return Checked(problems=(error.fault,))
    faults = Faults(WorkflowError, collects=True)
    workflow = None
    remarks: list[Fault] = []
    try:
        workflow = build_workflow(
            documents,
            name=name,
            guards=guards,
            extra_metrics=extra_metrics,
            faults=faults,
            offers=None if plugins is None else plugins.offers_guard,
        )
    except FaultyError as error:
        # What can't be read at all follows from what was found before.
        if not faults.found:
            faults.keep(error.fault)
    if workflow is not None:
        workflow = _with_offered(workflow)
        found = _review_workflow(
            workflow,
            unprovided=() if plugins is None else plugins.find_unprovided(workflow),
            commands=commands,
        )
        remarks = [_placed(remark, documents) for remark in found]
    problems = {(each.line, each.column, each.problem): each for each in (*faults.found, *remarks)}
    return Checked(problems=tuple(problems[key] for key in sorted(problems)[:MAX_FAULTS]), workflow=workflow)


def _with_offered(workflow: Workflow) -> Workflow:
    """Return the workflow with a stand-in for each guard that only its plugin knows."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards} - workflow.guards.keys()
    offered = {name: Guard(name=name, condition=STAND_IN, remedy="") for name in sorted(named)}
    return replace(workflow, guards={**workflow.guards, **offered})


# --- where in the file a remark belongs


def _placed(remark: _Remark, documents: Sequence[YamlNode]) -> Fault:
    for path in _candidates(remark, documents):
        place = _key_at(documents, path) if remark.of_key else _node_at(documents, path)
        if place is not None:
            break
    else:
        place = documents[0]
    return Fault(
        line=place.line, column=place.column, slug=WorkflowError.slug, problem=remark.problem, remedy=remark.remedy
    )


def _candidates(remark: _Remark, documents: Sequence[YamlNode]) -> Iterator[Path]:
    """Yield where the remark's place may be found: in a workflow, or in one of several gate documents."""
    path = _spelled(remark.path, documents)
    while path:
        yield (0, *path)
        if path[0] == "phases" and len(path) > 1:
            for index in range(len(documents)):
                phase = _node_at(documents, (index, "phase"))
                if isinstance(phase, YamlScalar) and phase.text.upper() == path[1].upper():
                    yield (index, *path[2:]) if len(path) > 2 else (index, "phase")
        path = path[:-1]


def _spelled(path: tuple[str, ...], documents: Sequence[YamlNode]) -> tuple[str, ...]:
    """Return the path with its phase as the file spells it: in any case."""
    phases = _node_at(documents, (0, "phases"))
    if path[0] != "phases" or not isinstance(phases, YamlMapping):
        return path
    spelled = next((key.text for key, _ in phases.entries if key.text.upper() == path[1].upper()), path[1])
    return (path[0], spelled, *path[2:])


def _node_at(documents: Sequence[YamlNode], path: Path) -> YamlNode | None:
    """Return the value at a path; None if there is none."""
    first, *rest = path
    assert isinstance(first, int), "a path begins with a document's number"
    node: YamlNode | None = documents[first]
    for step in rest:
        if isinstance(node, YamlMapping):
            node = next((value for key, value in node.entries if key.text == step), None)
        elif isinstance(node, YamlSequence) and isinstance(step, int):
            node = node.items[step]
        if node is None:
            return None
    return node


def _key_at(documents: Sequence[YamlNode], path: Path) -> YamlScalar | None:
    """Return the key that a path ends with; None if it ends with none."""
    parent = _node_at(documents, path[:-1]) if len(path) > 1 else None
    if not isinstance(parent, YamlMapping):
        return None
    return next((key for key, _ in parent.entries if key.text == path[-1]), None)


# --- what in a workflow that could be read can't work


def _review_workflow(
    workflow: Workflow,
    *,
    unprovided: Collection[str] = (),
    commands: Collection[str] | None = None,
) -> Iterator[_Remark]:
    """Yield whatever is wrong.

    :param unprovided: names that it says are measured, and that nothing here measures.
    :param commands: what the project runs as checks; None if that is not known.
    """
    yield from _review_order(workflow)
    for phase in workflow.phases:
        yield from _review_names(phase, workflow, unprovided)
        if commands is not None and phase.requires is not None:
            yield from _review_checks(phase, phase.requires.checks, commands)


# --- whether its phases lead somewhere


def _review_order(workflow: Workflow) -> Iterator[_Remark]:
    onwards = [each for each in find_transitions(workflow) if each.why != "rewind"]
    reached = _reach(workflow.first.name, onwards)
    for phase in workflow.phases:
        if phase.name not in reached:
            key = "on_failure" if phase.recovers else "next"
            yield _Remark(
                path=("phases", phase.name),
                of_key=True,
                problem=f"phase {phase.name} can't be reached from {workflow.first.name}",
                remedy=f"let the `{key}` of another phase name {phase.name}",
            )
    lost = [phase.name for phase in workflow.phases if DONE not in _reach(phase.name, onwards)]
    if lost:
        yield _Remark(
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


# --- whether there is anything to judge by


def _review_names(phase: Phase, workflow: Workflow, unprovided: Collection[str]) -> Iterator[_Remark]:
    path = ("phases", phase.name, "gate_1", "condition")
    for name in sorted(wanted_names(workflow, phase)):
        if name in unprovided:
            problem = f"nothing measures {name}, which the gate of {phase.name} asks for"
            yield _Remark(path=path, problem=problem, remedy=_provide(name))
        elif reason := _why_unknown(name, phase, workflow):
            problem = f"nothing measures {name} in {phase.name}: {reason}"
            yield _Remark(path=path, problem=problem, remedy=_ADD)
        elif reason := _why_fixed(name, phase, workflow):
            yield _Remark(path=path, problem=f"{name} in {phase.name} is always {reason}", remedy=_ADD)


def _review_checks(phase: Phase, checks: Collection[str], commands: Collection[str]) -> Iterator[_Remark]:
    for name in checks:
        if name not in commands:
            yield _Remark(
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
