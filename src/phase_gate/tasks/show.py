"""Show tasks and pipelines: progress, steps, lists of tasks, votes, the route of a pipeline, and why it is stuck.

Only renders values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.measured import Section
from phase_gate.gate.verdict import Evaluation
from phase_gate.tasks.handins import RootCause
from phase_gate.tasks.overview import RECENT, Overview
from phase_gate.tasks.pipeline_steps import VoteStanding
from phase_gate.tasks.requirements import WEIGHTS, vote_command
from phase_gate.tasks.result import (
    architect_status,
    executor_status,
    failure_to_json,
    failures_to_json,
    skip_to_json,
    stats_to_json,
    status_to_json,
    verify_status,
)
from phase_gate.tasks.routing import budget
from phase_gate.tasks.rules import Escalation, escalate, resume_command
from phase_gate.tasks.verify_verdict import advise_task, weak_notes
from phase_gate.tasks.work import NOT_PASSED, Failure, Pipeline, Status, Verification
from phase_gate.visible import count
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import look_command

# --- one verify task

_CELLS = 8
#: The words of a step that has passed, and of one that is in progress.
_PASSED = frozenset({"success", "passed", "approved"})
_GOES_ON = frozenset({"running", "reviewing", "interrupted"})


def progress_bar(verification: Verification) -> str:
    """Return `Gate Progress: [####----] Step 2/3`. A step in progress counts as half of one."""
    done = sum(word in _PASSED for word in _words(verification))
    goes_on = verification.status not in (Status.APPROVED, Status.PENDING, Status.SKIPPED)
    filled = round(_CELLS * (2 * done + goes_on) / 6)
    return f"Gate Progress: [{'#' * filled}{'-' * (_CELLS - filled)}] Step {verification.step}/3"


def step_list(verification: Verification) -> list[str]:
    """Return the three steps with their marks, words and times."""
    check, report, review = verification.check, verification.report, verification.review
    times = (
        verification.began_at if report is None else report.at,
        "" if check is None else check.ended_at or check.at,
        "" if review is None else review.at,
    )
    rows = []
    for number, (name, word, at) in enumerate(
        zip(("Executor", "Verify", "Reviewer"), _words(verification), times, strict=True), start=1
    ):
        mark = "x" if word in _PASSED else "~" if word in _GOES_ON else " " if word == "pending" else "!"
        clock = f" ({at[11:19]})" if at and word != "pending" else ""
        rows.append(f"[{mark}] Step {number}: {name:11} - {word.upper()}{clock}")
    return rows


def draw_task(verification: Verification) -> list[str]:
    """Return a task as the source document draws it, without its name."""
    return ["", progress_bar(verification), "", *step_list(verification), "", f"Status: {verification.status}"]


def _words(verification: Verification) -> tuple[str, str, str]:
    return executor_status(verification), verify_status(verification), architect_status(verification)


def step_rows(
    task: str, verification: Verification, evaluation: Evaluation | None, escalation: Escalation
) -> list[str]:
    """Return the output of a step: the task's status, the reason, and the next command."""
    attempt = f", attempt {verification.attempt}" if verification.attempt else ""
    rows = [f"{verification.spec.name} ({task}){attempt}", *draw_task(verification)]
    if verification.skip is not None:
        rows[-1] = f"Status: {verification.status}, {verification.word}"
    rows += [f"Flagged  {flag}" for flag in verification.flags]
    rows += [f"Weak     {why}" for why in verification.weak_because]
    said = weak_notes(verification)
    rows += [f"Note     {note}" for note in (() if evaluation is None else evaluation.notes) if note not in said]
    if escalation.level > 1 or (escalation.level and verification.status in NOT_PASSED):
        rows.append(f"Level    {escalation.level}: {escalation.reason} ({'; '.join(escalation.actions)})")
    advice = advise_task(verification) if evaluation is None else evaluation
    following = resume_command(verification.spec.wave) if escalation.level > 2 else advice.next_step
    return [*rows, f"Verdict  {advice.verdict}", f"Next     {following}"]


# --- all verify tasks


#: Statuses in which the worker is shown.
_HELD = frozenset({Status.EXECUTING, Status.VERIFYING, *NOT_PASSED})


def task_rows(rows: Iterable[Verification]) -> list[str]:
    """Return one line per task."""
    rows = list(rows)
    width = max((len(row.task) for row in rows), default=0)
    states = max((len(row.word) for row in rows), default=0)
    return [
        f"{row.task:{width}}  {row.word:{states}}  step {row.step}/3  {count(row.attempt, 'attempt')}"
        + (f"  wave {row.wave}" if row.wave else "")
        + (f"  {row.by} since {row.began_at[:19]}Z" if row.by and row.status in _HELD else "")
        + ("  weak" if row.is_weak else "")
        + (f"  {row.commit[:10]}" if row.commit else "")
        for row in rows
    ]


