"""What a phase of a pipeline asks for, and how its votes stand, in rows for people and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from phase_gate.pipeline.model import WEIGHTS, Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.skeletons import vote_file, words_of_artifact
from phase_gate.pipeline.votes import VoteStanding
from phase_gate.values import as_dict
from phase_gate.visible import count
from phase_gate.workflow.model import DRIFT, SNAPSHOT, Artifact, Phase, Workflow, requires_of, settle
from phase_gate.workflow.names import look_command, run_command

Rows = list[tuple[str, str]]


def needs_of(
    workflow: Workflow,
    phase: Phase,
    pipeline: Pipeline,
    *,
    task: str = "default",
    commands: Collection[str] | None = None,
) -> Rows:
    """Return the files and facts that the phase requires, each with where it lives.

    :param commands: the checks that the project has a command for; where left out, that is not looked at.
    """
    rules = rules_of(workflow)
    requires = requires_of(phase)
    rows: Rows = [("guidance", pipeline.guidance)] if pipeline.guidance else []
    rows += [("artifact", _artifact(rules.artifacts[name])) for name in requires.artifacts]
    if phase.tests != "none":
        wanted = "the whole suite passes" if phase.tests == "passing" else "new tests fail"
        rows.append(("tests", f"{wanted}: {run_command(phase.name, task)}"))
    rows += [("check", _check(name, is_set=commands is None or name in commands)) for name in requires.checks]
    if requires.consensus is not None:
        threshold, voters = settle(requires.consensus.threshold, workflow), settle(requires.consensus.voters, workflow)
        rows.append(
            (
                "consensus",
                f"on {', '.join(requires.consensus.on)}: a score of {threshold:g}, {count(int(voters), 'voter')}; "
                f"each votes with {_vote_command(vote_file(workflow, requires.consensus), task)}",
            )
        )
    rows += [("unchanged", f"{name}, as it was agreed on") for name in requires.approved]
    if "code-as-tested" in phase.gate_1.guards:
        rows.append(("tested", "the files as the last green run of the whole suite left them"))
    if DRIFT in phase.raises:
        rows.append(
            ("history", "commits in git to compare with: what the plan did not speak of makes a change request")
        )
    pending = len(pipeline.pending)
    if pending:
        rows.append(
            ("requests", f"{count(pending, 'change request')} without a decision: phase-gate pipeline request list")
        )
    elif "no-pending-request" in phase.gate_1.guards:
        rows.append(("requests", "none may wait for a decision"))
    missing = "" if commands is None else missing_commands(workflow, commands)
    return [*rows, ("warning", missing)] if missing else rows


def missing_commands(workflow: Workflow, commands: Collection[str]) -> str:
    """Say which checks of the pipeline have no command; nothing if each has one."""
    wanted: dict[str, str] = {}
    for phase in workflow.phases:
        for name in requires_of(phase).checks:
            if name not in commands:
                wanted.setdefault(name, phase.name)
    if not wanted:
        return ""
    named = ", ".join(f"{name} (for {phase})" for name, phase in wanted.items())
    example = next(iter(wanted))
    verb = "has" if len(wanted) == 1 else "have"
    return f"{named} {verb} no command: add it to phase-gate.yaml, evidence: {{commands: {{{example}: {{run: ...}}}}}}"


def _check(name: str, *, is_set: bool) -> str:
    place = f"evidence.commands.{name} in phase-gate.yaml"
    return f"{name} ({place})" if is_set else f"{name}: no command yet, add {place}"


def _vote_command(file: str, task: str) -> str:
    return f"phase-gate pipeline vote {file}" + ("" if task == "default" else f" --task {task}")


def _artifact(artifact: Artifact) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: phase-gate pipeline snapshot makes it ({artifact.path})"
    wants = words_of_artifact(artifact)
    return f"{artifact.name}: {artifact.path}" + (f" ({'; '.join(wants)})" if wants else "")


def vote_rows(votes: VoteStanding) -> list[str]:
    """Return how the votes of a phase stand, for people."""
    names, tally = ", ".join(votes.on), votes.tally
    rows = [f"{votes.phase}: {names}, version {votes.version}"]
    for each in tally.counted:
        said = f": {each.reason}" if each.reason else ""
        weight = WEIGHTS[each.vote] * each.confidence
        rows.append(f"  {each.by:12} {each.vote}, {each.confidence:g} sure, weighs {weight:g}{said}")
    rows += [f"  {each.by:12} voted on another version: it does not count" for each in tally.outdated]
    score = "none yet" if tally.score is None else f"{tally.score:.2f}"
    rows.append(
        f"  score        {score} of {votes.threshold:g}; {len(tally.counted)} of {votes.required_voters} voters"
    )
    if votes.is_reached:
        step = look_command(votes.task)
    elif votes.misses_voters:
        step = f"{_vote_command(votes.file, votes.task)}, for the next reviewer"
    else:
        step = f"change {names}, and let all reviewers vote again; or another reviewer votes"
    return [*rows, f"  next: {step}"]


def pipeline_to_json(pipeline: Pipeline) -> dict[str, Any]:
    """Return where the pipeline stands, in the names of the source document."""
    return {
        "pendingChangeRequests": [
            {"cr_id": each.id, "change_type": each.type, "target_phase": each.target, "status": each.status}
            for each in pipeline.pending
        ],
        "failedPhase": pipeline.failed_phase or None,
    }


def votes_to_json(votes: VoteStanding) -> dict[str, Any]:
    return {
        "phase": votes.phase,
        "on": dict(votes.on),
        "version": votes.version,
        "score": votes.tally.score,
        "threshold": votes.threshold,
        "voters": len(votes.tally.counted),
        "required_voters": votes.required_voters,
        "reached": votes.is_reached,
        "votes": [as_dict(each) for each in votes.tally.counted],
        "outdated": [as_dict(each) for each in votes.tally.outdated],
    }


# --- a verdict as the gate result of the phase gate engine's document, and how two of them are merged


#: What only the writer of the file knows: a merge keeps it.
_KEPT = ("score", "consensusScore")


def gate_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation's document as a gate result. A score that was not measured is left out."""
    gate = evaluation["gate_1"]
    closed = [guard for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]]
    unmet = [clause for clause in gate["clauses"] if clause["met"] is not True and clause["group"] is None]
    blockers = [f"{guard['name']}: {guard['detail']}" for guard in closed]
    blockers += [f"{clause['text']} ({clause['shown'] or 'not measured'})" for clause in unmet]
    if not gate["open"] and not blockers:
        blockers = [evaluation["reason"]]
    result: dict[str, Any] = {
        "phase": evaluation["phase"],
        "pass": gate["open"],
        "blockers": blockers,
        "missingArtifacts": _named(evaluation, "artifacts-made"),
        "failedChecks": _named(evaluation, "checks-passed"),
        "timestamp": evaluation["timestamp"],
    }
    score = evaluation["metrics"].get("consensus_score")
    return result if score is None else {**result, "score": score, "consensusScore": score}


def _named(evaluation: Mapping[str, Any], slug: str) -> list[str]:
    return [row["id"] for row in evaluation["findings"] if row["slug"] == slug]


def merge_gate_results(handler: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return one result of two: scores are the handler's where it gave them, all that decides is the engine's."""
    return {**engine, **{name: handler[name] for name in _KEPT if handler.get(name) is not None}}
