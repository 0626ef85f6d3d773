"""Verify tasks for people: the progress bar, the step list, and tables of many tasks.

Draws values; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.measured import Section, Table
from phase_gate.tasks.judging import advise_task, weak_notes
from phase_gate.tasks.model import NOT_PASSED, Failure, Status, Verification
from phase_gate.tasks.overview import RECENT, Overview
from phase_gate.tasks.result import architect_status, executor_status, verify_status
from phase_gate.tasks.rules import Escalation, resume_command
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration

_CELLS = 8
#: The words of a step that is over, well or not, and of one that goes on.
_PASSED = frozenset({"success", "passed", "approved"})
_GOES_ON = frozenset({"running", "reviewing", "interrupted"})
_NOT_YET = frozenset({"pending"})


def progress_bar(verification: Verification) -> str:
    """Return `Gate Progress: [####----] Step 2/3`: a step that goes on is half of one."""
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
    names = ("Executor", "Verify", "Architect")
    return [
        f"{_mark(word)} Step {number}: {name:11} - {word.upper()}{_clock(at) if word not in _NOT_YET else ''}"
        for number, (name, word, at) in enumerate(zip(names, _words(verification), times, strict=True), start=1)
    ]


def task_block(verification: Verification) -> list[str]:
    """Return a task as the document draws it."""
    return [f"## Current Task: {verification.spec.name}", *_drawn(verification)]


def _drawn(verification: Verification) -> list[str]:
    steps = step_list(verification)
    return ["", progress_bar(verification), "", *steps, "", f"Status: {verification.status}"]


def _words(verification: Verification) -> tuple[str, str, str]:
    return executor_status(verification), verify_status(verification), architect_status(verification)


def _mark(word: str) -> str:
    if word in _PASSED:
        return "[x]"
    if word in _GOES_ON:
        return "[~]"
    return "[ ]" if word in _NOT_YET else "[!]"


def _clock(at: str) -> str:
    return f" ({at[11:19]})" if at else ""


#: Where the worker that has a task is shown.
_HELD = frozenset({Status.EXECUTING, Status.VERIFYING, *NOT_PASSED})


def task_rows(rows: Iterable[Verification]) -> list[str]:
    """Return one line a task."""
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
    """Return the statistics, a line each."""
    return [f"{name:12} {value}" for name, value in stats_pairs(overview)]


def stats_pairs(overview: Overview) -> list[tuple[str, str]]:
    """Return the statistics in words."""
    current = overview.current
    weak = f" ({overview.weak} weak)" if overview.weak else ""
    rows = [
        ("tasks", str(overview.total)),
        ("passed", f"{overview.passed}{weak}"),
        ("failed", str(overview.failed)),
        ("in progress", str(overview.in_progress)),
        ("pending", str(overview.pending)),
        ("blocked", str(overview.blocked)),
        ("skipped", str(overview.skipped)),
        *(("not trusted", f"{each.task}: {each.problem}") for each in overview.untrusted),
        ("pass rate", overview.pass_rate or "nothing has passed or failed yet"),
        ("attempts", "none yet" if overview.average_attempts is None else f"{overview.average_attempts} on average"),
    ]
    if current is not None:
        rows.append(("now", f"{current.name}: {current.status}, attempt {current.attempt}"))
    rows += [
        ("wave", wave.why or f"{wave.name}: {len(wave.failing)} of {wave.tasks} failing") for wave in overview.waves
    ]
    return rows


def failure_rows(pairs: Iterable[tuple[Verification, Failure]]) -> list[str]:
    """Return the failure log, the latest first."""
    rows: list[str] = []
    for row, failure in pairs:
        first = failure.error.strip().splitlines()[0] if failure.error.strip() else ""
        rows.append(f"{failure.at[:19]}Z  {row.task}, attempt {failure.attempt}: {failure.type}")
        rows.append(f"  {first}")
        if failure.recovered:
            rows.append(f"  recovered: {failure.resolution or 'by a later attempt'}")
    return rows


def step_rows(
    task: str, verification: Verification, evaluation: Evaluation | None, escalation: Escalation
) -> list[str]:
    """Return what a step prints: where the task stands, why, and what to type next."""
    attempt = f", attempt {verification.attempt}" if verification.attempt else ""
    rows = [f"{verification.spec.name} ({task}){attempt}", *_drawn(verification)]
    if verification.skip is not None:
        rows[-1] = f"Status: {verification.status}, {verification.word}"
    rows += [f"Flagged  {flag}" for flag in verification.flags]
    rows += [f"Weak     {why}" for why in verification.weak_because]
    if evaluation is not None:
        said = weak_notes(verification)
        rows += [f"Note     {note}" for note in evaluation.notes if note not in said]
    if escalation.level > 1 or (escalation.level and verification.status in NOT_PASSED):
        rows.append(f"Level    {escalation.level}: {escalation.reason} ({'; '.join(escalation.actions)})")
    advice = advise_task(verification) if evaluation is None else evaluation
    following = advice.next_step
    if escalation.level > 2:
        following = resume_command(verification.spec.wave)
    return [*rows, f"Verdict  {advice.verdict}", f"Next     {following}"]


# --- verify tasks in a task's story: the same numbers as everywhere, as sections of a report


def sections_of(overview: Overview, verification: Verification | None) -> tuple[Section, ...]:
    """Return the parts: this task, if it is one of them, and all of them, if there are any."""
    found: list[Section] = []
    if verification is not None:
        lines = (progress_bar(verification), *step_list(verification), f"Status: {verification.status}")
        weak = (f"Weak: {why}" for why in verification.weak_because)
        tables = _turns_of(verification)
        found.append(Section(title="Executor, verify command, reviewer", lines=(*lines, *weak), tables=tables))
    if overview.total:
        found.append(Section(title="Tasks", tables=_tables(overview)))
    return tuple(found)


#: Who is at work in a task, in the order of an attempt.
_ROLES = ("executor", "verify", "reviewer")


def _turns_of(verification: Verification) -> tuple[Table, ...]:
    """Return who was at work for how long, where agents were driven."""
    if not verification.is_driven:
        return ()
    rows = tuple((str(turn.attempt), turn.role, turn.how, show_duration(turn.seconds)) for turn in verification.turns)
    return (Table(title="Who was at work", columns=("attempt", "role", "how it ended", "time"), rows=rows),)


def _tables(overview: Overview) -> tuple[Table, ...]:
    tasks = tuple(
        (row.name, row.word, f"{row.step}/3", str(row.attempt), row.wave, row.commit[:10]) for row in overview.rows
    )
    tables = [
        Table(title="Statistics", columns=("what", "number"), rows=tuple(stats_pairs(overview))),
        Table(title="Tasks", columns=("task", "status", "step", "attempts", "wave", "commit"), rows=tasks),
    ]
    driven = tuple(
        (row.name, *(show_duration(row.seconds.get(role, 0.0)) for role in _ROLES))
        for row in overview.rows
        if row.seconds
    )
    if driven:
        tables.append(Table(title="Who was at work", columns=("task", *_ROLES), rows=driven))
    failures = tuple(
        (
            row.name,
            str(failure.attempt),
            str(failure.type),
            failure.error.strip().partition("\n")[0],
            (failure.resolution or "yes") if failure.recovered else "no",
        )
        for row, failure in overview.failures[:RECENT]
    )
    if failures:
        columns = ("task", "attempt", "failure", "error", "recovered")
        tables.append(Table(title="Recent failures", columns=columns, rows=failures))
    return tuple(tables)
