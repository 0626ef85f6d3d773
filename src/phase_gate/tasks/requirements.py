"""The requirements of a pipeline's phase, as rows: what to write, and where. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from phase_gate.identities import name_key
from phase_gate.task import Task
from phase_gate.tasks.artifacts import words_of_line
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.work import Choice, Pipeline, Word, pipeline_of
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.model import (
    AUDIT,
    DRIFT,
    ROOT_CAUSE,
    SNAPSHOT,
    Artifact,
    Consensus,
    Phase,
    Workflow,
    requires_of,
    settle,
)
from phase_gate.workflow.names import run_command

_JSON_WORDS: Mapping[str, str] = {
    AUDIT: 'JSON: {"summary": "<what was looked at>", "findings": [...]}, see phase-gate workflow schema audit',
    ROOT_CAUSE: "JSON with failed_phase, summary, root_cause and requires_phase_rewind_to",
}


def words_of_artifact(artifact: Artifact) -> tuple[str, ...]:
    """Return the requirements of the artifact's content, one text each."""
    wants = []
    if artifact.schema:
        wants.append(_JSON_WORDS[artifact.schema])
    elif artifact.min_words > 1:
        wants.append(f"{artifact.min_words} different words")
    if artifact.line:
        wants.append(f"a {words_of_line(artifact)}")
    return tuple(wants)


def vote_file(workflow: Workflow, consensus: Consensus) -> str:
    """Return a path for a reviewer's vote: next to the artifact, because a vote is not part of the code."""
    first = rules_of(workflow).artifacts[consensus.on[0]]
    folders = [part for part in PurePosixPath(first.path).parts[:-1] if not _is_glob(part)]
    return "/".join((*folders, "vote.yaml"))


def root_cause_record(failed_phase: str) -> dict[str, Any]:
    """Return a root-cause record to fill in."""
    return {
        "failed_phase": failed_phase,
        "summary": "<what happened, in a sentence>",
        "root_cause": "<why it happened>",
        "requires_phase_rewind_to": None,
    }


def _is_glob(part: str) -> bool:
    return any(character in part for character in "*?[")


# --- the requirements of a pipeline's current phase: rows that list them, and files to fill in


Rows = list[tuple[str, str]]


def needs_of(
    workflow: Workflow,
    phase: Phase,
    pipeline: Pipeline,
    *,
    task: str = "default",
    commands: Collection[str] | None = None,
) -> Rows:
    """Return the files and facts that the phase requires, each with its place.

    :param commands: the checks that the project has a command for; None to skip that check.
    """
    rules = rules_of(workflow)
    requires = requires_of(phase)
    rows: Rows = [("guidance", said) for said in pipeline.guidance]
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
                f"each writes vote (approve, conditional or reject), confidence (0 to 1), by and reason as YAML, then "
                f"{vote_command(vote_file(workflow, requires.consensus), task)}",
            )
        )
    rows += [("unchanged", f"{name}, as approved") for name in requires.approved]
    if "code-as-tested" in phase.gate_1.guards:
        rows.append(("tested", "no change to the files since the last green run of the whole suite"))
    if DRIFT in phase.raises:
        rows.append(("history", "commits in git to compare with: each change outside the plan needs a change request"))
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
    """Return a warning about checks of the pipeline without a command; empty if each has one."""
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
    return f"{named} {verb} no command: add it to the settings, evidence: {{commands: {{{example}: {{run: ...}}}}}}"


def _check(name: str, *, is_set: bool) -> str:
    place = f"evidence.commands.{name} in the settings"
    return f"{name} ({place})" if is_set else f"{name}: no command yet, add {place}"


def vote_command(file: str, task: str) -> str:
    return f"phase-gate pipeline vote {file}" + ("" if task == "default" else f" --task {task}")


def _artifact(artifact: Artifact) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: phase-gate advance writes it ({artifact.path})"
    wants = words_of_artifact(artifact)
    return f"{artifact.name}: {artifact.path}" + (f" ({'; '.join(wants)})" if wants else "")


def needs_in(task: Task, phase: Phase) -> Rows:
    """Return the files and facts that a phase of the current cycle requires."""
    commands = task.project.configuration.evidence.commands.keys()
    return needs_of(task.rules, phase, pipeline_of(task.state), task=task.project.task, commands=commands)


# --- the consensus of reviewers


#: The weight of a vote, multiplied by the reviewer's confidence.
WEIGHTS: Mapping[Choice, float] = {"approve": 1.0, "conditional": 0.5, "reject": 0.0}


class Tally(Value):
    """The result of the votes on the current version."""

    #: None without a vote, which is different from 0.
    score: float | None
    counted: tuple[Word, ...] = ()
    #: Votes on another version: they do not count.
    outdated: tuple[Word, ...] = ()


def count_votes(votes: Iterable[Word], on: Mapping[str, str]) -> Tally:
    """Return the result of the votes.

    :param on: current digests of the artifacts to agree on. No vote counts if one of them is empty.
    """
    last = {name_key(vote.by): vote for vote in votes}.values()
    counted = tuple(vote for vote in last if dict(vote.about) == dict(on) and all(on.values()))
    outdated = tuple(vote for vote in last if vote not in counted)
    score = sum(WEIGHTS[vote.answer] * vote.confidence for vote in counted) / len(counted) if counted else None
    return Tally(score=None if score is None else round(score, 6), counted=counted, outdated=outdated)
