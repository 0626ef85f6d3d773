"""All transitions between phases of a pipeline, and how entering a phase affects artifacts.

Pure. Only declared transitions: `next`, a request's route, a failure, and the return from a recovery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.advice import what_gate_1_misses
from phase_gate.gate.measured import Remembered
from phase_gate.gate.order import How
from phase_gate.gate.state import WORK, Event
from phase_gate.gate.verdict import Evaluation, Verdict, phase_command, start_command, with_advice
from phase_gate.tasks.work import Failure, Pipeline, Request
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import MAX_RECOVERIES, Phase, PipelineRules, Workflow, requires_of
from phase_gate.workflow.names import DONE, STUCK, look_command, of_task


class PipelineFiles(Value):
    """The files of a pipeline when a phase is entered."""

    #: Digests of artifacts, and of the constitution's files; empty for a missing file.
    artifacts: Mapping[str, str] = field(default_factory=dict)
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: The commit that is checked out; empty if unknown.
    commit: str = ""
    #: Object with the rules, at the beginning of a cycle.
    rules: str = ""


def files_in(remembered: Remembered) -> PipelineFiles:
    """Return the remembered files of the pipeline."""
    files: PipelineFiles = remembered.parts.get(WORK) or PipelineFiles()
    return files


class Way(Value):
    """The phase that follows, how, and by which requests."""

    phase: str
    how: How = "next"
    requests: tuple[Request, ...] = ()


def main_line(workflow: Workflow) -> tuple[str, ...]:
    """Return the phases from the first one to DONE, in order, without recovery phases."""
    names: dict[str, None] = {}
    phase: Phase | None = workflow.first
    while phase is not None and phase.name not in names:
        names[phase.name] = None
        phase = workflow.phase(phase.next)
    return tuple(names)


def following(pipeline: Pipeline, workflow: Workflow, current: Phase) -> Way:
    """Return the way on from a phase after its exit.

    Of the pending requests that lead back from here, the one that leads back farthest is followed. A request with a
    later target waits for that phase: no phase is skipped.
    """
    if current.recovers:
        return Way(phase=pipeline.leads_to or pipeline.failed_phase, how="recovered")
    line = main_line(workflow)
    behind = line[: line.index(current.name) + 1] if current.routes else ()
    due = [request for request in pipeline.pending if request.target in behind]
    due.sort(key=lambda request: behind.index(request.target))
    return Way(phase=due[0].target, how="request", requests=tuple(due)) if due else Way(phase=current.next)


def budget(workflow: Workflow) -> int:
    """Return the number of recoveries that a cycle may use."""
    value = workflow.parameters.get(MAX_RECOVERIES, 0)
    return int(value) if isinstance(value, int | float) else 0


def rules_of(workflow: Workflow) -> PipelineRules:
    return workflow.pipeline or PipelineRules()


def entry_data(
    pipeline: Pipeline, workflow: Workflow, current: Phase | None, phase: Phase, how: str, now: PipelineFiles
) -> dict[str, Any]:
    """Return the data of the event that enters a phase, for the pipeline and the freeze.

    :param pipeline: at the beginning of a cycle, the pipeline of the previous cycle.
    :param current: the phase that the task comes from.
    :param now: the current artifacts and commit.
    """
    artifacts, described = now.artifacts, rules_of(workflow).artifacts
    # An artifact that has to be new in every phase is old as soon as one is entered.
    each_time = [name for name in requires_of(phase).artifacts if described[name].made == "phase"]
    old = {name: [artifacts.get(name, "")] for name in each_time}
    data: dict[str, Any] = {}
    unfreezes = False
    if how in ("begin", "new-cycle"):
        old = {name: [digest] for name, digest in artifacts.items()}
        # Plans may be older than the cycle, except for versions that an earlier cycle used.
        plans = (name for name, each in described.items() if each.made == "anytime")
        old |= {name: [*pipeline.old.get(name, ()), pipeline.made.get(name, "")] for name in plans}
    elif how == "failure":
        old |= {name: [artifacts.get(name, "")] for name in requires_of(phase).artifacts}
        if current is None or not current.recovers:
            data["at_failure"] = dict(artifacts)
    elif how in ("recovered", "guided", "request", "rewind"):
        line = main_line(workflow)
        later = [each for each in workflow.phases if each.name in line[line.index(phase.name) :]]
        anew = dict.fromkeys(name for each in later for name in requires_of(each).artifacts)
        stood = pipeline.at_failure if how in ("recovered", "guided") else artifacts
        old = {name: [*old.get(name, ()), stood.get(name, "")] for name in anew}
        data["anew"] = list(anew)
        # Unless an earlier phase has frozen the tests.
        before = map(workflow.phase, line[: line.index(phase.name)])
        unfreezes = all(each is None or each.scope != "targets" for each in before)
    elif current is not None:
        data["made"] = {name: artifacts.get(name, "") for name in requires_of(current).artifacts}
        if requires_of(current).consensus is not None:
            data["base"] = now.commit
    data["old"] = {
        name: [each for each in dict.fromkeys(digests) if each] for name, digests in old.items() if any(digests)
    }
    entry = {WORK: {name: value for name, value in data.items() if value or name == "base"}}
    return {**entry, "unfreezes": True} if unfreezes else entry


# --- consequences of a verdict in a pipeline: its requests, and the recovery or the end after a failing gate


#: The finding that requests a change: `id` is its type, `proof` identifies the request.
CHANGE_REQUESTED = "change-requested"


class Plan(Value):
    """The consequences of a verdict."""

    requests: tuple[Request, ...] = ()
    failure: Failure | None = None
    #: Why no recovery is left for the failure; empty if there is one.
    stuck: str = ""
    way: Way | None = None


def decide(evaluation: Evaluation, pipeline: Pipeline, workflow: Workflow, phase: Phase) -> Plan:
    """Return the consequences of a verdict; none if it does not count."""
    if evaluation.iteration is None:
        return Plan()
    requests = _raised(evaluation, pipeline, workflow)
    if evaluation.can_exit:
        seen = replace(pipeline, requests=(*pipeline.requests, *requests))
        if phase.recovers:
            target = str(evaluation.metrics.get("recovery_target") or pipeline.failed_phase)
            return Plan(requests=requests, way=Way(phase=target, how="recovered"))
        return Plan(requests=requests, way=following(seen, workflow, phase))
    if phase.on_failure and evaluation.is_premature:
        gate, allowed = evaluation.gate_1, budget(workflow)
        unmet = [guard.name for guard in gate.guards if not guard.passes]
        unmet += [clause.text for clause in gate.clauses if clause.met is not True and clause.group is None]
        reason = what_gate_1_misses(evaluation, workflow, phase)[0]
        failure = Failure(phase=phase.name, error=reason, lines=tuple(unmet))
        stuck = f"all {allowed} recoveries are used up" if pipeline.recoveries >= allowed else ""
        return Plan(requests=requests, failure=failure, stuck=stuck)
    return Plan(requests=requests)


def _raised(evaluation: Evaluation, pipeline: Pipeline, workflow: Workflow) -> tuple[Request, ...]:
    routes = rules_of(workflow).routes
    requests = list(pipeline.requests)
    for finding in evaluation.findings:
        # Whatever the status of an earlier request with the same subject: it is made once.
        is_new = all(each.fingerprint != finding.proof for each in requests)
        if finding.slug == CHANGE_REQUESTED and finding.proof and is_new and finding.id in routes:
            requests.append(
                Request(
                    id=f"CR-{len(requests) + 1}",
                    type=finding.id,
                    title=finding.detail,
                    target=routes[finding.id],
                    by=evaluation.phase,
                    fingerprint=finding.proof,
                )
            )
    return tuple(requests[len(pipeline.requests) :])


# --- texts


def with_pipeline(
    evaluation: Evaluation, pipeline: Pipeline, workflow: Workflow, phase: Phase, *, task: str
) -> Evaluation:
    """Return the verdict with its consequences in reason and next step."""
    plan = decide(evaluation, pipeline, workflow, phase)
    notes = [f"{each.id} ({each.type}) asks for a change: {each.title}" for each in plan.requests]
    if notes:
        evaluation = replace(evaluation, notes=(*evaluation.notes, *notes))
    if plan.failure is not None:
        failed = f"the gate of {phase.name} failed: {plan.failure.error}"
        recover = of_task("phase-gate pipeline recover", task)
        if plan.stuck:
            reason = f"{STUCK}: {failed}; {plan.stuck}. A person is needed"
            return with_advice(evaluation, Verdict("stuck", reason, recover))
        number, allowed = pipeline.recoveries + 1, budget(workflow)
        reason = f"{failed}; {phase.on_failure} begins: recovery {number} of {allowed}"
        return with_advice(evaluation, Verdict("failed", reason, recover))
    if plan.way is None:
        return evaluation
    if plan.way.phase == DONE:
        first = start_command(workflow, task)
        return replace(evaluation, next_command=first, next_hint="starts the next cycle")
    way, reason = plan.way, f"both gates are open: {phase.name} has exited"
    if way.how == "recovered":
        reason += f"; back to {way.phase}"
    elif way.requests:
        named = ", ".join(f"{each.id} ({each.type})" for each in way.requests)
        reason += f"; {named} {'leads' if len(way.requests) == 1 else 'lead'} back to {way.phase}"
    return with_advice(evaluation, Verdict("open", reason, enter_command(workflow, way.phase, task)))


def enter_command(workflow: Workflow, name: str, task: str) -> str:
    """Return the command that enters a phase."""
    phase = workflow.phase(name)
    return look_command(task) if phase is None else phase_command(phase, task)


# --- events


def pipeline_events(
    evaluation: Evaluation,
    pipeline: Pipeline,
    workflow: Workflow,
    phase: Phase,
    *,
    at: str,
    look: Callable[[Phase], Remembered],
) -> tuple[list[Event], dict[str, Any]]:
    """Return the events that follow from a verdict, and the data of its exit event, if it exits.

    :param look: return the state of the project for entering the given phase.
    """
    plan = decide(evaluation, pipeline, workflow, phase)
    events = [made(request, at=at) for request in plan.requests]
    if plan.failure is not None:
        return [*events, *failure_events(pipeline, workflow, phase, plan, at=at, look=look)], {}
    if plan.way is None:
        return events, {}
    exit_data: dict[str, Any] = {"next": plan.way.phase}
    consensus = requires_of(phase).consensus
    if consensus is not None:
        now = files_in(look(phase))
        on = {name: now.artifacts.get(name, "") for name in consensus.on}
        if any(dict(vote.about) == on for vote in pipeline.words):
            exit_data["approved"] = on
    return events, exit_data


def made(request: Request, *, at: str) -> Event:
    data = {name: value for name, value in spell_out(request).items() if name not in ("at", "decided_by", "reason")}
    return Event(kind="request-made", data=data, at=at)


def decided(request: Request, status: str, *, by: str, reason: str, at: str = "") -> Event:
    return Event(kind="request-decided", data={"id": request.id, "status": status, "by": by, "reason": reason}, at=at)


def failure_events(
    pipeline: Pipeline,
    workflow: Workflow,
    phase: Phase,
    plan: Plan,
    *,
    at: str,
    look: Callable[[Phase], Remembered],
) -> list[Event]:
    """Return the events of a gate that failed: the recovery that begins, or the end of the pipeline."""
    entered = workflow.phase(phase.on_failure)
    assert plan.failure is not None, "a gate failed"
    assert entered is not None, "the file was checked"
    now = look(entered)
    files = files_in(now)
    data = {
        "failure": to_json(plan.failure),
        "failed_phase": pipeline.failed_phase if phase.recovers else phase.name,
        "uses_recovery": not plan.stuck,
    }
    if plan.stuck and not phase.recovers:
        # Artifacts may be written before a person gives guidance.
        data["at_failure"] = dict(files.artifacts)
    events = [Event(kind="attempt-failed", data=data, at=at)]
    if plan.stuck:
        return [*events, Event(kind="stuck", data={"phase": phase.name, "reason": plan.stuck}, at=at)]
    entry = {
        "phase": entered.name,
        "how": "failure",
        "remembered": dict(now.phase),
        "run": None,
        **entry_data(pipeline, workflow, phase, entered, "failure", files),
    }
    return [*events, Event(kind="phase-entered", data=entry, at=at)]
