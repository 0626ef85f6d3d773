"""`phase-gate verify status` and `show`: read-only."""

from __future__ import annotations

import os

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._verify_steps import open_board
from phase_gate.project import Project
from phase_gate.storage.lock import is_free
from phase_gate.storage.paths import LIST_LOCK
from phase_gate.storage.store import now
from phase_gate.tasks.board import TaskBoard, TaskSession
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.prompts import explain_failure, find_dependency, make_bundle, render_bundle, write_executor_prompt
from phase_gate.tasks.result import failures_to_json, gate_result, stats_to_json
from phase_gate.tasks.rules import MARGIN, asks_person, late, resume_command
from phase_gate.tasks.show import failure_rows, stats_rows, step_rows, task_rows
from phase_gate.tasks.work import FINISHED, IN_PROGRESS, NOT_PASSED, Status, Verification
from phase_gate.visible import show_rows


def status(call: Call) -> Done:
    board = open_board(call)
    task = board.named()
    if task is not None:
        return _one(board.session(task))
    overview = board.overview
    rows = ["there is no task yet"] if not overview.total else [*task_rows(overview.rows), "", *stats_rows(overview)]
    failed = failure_rows(overview.failures)
    rows += ["", *failed] if failed else []
    following, told = _following(overview), render_list(board.project, overview)
    rows += ["", told] if told else []
    document = {
        "tasks": [board.session(row.task).status(row).document for row in overview.rows],
        "gate_stats": stats_to_json(overview),
        "recent_failures": failures_to_json(overview.failures),
    }
    rows += [f"  next: {following}"] if following else []
    return Done(text=show_rows(rows), document=document, code=_code(board))


def render_list(project: Project, overview: Overview) -> str:
    """Return a clause about the list's progress: finished, driven right now, or left by a killed drive."""
    lock = project.state_folder / LIST_LOCK
    if os.path.lexists(lock):
        killed = "the drive of the list was killed: phase-gate drive continues it"
        return killed if is_free(lock) else "a drive works on the list"
    is_done = overview.total and all(row.status in FINISHED for row in overview.rows)
    return "all verify tasks are finished" if is_done else ""


def _following(overview: Overview) -> str:
    if not overview.total:
        return "phase-gate verify start --task-file FILE"
    return overview.next_command


def _code(board: TaskBoard) -> int:
    """Return the exit code for a summary of all tasks."""
    overview = board.overview
    if any(wave.is_halted for wave in overview.waves) or any(map(asks_person, overview.rows)):
        return exit_codes.CIRCUIT_OPEN
    is_done = overview.total and all(row.status in FINISHED for row in overview.rows)
    return exit_codes.OPEN if is_done else exit_codes.GATE_CLOSED


def _one(session: TaskSession) -> Done:
    verification = session.verification()
    status = session.status(verification)
    rows = step_rows(status.task, verification, None, status.escalation)
    check = verification.check
    if check is not None and check.how == "running" and not session.store.is_alive(check.id, check.limit + MARGIN):
        rows.append("Note     the verify run was killed: the next command records it as interrupted")
    overdue = late(verification, now())
    if overdue:
        rows.append(f"Note     late: {overdue}")
    is_written = (session.project.state_folder / "STATE.md").exists()
    result = gate_result(verification, session.output(verification), state_updated=is_written)
    code = exit_codes.OPEN if verification.status in FINISHED else exit_codes.GATE_CLOSED
    if status.escalation.level >= 2 or verification.status is Status.BLOCKED:
        code = exit_codes.CIRCUIT_OPEN
    return Done(text=show_rows(rows), document={**status.document, "late": overdue or None, **result}, code=code)


def show(call: Call) -> Done:
    """Print the reviewer's material for a verified task, else the executor's instructions."""
    board = open_board(call)
    first = (*IN_PROGRESS, *NOT_PASSED, Status.BLOCKED)
    session = board.session(board.named() or board.waiting((*first, Status.PENDING), "a look", first=first))
    verification = session.verification()
    if verification.status in (Status.REVIEWING, Status.APPROVED):
        document = make_bundle(session)
        return Done(text=render_bundle(document), document=document)
    text = write_executor_prompt(session)
    last = verification.last_failure
    failed = explain_failure(session)
    document = {
        "task": session.task,
        "prompt": text,
        "failure_type": None if last is None or not failed else str(last.type),
        "feedback": failed,
    }
    if verification.status is Status.BLOCKED:
        found = find_dependency(verification, board.overview)
        document["dependency"] = {
            "name": found.name or None,
            "status": found.status,
            "completed": found.is_complete,
            "way": found.way,
        }
    if verification.status in (*NOT_PASSED, Status.BLOCKED):
        text += f"\n  next: {_after(session, verification)}"
    return Done(text=text.rstrip("\n"), document=document)


def _after(session: TaskSession, verification: Verification) -> str:
    """Return the command to type after reading."""
    level = session.status(verification).escalation.level
    if level > 2:
        return resume_command(verification.wave)
    if level == 2:
        return f'phase-gate verify resume --task {session.task} --reason "..." --by NAME'
    dependency = find_dependency(verification, session.board.overview)
    if verification.status is Status.BLOCKED and dependency.is_waited_for:
        return dependency.command
    return f"phase-gate verify executor FILE --task {session.task}"
