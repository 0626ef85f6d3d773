"""Which phase of a pipeline follows which, and what an entry means for artifacts: every transition there is.

Pure. Declared transitions only: `next`, a request's route, a failure, and the way back from a recovery.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.parts import PIPELINE
from phase_gate.pipeline.model import Pipeline, PipelineFiles, Request
from phase_gate.values import Value
from phase_gate.workflow.model import MAX_RECOVERIES, Artifact, Phase, PipelineRules, Workflow, requires_of


class Way(Value):
    """Where a phase leads, how, and by which requests."""

    phase: str
    how: str = "next"
    requests: tuple[Request, ...] = ()


def main_line(workflow: Workflow) -> tuple[str, ...]:
    """Return the phases from the first one to DONE, in their order; those that only recover are none of them."""
    names: dict[str, None] = {}
    phase: Phase | None = workflow.first
    while phase is not None and phase.name not in names:
        names[phase.name] = None
        phase = workflow.phase(phase.next)
    return tuple(names)


def following(pipeline: Pipeline, workflow: Workflow, current: Phase) -> Way:
    """Return where the phase leads once it has exited."""
    if current.recovers:
        return Way(phase=pipeline.leads_to or pipeline.failed_phase, how="recovered")
    due = due_requests(pipeline, workflow, current)
    if due:
        return Way(phase=due[0].target, how="request", requests=due)
    return Way(phase=current.next)


def due_requests(pipeline: Pipeline, workflow: Workflow, current: Phase) -> tuple[Request, ...]:
    """Return the pending requests that lead back from here, the one that leads back farthest first.

    One whose target is still to come waits for it: nothing is skipped.
    """
    if not current.routes:
        return ()
    line = main_line(workflow)
    here = line.index(current.name)
    due = [request for request in pipeline.pending if request.target in line and line.index(request.target) <= here]
    return tuple(sorted(due, key=lambda request: line.index(request.target)))


def budget(workflow: Workflow) -> int:
    """Return how many recoveries a cycle has."""
    value = workflow.parameters.get(MAX_RECOVERIES, 0)
    return int(value) if isinstance(value, int | float) else 0


def rules_of(workflow: Workflow) -> PipelineRules:
    return workflow.pipeline or PipelineRules()


def artifacts_from(workflow: Workflow, target: str) -> tuple[str, ...]:
    """Return the artifacts that phases ask for from this one on."""
    line = main_line(workflow)
    wanted = (workflow.phase(name) for name in line[line.index(target) :])
    return _names(phase for phase in wanted if phase is not None)


def _names(phases: Iterable[Phase]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for phase in phases for name in requires_of(phase).artifacts))


def entry_data(
    pipeline: Pipeline, workflow: Workflow, current: Phase | None, phase: Phase, how: str, now: PipelineFiles
) -> dict[str, Any]:
    """Return what the event says with which a phase is entered, to the pipeline and about the freeze.

    :param pipeline: where a cycle begins, that of the cycle before.
    :param current: the phase that the task comes from.
    :param now: how the artifacts are, and what git has checked out.
    """
    artifacts, described = now.artifacts, rules_of(workflow).artifacts
    # Whatever has to be new in every phase is old as soon as one is entered.
    each_time = [name for name in requires_of(phase).artifacts if described[name].made == "phase"]
    old = {name: [artifacts.get(name, "")] for name in each_time}
    data: dict[str, Any] = {}
    unfreezes = False
    begins = how in ("begin", "new-cycle", "restart")
    if begins:
        old = {name: [digest] for name, digest in artifacts.items()}
        old |= {name: list(past) for name, past in _used_before(pipeline, how, described).items()}
    elif how == "failure":
        old |= {name: [artifacts.get(name, "")] for name in requires_of(phase).artifacts}
        if current is None or not current.recovers:
            data["at_failure"] = dict(artifacts)
    elif how in ("recovered", "guided", "request", "rewind"):
        anew = artifacts_from(workflow, phase.name)
        stood = pipeline.at_failure if how in ("recovered", "guided") else artifacts
        old = {name: [*old.get(name, ()), stood.get(name, "")] for name in anew}
        data["anew"] = list(anew)
        unfreezes = not _comes_after_red(workflow, phase)
    elif current is not None:
        data["made"] = {name: artifacts.get(name, "") for name in requires_of(current).artifacts}
        if requires_of(current).consensus is not None:
            data["base"] = now.commit
    data["commands"] = new_commands(Pipeline() if begins else pipeline, now)
    data["old"] = {
        name: [each for each in dict.fromkeys(digests) if each] for name, digests in old.items() if any(digests)
    }
    said = {PIPELINE: {name: value for name, value in data.items() if value or name == "base"}}
    return {**said, "unfreezes": True} if unfreezes else said


def new_commands(pipeline: Pipeline, now: PipelineFiles) -> dict[str, str]:
    """Return the commands of checks that are not rules yet."""
    return {name: rule for name, rule in now.commands.items() if name not in pipeline.commands}


def _used_before(past: Pipeline, how: str, described: Mapping[str, Artifact]) -> dict[str, tuple[str, ...]]:
    """Return what earlier cycles used of artifacts that may be older than a cycle; a restart makes all of them old."""
    if how == "restart":
        return {}
    return {
        name: (*past.old.get(name, ()), past.made.get(name, ""))
        for name, each in described.items()
        if each.made == "anytime"
    }


def _comes_after_red(workflow: Workflow, phase: Phase) -> bool:
    """Tell whether tests were frozen by a phase of their own, before this one."""
    line = main_line(workflow)
    before = (workflow.phase(name) for name in line[: line.index(phase.name)])
    return any(each is not None and each.scope == "targets" for each in before)


def rewind_key(pipeline: Pipeline, target: str) -> str:
    """Return what tells one rewind for one failure from another."""
    failure = next((each for each in reversed(pipeline.failures) if each.phase == pipeline.failed_phase), None)
    unmet = () if failure is None else failure.unmet
    return "|".join((pipeline.failed_phase, target, *sorted(unmet)))


def problem_of_rewind(pipeline: Pipeline, workflow: Workflow, target: str) -> str:
    """Say what is wrong with a rewind that a root-cause record asks for; nothing if nothing is."""
    line = main_line(workflow)
    failed = pipeline.failed_phase
    if target not in line:
        return f"{target} is no phase that one can go back to: {', '.join(line)}"
    if failed in line and line.index(target) > line.index(failed):
        return f"{target} lies ahead of {failed}, which failed: nothing is skipped"
    if target != failed and rewind_key(pipeline, target) in pipeline.rewinds:
        return f"going back to {target} was tried for this very failure of {failed}, and did not help"
    return ""
