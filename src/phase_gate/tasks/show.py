"""Show verify tasks: their status, evidence, statistics and failures as documents and as rows, and STATE.md.

Only renders values. The names are from the source document, followed by our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.codec import spell_out_each
from phase_gate.gate.measured import Section
from phase_gate.gate.verdict import Evaluation
from phase_gate.tasks.rules import (
    FAILURES,
    RECENT,
    Escalation,
    Overview,
    escalate,
    needs_manual_review,
    resume_command,
    seconds_between,
)
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import FINISHED, NOT_PASSED, Failure, Status, Verification
from phase_gate.values import as_dict
from phase_gate.visible import count

# --- a verify task


def step_statuses(verification: Verification) -> dict[str, str]:
    """Return the status of each step, with the source document's names and words."""
    report, check, status = verification.report, verification.check, verification.status
    executor = {Status.EXECUTING: "running", Status.FAILED: "failure"}.get(status, "pending")
    if report is not None:
        executor = str(report.result["status"])
        executor = "failure" if executor == "success" and not report.result["done_criteria_met"] else executor
    verify = "pending" if check is None else "passed" if check.passes else "failed"
    if verification.skip is not None and verify != "passed":
        verify = "skipped"
    elif check is not None and not check.has_ended:
        verify = "running" if check.how == "running" else "interrupted"  # then it has to run again
    words = {Status.REVIEWING: "reviewing", Status.APPROVED: "approved", Status.REJECTED: "rejected"}
    return {"executor_status": executor, "verify_status": verify, "architect_status": words.get(status, "pending")}


def status_to_json(verification: Verification, escalation: Escalation) -> dict[str, Any]:
    """Return the status of a task with the document's fields."""
    spec = verification.spec
    document: dict[str, Any] = {
        "name": spec.name,
        "task": verification.task,
        "files": list(spec.files),
        "depends_on": list(spec.depends_on),
        "phase": spec.phase or None,
        "plan": spec.plan or None,
        "wave": spec.wave or None,
        "status": verification.word,
        "gate_status": str(verification.status),
        "gate_step": verification.step,
        **step_statuses(verification),
        "started_at": verification.began_at or None,
        "last_step_at": verification.last_step_at or None,
        "worker": verification.by or None,
        "attempt": verification.attempt,
        "max_attempts": FAILURES,
        "previous_failures": spell_out_each(verification.failures),
        "weak_because": list(verification.weak_because),
        "flags": list(verification.flags),
        "needs_manual_review": needs_manual_review(verification),
        "escalation": {**as_dict(escalation), "actions": list(escalation.actions)},
        "commit_sha": verification.commit or None,
    }
    return document | (skip_to_json(verification) if verification.skip is not None else {})


def skip_to_json(verification: Verification) -> dict[str, Any]:
    """Return the entry of a task that a person took out of the gate."""
    skip = verification.skip
    assert skip is not None
    return {
        "name": verification.spec.name,
        "status": verification.word,
        "skip_kind": skip.kind or None,
        "skip_reason": skip.reason,
        "skipped_by": skip.by,
        "skipped_at": skip.at,
        "user_risk": skip.kind == "time-pressure",
        "requires_manual_commit": True,
    }


def evidence_chain(verification: Verification, output: str) -> dict[str, Any]:
    """Return the evidence of each step; None for a step that has not been taken yet.

    :param output: the output of the verify command, as far as it is stored.
    """
    chain: dict[str, Any] = {"executor": None, "verify": None, "architect": None}
    report, check, review = verification.report, verification.check, verification.review
    if report is not None:
        chain["executor"] = {**report.result, "by": report.by, "timestamp": report.at}
    if check is not None:
        chain["verify"] = {
            **{name: getattr(check, name) for name in ("command", "exit_code", "how", "tests")},
            "output": output,
            "timestamp": check.at,
            "duration_ms": round(check.seconds * 1000),
            "runs": list(check.runs),
            "tree": check.after,
            "evidence": check.id,
            "problems": [{"slug": slug, "text": text} for slug, text in check.problems],
            "flags": list(check.flags),
        }
    if review is not None:
        chain["architect"] = {**review.said, "by": review.by, "timestamp": review.at}
    return chain


