"""The requirements of a pipeline's phase, as rows: what to write, and where; and the result of its votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.state import State
from phase_gate.task import Task
from phase_gate.tasks.artifacts import Artifacts, fingerprint
from phase_gate.tasks.handins import RootCause
from phase_gate.tasks.routing import budget, rules_of
from phase_gate.tasks.work import Choice, Failure, Pipeline, Word, find_pipeline, pipeline_of
from phase_gate.values import Value
from phase_gate.visible import count, name_key
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
from phase_gate.workflow.names import look_command, of_task, run_command

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
    rows: Rows = [("guidance", text) for text in pipeline.guidance]
    rows += [("artifact", _artifact(rules_of(workflow).artifacts[each], name)) for each in requires.artifacts]
    if phase.tests != "none":
        wanted = "the whole suite passes" if phase.tests == "passing" else "new tests fail"
        rows.append(("tests", f"{wanted}: {run_command(phase.name, name)}"))
    rows += [("check", f"{each} (evidence.commands.{each} in the settings)") for each in requires.checks]
    if requires.consensus is not None:
        threshold, voters = settle(requires.consensus.threshold, workflow), settle(requires.consensus.voters, workflow)
        text = (
            f"on {', '.join(requires.consensus.on)}: a score of {threshold:g}, {count(int(voters), 'voter')}; "
            f"each writes vote (approve, conditional or reject), confidence (0 to 1), by and reason as YAML, then "
            f"{vote_command(name)}"
        )
        rows.append(("consensus", text))
    rows += [("unchanged", f"{each}, as approved") for each in requires.approved]
    if "code-as-tested" in phase.gate_1.guards:
        rows.append(("tested", "no change to the files since the last green run of the whole suite"))
    if DRIFT in phase.raises:
        rows.append(("history", "commits in git to compare with: each change outside the plan needs a change request"))
    if pending := len(pipeline.pending):
        look = of_task("phase-gate pipeline request list", name)
        rows.append(("requests", f"{count(pending, 'change request')} without a decision: {look}"))
    elif "no-pending-request" in phase.gate_1.guards:
        rows.append(("requests", "none may wait for a decision"))
    return rows


def _artifact(artifact: Artifact, task: str) -> str:
    if artifact.schema == SNAPSHOT:
        return f"{artifact.name}: {look_command(task)} writes it ({artifact.path})"
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


def vote_command(task: str) -> str:
    return of_task("phase-gate pipeline vote FILE", task)


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


#: Characters of a version that people type.
_VERSION = 12


class Votes(Value):
    """The result of the votes on the current version."""

    #: Digests of the artifacts that are voted on.
    on: Mapping[str, str]
    #: None without a vote, which is different from 0.
    score: float | None
    counted: tuple[Word, ...] = ()
    #: Votes on another version: they do not count.
    outdated: tuple[Word, ...] = ()
    threshold: float = 0.0
    required_voters: int = 0

    @property
    def version(self) -> str:
        """An id of this version, short enough to type."""
        return fingerprint(*(part for pair in sorted(self.on.items()) for part in pair))[:_VERSION]

    @property
    def misses_voters(self) -> bool:
        return len(self.counted) < self.required_voters

    @property
    def is_reached(self) -> bool:
        return self.score is not None and self.score >= self.threshold and not self.misses_voters


def count_votes(
    words: Iterable[Word], on: Mapping[str, str], *, threshold: float = 0.0, required_voters: int = 0
) -> Votes:
    """Return the result of the votes.

    :param on: current digests of the artifacts to agree on. No vote counts if one of them is empty.
    """
    last = {name_key(vote.by): vote for vote in words}.values()
    counted = tuple(vote for vote in last if dict(vote.about) == dict(on) and all(on.values()))
    score = sum(WEIGHTS[vote.answer] * vote.confidence for vote in counted) / len(counted) if counted else None
    return Votes(
        on=on,
        score=None if score is None else round(score, 6),
        counted=counted,
        outdated=tuple(vote for vote in last if vote not in counted),
        threshold=threshold,
        required_voters=required_voters,
    )


def votes_on(look: Artifacts, workflow: Workflow, consensus: Consensus) -> Votes:
    """Return the result of the votes on the artifacts as they are now."""
    return count_votes(
        look.pipeline.words,
        {name: look.digest(name) for name in consensus.on},
        threshold=settle(consensus.threshold, workflow),
        required_voters=int(settle(consensus.voters, workflow)),
    )


# --- the status of a pipeline, as rows and documents


def vote_rows(votes: Votes, phase: str, task: str) -> list[str]:
    """Return the votes of a phase as text."""
    names = ", ".join(votes.on)
    rows = [f"{phase}: {names}, version {votes.version}"]
    for each in votes.counted:
        reason = f": {each.reason}" if each.reason else ""
        weight = WEIGHTS[each.answer] * each.confidence
        rows.append(f"  {each.by:12} {each.answer}, {each.confidence:g} sure, weighs {weight:g}{reason}")
    rows += [f"  {each.by:12} voted on another version: it does not count" for each in votes.outdated]
    score = "none yet" if votes.score is None else f"{votes.score:.2f}"
    rows.append(
        f"  score        {score} of {votes.threshold:g}; {len(votes.counted)} of {votes.required_voters} voters"
    )
    step = f"change {names}, and let all reviewers vote again; or another reviewer votes"
    if votes.is_reached:
        step = look_command(task)
    elif votes.misses_voters:
        step = f"{vote_command(task)}, for the next reviewer"
    return [*rows, f"  next: {step}"]


# --- a stuck pipeline: its failures, their cause and number, and the input that it needs from a person


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """Return the failure of a phase's gate."""
    return {"phase": failure.phase, "reason": failure.error, "unmet": list(failure.lines), "at": failure.at}


