"""The requirements of a pipeline's phase, as rows: what to write, and where; and the result of its votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from phase_gate.identities import name_key
from phase_gate.task import Task
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.work import Choice, Pipeline, Word, find_pipeline
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

Rows = list[tuple[str, str]]

_JSON_WORDS: Mapping[str, str] = {
    AUDIT: 'JSON: {"summary": "<what was looked at>", "findings": [...]}, see phase-gate workflow schema audit',
    ROOT_CAUSE: "JSON with failed_phase, summary, root_cause and requires_phase_rewind_to",
}


def needs_in(task: Task, phase: Phase) -> Rows:
    """Return the files and facts that the phase requires, each with its place."""
    workflow, name = task.rules, task.project.task
    current = find_pipeline(task.state) if task.state.phase == phase.name else None
    pipeline, requires = current or Pipeline(), requires_of(phase)
    rows: Rows = [("guidance", said) for said in pipeline.guidance]
    rows += [("artifact", _artifact(rules_of(workflow).artifacts[each])) for each in requires.artifacts]
    if phase.tests != "none":
        wanted = "the whole suite passes" if phase.tests == "passing" else "new tests fail"
        rows.append(("tests", f"{wanted}: {run_command(phase.name, name)}"))
    rows += [("check", f"{each} (evidence.commands.{each} in the settings)") for each in requires.checks]
    if requires.consensus is not None:
        threshold, voters = settle(requires.consensus.threshold, workflow), settle(requires.consensus.voters, workflow)
        said = (
            f"on {', '.join(requires.consensus.on)}: a score of {threshold:g}, {count(int(voters), 'voter')}; "
            f"each writes vote (approve, conditional or reject), confidence (0 to 1), by and reason as YAML, then "
            f"{vote_command(vote_file(workflow, requires.consensus), name)}"
        )
        rows.append(("consensus", said))
    rows += [("unchanged", f"{each}, as approved") for each in requires.approved]
    if "code-as-tested" in phase.gate_1.guards:
        rows.append(("tested", "no change to the files since the last green run of the whole suite"))
    if DRIFT in phase.raises:
        rows.append(("history", "commits in git to compare with: each change outside the plan needs a change request"))
    if pending := len(pipeline.pending):
        said = f"{count(pending, 'change request')} without a decision: phase-gate pipeline request list"
        rows.append(("requests", said))
    elif "no-pending-request" in phase.gate_1.guards:
        rows.append(("requests", "none may wait for a decision"))
    return rows


def _artifact(artifact: Artifact) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: phase-gate advance writes it ({artifact.path})"
    wants = [_JSON_WORDS[artifact.schema]] if artifact.schema else []
    if not artifact.schema and artifact.min_words > 1:
        wants.append(f"{artifact.min_words} different words")
    if artifact.line:
        wants.append(f'a line "{artifact.line}"')
    return f"{artifact.name}: {artifact.path}" + (f" ({'; '.join(wants)})" if wants else "")


def missing_commands(task: Task, workflow: Workflow) -> str:
    """Return the checks of the workflow without a command, each with its first phase; empty if each has one."""
    commands = task.project.configuration.evidence.commands
    wanted = {name: phase.name for phase in reversed(workflow.phases) for name in requires_of(phase).checks}
    missing = [f"{name} (for {phase})" for name, phase in wanted.items() if name not in commands]
    return f"checks without a command: {', '.join(sorted(missing))}" if missing else ""


def vote_file(workflow: Workflow, consensus: Consensus) -> str:
    """Return a path for a reviewer's vote: next to the artifact, because a vote is not part of the code."""
    first = rules_of(workflow).artifacts[consensus.on[0]]
    folders = [part for part in PurePosixPath(first.path).parts[:-1] if not set(part) & set("*?[")]
    return "/".join((*folders, "vote.yaml"))


def vote_command(file: str, task: str) -> str:
    return f"phase-gate pipeline vote {file}" + ("" if task == "default" else f" --task {task}")


def root_cause_record(failed_phase: str) -> dict[str, Any]:
    """Return a root-cause record to fill in."""
    return {
        "failed_phase": failed_phase,
        "summary": "<what happened, in a sentence>",
        "root_cause": "<why it happened>",
        "requires_phase_rewind_to": None,
    }


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