def gate_result(verification: Verification, output: str, *, state_updated: bool) -> dict[str, Any]:
    """Return the gate's result with the document's fields. The outcome is None while it is open."""
    status = verification.status
    ended = verification.last_step_at if status in FINISHED | NOT_PASSED else ""
    if verification.review is not None:
        ended = verification.review.at
    took = seconds_between(verification.began_at, ended) if ended and verification.began_at else None
    return {
        "gate_result": {
            "task": verification.spec.name,
            **evidence_chain(verification, output),
            "outcome": "PASSED" if status is Status.APPROVED else "FAILED" if status in NOT_PASSED else None,
            "status": verification.word,
            "attempt": verification.attempt,
            "weak_because": list(verification.weak_because),
            "duration_ms": None if took is None else round(1000 * took),
            "timestamp": ended or None,
            "commit_sha": verification.commit or None,
            "state_updated": state_updated,
        }
    }


# --- all verify tasks


def stats_to_json(overview: Overview) -> dict[str, Any]:
    """Return the statistics with the document's names, followed by our own."""
    counts, current, tries = overview.counts, overview.current, [row.attempt for row in overview.rows if row.attempt]
    decided = counts["passed"] + counts["failed"] + len(overview.damaged)
    return {
        "total_tasks": overview.total,
        **counts,
        "weak_passes": sum(row.is_weak for row in overview.rows),
        "not_trusted": list(overview.damaged),
        "pass_rate": f"{100 * counts['passed'] / decided:.0f}%" if decided else None,
        "avg_attempts": round(sum(tries) / len(tries), 1) if tries else None,
        "current_gate": None
        if current is None
        else {"task": current.name, "status": str(current.status), "attempt": current.attempt},
        "waves": [
            {
                "name": wave,
                "tasks": sum(row.wave == wave for row in overview.rows),
                "failing": failing,
                "halted": bool(overview.halted(wave)),
            }
            for wave, failing in overview.waves.items()
        ],
    }


def failures_to_json(pairs: Iterable[tuple[Verification, Failure]]) -> list[dict[str, Any]]:
    """Return the failure log with the document's names."""
    return [
        {
            "task": row.name,
            "failure_type": str(failure.type),
            **{name: getattr(failure, name) for name in ("attempt", "step", "error", "recovered", "at")},
            "resolution": failure.resolution or None,
        }
        for row, failure in pairs
    ]


# --- one verify task

_CELLS = 8
#: The marks of a step that has passed, that is in progress, and that has not begun; `!` for any other.
_MARKS = {"pending": " "} | dict.fromkeys(("success", "passed", "approved"), "x")
_MARKS |= dict.fromkeys(("running", "reviewing", "interrupted"), "~")


def draw_task(verification: Verification) -> list[str]:
    """Return a task as the source document draws it, without its name. A step in progress counts as half of one."""
    check, report, review = verification.check, verification.report, verification.review
    words = tuple(step_statuses(verification).values())
    marks = [_MARKS.get(word, "!") for word in words]
    goes_on = verification.status not in (Status.APPROVED, Status.PENDING, Status.SKIPPED)
    filled = round(_CELLS * (2 * marks.count("x") + goes_on) / 6)
    bar = f"Gate Progress: [{'#' * filled}{'-' * (_CELLS - filled)}] Step {verification.step}/3"
    times = (
        verification.began_at if report is None else report.at,
        "" if check is None else check.ended_at or check.at,
        "" if review is None else review.at,
    )
    rows = []
    for number, name in enumerate(("Executor", "Verify", "Reviewer")):
        word, at = words[number], times[number]
        clock = f" ({at[11:19]})" if at and word != "pending" else ""
        rows.append(f"[{marks[number]}] Step {number + 1}: {name:11} - {word.upper()}{clock}")
    return ["", bar, "", *rows, "", f"Status: {verification.status}"]