_GUIDE = 'phase-gate pipeline recover resume --reason "..." --by NAME'


def stuck_to_json(state: State, workflow: Workflow, cause: RootCause | None) -> dict[str, Any]:
    """Return the report on a pipeline that has ended in STUCK.

    :param cause: the existing root-cause record.
    """
    pipeline = pipeline_of(state)
    last, name = pipeline.failures[-1], pipeline.failed_phase
    if cause is not None and cause.failed_phase.upper() != name:
        cause = None
    # Prefer guards, which `explain` knows by name, to clauses.
    unmet = next(each for each in reversed(pipeline.failures) if each.phase == name)
    guards = [each for each in unmet.lines if each in workflow.guards] or list(unmet.lines)
    return {
        "reason": state.stuck,
        "current_failure": failure_to_json(last),
        "failed_phase": name,
        "root_cause_summary": "not recorded" if cause is None else f"{cause.summary}: {cause.root_cause}",
        "failed_iterations": len(pipeline.failures),
        "recoveries": pipeline.recoveries,
        "max_recoveries": budget(workflow),
        "failures": [failure_to_json(each) for each in pipeline.failures],
        "required_human_input": [
            *([cause.required_human_input] if cause is not None and cause.required_human_input else ()),
            f"Decide how the gate of {name} can open: {', '.join(guards) or unmet.error}",
            f"Give guidance for {name}: {of_task(_GUIDE, state.task)}",
        ],
    }


def stuck_sections(report: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the report as headings with rows."""
    last, failures = report["current_failure"], report["failures"]
    where = (
        last["phase"]
        if last["phase"] == report["failed_phase"]
        else f"{last['phase']}, which {report['failed_phase']} led to"
    )
    used = f"{report['recoveries']} of {report['max_recoveries']} recoveries are used up"
    iterations = [f"{each['at']} {each['phase']}: {each['reason']}" for each in failures]
    return [
        ("Current failure", [f"{where}: {last['reason']}", *(f"unmet: {name}" for name in last["unmet"])]),
        ("Root cause", [report["root_cause_summary"]]),
        ("Failed iterations", [f"{len(failures)} gates failed, {used}", *iterations]),
        ("Required human input", report["required_human_input"]),
    ]


def pipeline_to_json(pipeline: Pipeline) -> dict[str, Any]:
    """Return the status of the pipeline."""
    return {
        "pendingChangeRequests": [
            {"cr_id": each.id, "change_type": each.type, "target_phase": each.target, "status": each.status}
            for each in pipeline.pending
        ],
        "failedPhase": pipeline.failed_phase or None,
    }


def votes_to_json(votes: Votes, phase: str) -> dict[str, Any]:
    return {
        "phase": phase,
        "on": dict(votes.on),
        "version": votes.version,
        "score": votes.score,
        "threshold": votes.threshold,
        "voters": len(votes.counted),
        "required_voters": votes.required_voters,
        "reached": votes.is_reached,
        "votes": [_vote(each) for each in votes.counted],
        "outdated": [_vote(each) for each in votes.outdated],
    }


def _vote(word: Word) -> dict[str, Any]:
    fields = {name: getattr(word, name) for name in ("by", "confidence", "reason", "at")}
    return {**fields, "vote": word.answer, "on": dict(word.about)}


def phase_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation's document as a gate result, without scores that were not measured."""
    gate = evaluation["gate_1"]
    closed = [guard for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]]
    unmet = [clause for clause in gate["clauses"] if clause["met"] is not True and clause["group"] is None]
    blockers = [f"{guard['name']}: {guard['detail']}" for guard in closed]
    blockers += [f"{clause['text']} ({clause['shown'] or 'not measured'})" for clause in unmet]
    if not gate["open"] and not blockers:
        blockers = [evaluation["reason"]]
    found: dict[str, list[str]] = {"artifacts-made": [], "checks-passed": []}
    for row in evaluation["findings"]:
        found.setdefault(row["slug"], []).append(row["id"])
    result: dict[str, Any] = {
        "phase": evaluation["phase"],
        "pass": gate["open"],
        "blockers": blockers,
        "missingArtifacts": found["artifacts-made"],
        "failedChecks": found["checks-passed"],
        "timestamp": evaluation["timestamp"],
    }
    score = evaluation["metrics"].get("consensus_score")
    return result if score is None else {**result, "score": score, "consensusScore": score}


def merge_gate_results(handler: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two results: scores are the handler's, if it has them; everything else is the engine's."""
    kept = ("score", "consensusScore")
    return {**engine, **{name: handler[name] for name in kept if handler.get(name) is not None}}