def stats_rows(overview: Overview) -> list[str]:
    """Return the statistics as text."""
    stats = {name.replace("_", " "): value for name, value in stats_to_json(overview).items()}
    current, waves = stats.pop("current gate"), stats.pop("waves")
    rows = [(name, "none yet" if value is None else value) for name, value in stats.items() if value != []]
    if current is not None:
        rows.append(("current gate", f"{current['task']}: {current['status']}, attempt {current['attempt']}"))
    for wave in waves:
        said = overview.halted(wave["name"])
        rows.append(("wave", said or f"{wave['name']}: {len(wave['failing'])} of {wave['tasks']} failing"))
    return [f"{name:12} {value}" for name, value in rows]


def failure_rows(pairs: Iterable[tuple[Verification, Failure]]) -> list[str]:
    """Return the failure log, the latest first."""
    rows: list[str] = []
    for row, failure in pairs:
        rows.append(f"{failure.at[:19]}Z  {row.task}, attempt {failure.attempt}: {failure.type}")
        rows.append(f"  {failure.first_line}")
        if failure.recovered:
            rows.append(f"  recovered: {failure.resolution or 'by a later attempt'}")
    return rows


def describe_task(verification: Verification) -> Section:
    """Return the task as a part of a report."""
    lines = (progress_bar(verification), *step_list(verification), f"Status: {verification.status}")
    weak = (f"Weak: {why}" for why in verification.weak_because)
    return Section(title="Executor, verify command, reviewer", lines=(*lines, *weak))


def render_state(overview: Overview) -> str:
    """Return STATE.md: the verify tasks for people."""
    parts = ["# State of the verification gate", "Written by `phase-gate verify`; changes made here are lost."]
    current = overview.current
    if current is not None:
        escalation = escalate(current, overview.halted(current.wave))
        parts.append(
            "\n".join((f"## Current Task: {current.name}", *draw_task(current))).replace("3: Reviewer ", "3: Architect")
        )
        parts.append(_yaml({"current_task": status_to_json(current, escalation)}))
    parts += ["## Statistics", _yaml({"gate_stats": stats_to_json(overview)})]
    if overview.rows:
        parts += ["## Tasks", "```text\n" + "\n".join(task_rows(overview.rows)) + "\n```"]
    rows = [skip_to_json(row) for row in overview.rows if row.skip is not None]
    if rows:
        forced = sum(row["skip_kind"] is None for row in rows)
        warning = f"Warning: {len(rows)} of {overview.total} tasks did not pass the gate; {forced} of them were forced."
        parts += ["## Not verified", warning, _yaml({"tasks": rows})]
    weak = [row for row in overview.rows if row.weak_because]
    concerns = [{"task": row.name, "status": row.word, "because": list(row.weak_because)} for row in weak]
    if concerns:
        parts += ["## Concerns", _yaml({"concerns": concerns})]
    if overview.failures:
        parts += ["## Failure log", _yaml({"recent_failures": failures_to_json(overview.failures[:RECENT])})]
    return "\n\n".join(parts) + "\n"


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml  # imported here: only STATE.md needs it

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    # A user's text must not end the block.
    return "```yaml\n" + text.replace("```", "'''") + "```"


# --- a pipeline


def vote_rows(votes: VoteStanding) -> list[str]:
    """Return the votes of a phase as text."""
    names, tally = ", ".join(votes.on), votes.tally
    rows = [f"{votes.phase}: {names}, version {votes.version}"]
    for each in tally.counted:
        said = f": {each.reason}" if each.reason else ""
        weight = WEIGHTS[each.answer] * each.confidence
        rows.append(f"  {each.by:12} {each.answer}, {each.confidence:g} sure, weighs {weight:g}{said}")
    rows += [f"  {each.by:12} voted on another version: it does not count" for each in tally.outdated]
    score = "none yet" if tally.score is None else f"{tally.score:.2f}"
    rows.append(
        f"  score        {score} of {votes.threshold:g}; {len(tally.counted)} of {votes.required_voters} voters"
    )
    step = f"change {names}, and let all reviewers vote again; or another reviewer votes"
    if votes.is_reached:
        step = look_command(votes.task)
    elif votes.misses_voters:
        step = f"{vote_command(votes.file, votes.task)}, for the next reviewer"
    return [*rows, f"  next: {step}"]


# --- a stuck pipeline: its failures, their cause and number, and the input that it needs from a person


def stuck_to_json(reason: str, pipeline: Pipeline, workflow: Workflow, cause: RootCause | None) -> dict[str, Any]:
    """Return the report on a pipeline that has ended in STUCK.

    :param cause: the existing root-cause record.
    """
    last, name = pipeline.failures[-1], pipeline.failed_phase
    if cause is not None and cause.failed_phase != name:
        cause = None
    # Prefer guards, which `explain` knows by name, to clauses.
    unmet = next(each for each in reversed(pipeline.failures) if each.phase == name)
    guards = [each for each in unmet.lines if each in workflow.guards] or list(unmet.lines)
    return {
        "reason": reason,
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
            f'Give guidance for {name}: phase-gate pipeline recover resume --reason "..." --by NAME',
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
    told = [f"{each['at']} {each['phase']}: {each['reason']}" for each in failures]
    return [
        ("Current failure", [f"{where}: {last['reason']}", *(f"unmet: {name}" for name in last["unmet"])]),
        ("Root cause", [report["root_cause_summary"]]),
        ("Failed iterations", [f"{len(failures)} gates failed, {used}", *told]),
        ("Required human input", report["required_human_input"]),
    ]