def step_rows(verification: Verification, evaluation: Evaluation | None, escalation: Escalation) -> list[str]:
    """Return the output of a step: the task's status, the reason, and the next command."""
    attempt = f", attempt {verification.attempt}" if verification.attempt else ""
    rows = [f"{verification.name} ({verification.task}){attempt}", *draw_task(verification)]
    if verification.skip is not None:
        rows[-1] = f"Status: {verification.status}, {verification.word}"
    rows += [f"Flagged  {flag}" for flag in verification.flags]
    rows += [f"Weak     {why}" for why in verification.weak_because]
    rows += [f"Note     {note}" for note in (() if evaluation is None else evaluation.notes)]
    if escalation.level > 1 or (escalation.level and verification.status in NOT_PASSED):
        rows.append(f"Level    {escalation.level}: {escalation.reason} ({'; '.join(escalation.actions)})")
    advice = advise_task(verification) if evaluation is None else evaluation
    following = resume_command(verification.spec.wave) if escalation.level > 2 else advice.next_step
    return [*rows, f"Verdict  {advice.verdict}", f"Next     {following}"]


# --- all verify tasks


def task_rows(rows: Iterable[Verification]) -> list[str]:
    """Return one line per task."""
    rows = list(rows)
    width = max((len(row.task) for row in rows), default=0)
    states = max((len(row.word) for row in rows), default=0)
    return [
        f"{row.task:{width}}  {row.word:{states}}  step {row.step}/3  {count(row.attempt, 'attempt')}"
        + (f"  wave {row.wave}" if row.wave else "")
        + (f"  {row.by} since {row.began_at[:19]}Z" if row.by else "")
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
        reason = overview.halted(wave["name"])
        rows.append(("wave", reason or f"{wave['name']}: {len(wave['failing'])} of {wave['tasks']} failing"))
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
    lines = filter(None, draw_task(verification))
    weak = (f"Weak: {why}" for why in verification.weak_because)
    return Section(title="Executor, verify command, reviewer", lines=(*lines, *weak))


def render_state(overview: Overview) -> str:
    """Return STATE.md: the verify tasks for people."""
    parts = ["# State of the verification gate", "Written by `phase-gate verify`; changes made here are lost."]
    document: dict[str, Any] = {}
    if (current := overview.current) is not None:
        drawn = "\n".join((f"## Current Task: {current.name}", *draw_task(current)))
        parts.append(drawn.replace("3: Reviewer ", "3: Architect"))
        document["current_task"] = status_to_json(current, escalate(current, overview.halted(current.wave)))
    document["gate_stats"] = stats_to_json(overview)
    parts += ["## Tasks", "```text\n" + "\n".join(task_rows(overview.rows)) + "\n```"] if overview.rows else []
    if skipped := [skip_to_json(row) for row in overview.rows if row.skip is not None]:
        forced = sum(row["skip_kind"] is None for row in skipped)
        text = f"Warning: {len(skipped)} of {overview.total} tasks did not pass the gate; {forced} of them were forced."
        parts += ["## Not verified", text]
        document["tasks"] = skipped
    weak = [row for row in overview.rows if row.weak_because]
    document["concerns"] = [{"task": row.name, "status": row.word, "because": list(row.weak_because)} for row in weak]
    document["recent_failures"] = failures_to_json(overview.failures[:RECENT])
    shown = {name: value for name, value in document.items() if value}
    return "\n\n".join([*parts, "## Details", _yaml(shown)]) + "\n"


def _yaml(document: Mapping[str, Any]) -> str:
    import yaml  # imported here: only STATE.md needs it

    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    # A user's text must not end the block.
    return "```yaml\n" + text.replace("```", "'''") + "```"
