"""What a phase of a pipeline asks for, and how its votes stand, in rows for people."""

from __future__ import annotations

from typing import Any

from phase_gate.gate.runs import count
from phase_gate.pipeline.consensus import WEIGHTS
from phase_gate.pipeline.model import Pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.votes import VoteStanding
from phase_gate.values import as_dict
from phase_gate.workflow.model import DRIFT, SNAPSHOT, Artifact, Phase, Workflow, requires_of, settle
from phase_gate.workflow.names import look_command

Rows = list[tuple[str, str]]


def needs_of(workflow: Workflow, phase: Phase, pipeline: Pipeline) -> Rows:
    """Return what the phase requires, each with where it lives."""
    rules = rules_of(workflow)
    requires = requires_of(phase)
    rows: Rows = [("artifact", _artifact(rules.artifacts[name])) for name in requires.artifacts]
    rows += [("check", f"{name} (evidence.commands.{name} in phase-gate.yaml)") for name in requires.checks]
    if requires.consensus is not None:
        threshold, voters = settle(requires.consensus.threshold, workflow), settle(requires.consensus.voters, workflow)
        rows.append(
            (
                "consensus",
                f"on {', '.join(requires.consensus.on)}: a score of {threshold:g}, {count(int(voters), 'voter')}; "
                "each votes with phase-gate pipeline vote vote.yaml",
            )
        )
    rows += [("unchanged", f"{name}, as it was agreed on") for name in requires.approved]
    if DRIFT in phase.raises:
        rows.append(("drift", "changes that the plan did not speak of make change requests"))
    pending = len(pipeline.pending)
    if pending:
        rows.append(
            ("requests", f"{count(pending, 'change request')} without a decision: phase-gate pipeline request list")
        )
    return rows


def _artifact(artifact: Artifact) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: phase-gate pipeline snapshot makes it ({artifact.path})"
    wants = []
    if artifact.schema:
        wants.append(f"JSON, schema {artifact.schema}")
    elif artifact.min_words > 1:
        wants.append(f"{artifact.min_words} different words")
    if artifact.pattern:
        wants.append(f"says {artifact.pattern}")
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
        step = "phase-gate pipeline vote vote.yaml, for the next reviewer"
    else:
        step = f"change {names}, and let all reviewers vote again; or another reviewer votes"
    return [*rows, f"  next: {step}"]


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
