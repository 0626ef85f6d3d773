"""`phase-gate verify status`, `stats`, `failures`, `feedback` and `result`: read-only."""

from __future__ import annotations

from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import render_json
from phase_gate.cli._verify_steps import open_board
from phase_gate.errors import NotAllowedError
from phase_gate.storage.store import now
from phase_gate.tasks.board import TaskBoard, TaskSession
from phase_gate.tasks.model import FINISHED, Status, Verification
from phase_gate.tasks.overview import failures_to_json, row_to_json, stats_to_json
from phase_gate.tasks.prompts import feedback as feedback_text
from phase_gate.tasks.prompts import find_dependency
from phase_gate.tasks.result import evidence_chain, gate_result, is_complete
from phase_gate.tasks.rules import MARGIN, late, resume_command
from phase_gate.tasks.show import failure_rows, stats_rows, step_rows, task_rows
from phase_gate.tasks.state_file import state_file
from phase_gate.visible import show_rows


def status(call: Call) -> Answer:
    board = open_board(call)
    task = board.named()
    if task is not None:
        return _one(board.session(task))
    overview = board.overview
    if not overview.total:
        return Answer(
            text="there is no task yet\n  next: phase-gate verify start --task-file FILE",
            document={"tasks": [], "gate_stats": stats_to_json(overview), "damaged": list(board.damaged)},
            exit_code=exit_codes.GATE_CLOSED,
        )
    rows = [*task_rows(overview.rows), "", *stats_rows(overview)]
    rows += _audits(board)
    if overview.next_command:
        rows.append(f"  next: {overview.next_command}")
    document = {
        "tasks": [row_to_json(row) for row in overview.rows],
        "gate_stats": stats_to_json(overview),
        "damaged": list(board.damaged),
    }
    is_done = all(row.status in FINISHED for row in overview.rows) and not board.damaged
    return Answer(
        text=show_rows(rows),
        document=document,
        exit_code=exit_codes.NOT_TRUSTED if board.damaged else exit_codes.OPEN if is_done else exit_codes.GATE_CLOSED,
    )


def _one(session: TaskSession) -> Answer:
    verification = session.verification()
    status = session.status(verification)
    rows = step_rows(status.task, verification, None, status.escalation)
    check = verification.check
    if check is not None and check.how == "running" and not session.store.is_alive(check.id, check.limit + MARGIN):
        rows.append("Note     the verify run was killed: the next command records it as interrupted")
    overdue = late(verification, now())
    if overdue:
        rows.append(f"Note     late: {overdue}")
    is_finished = verification.status in FINISHED
    return Answer(
        text=show_rows(rows),
        document={**status.document, "late": overdue or None},
        exit_code=exit_codes.OPEN if is_finished else exit_codes.GATE_CLOSED,
    )


def stats(call: Call) -> Answer:
    board = open_board(call)
    return Answer(
        text=show_rows([*stats_rows(board.overview), *_audits(board)]),
        document={"gate_stats": stats_to_json(board.overview)},
        exit_code=_looked(board),
    )


def _looked(board: TaskBoard) -> int:
    """Return what a look at all tasks ends with: numbers that leave one out are not to be trusted."""
    return exit_codes.NOT_TRUSTED if board.damaged else exit_codes.OPEN


def _audits(board: TaskBoard) -> list[str]:
    return [f"  next: phase-gate audit --task {task}" for task in board.damaged[:1]]


def failures(call: Call) -> Answer:
    board = open_board(call)
    task = board.named()
    pairs = [pair for pair in board.overview.failures if task is None or pair[0].task == task]
    rows = failure_rows(pairs)
    rows += [f"{each.task} is not trusted: {each.problem}" for each in board.overview.untrusted]
    return Answer(
        text=show_rows([*rows, *_audits(board)]) or "nothing has failed",
        document={"recent_failures": failures_to_json(pairs)},
        exit_code=_looked(board),
    )


def feedback(call: Call) -> Answer:
    board = open_board(call)
    wanted = (Status.FAILED, Status.REJECTED, Status.BLOCKED)
    session = board.session(board.named() or board.waiting(wanted, "its next attempt"))
    verification = session.verification()
    changed = session.changed_since_failure(verification)
    text = feedback_text(verification, changed=changed, overview=board.overview)
    last = verification.last_failure
    document: dict[str, Any] = {
        "task": session.task,
        "failure_type": None if last is None or not text else str(last.type),
        "feedback": text,
        "changed": changed,
    }
    if verification.status is Status.BLOCKED:
        dependency = find_dependency(verification, board.overview)
        document["dependency"] = {
            "name": dependency.name or None,
            "status": dependency.status or None,
            "completed": dependency.is_complete,
            "way": dependency.way,
        }
    if call.arguments.prompt:
        return Answer(text=text, document=document)
    if not text:
        return Answer(text=f"{session.task}: there is nothing to mend", document=document)
    return Answer(text=f"{text}\n\n  next: {_after(session, verification, board)}", document=document)


def _after(session: TaskSession, verification: Verification, board: TaskBoard) -> str:
    """Return what to type when the feedback was read."""
    escalation = session.status(verification).escalation
    if escalation.level > 2:
        return resume_command(verification.spec.wave)
    if escalation.level == 2:
        return f'phase-gate verify resume --task {session.task} --reason "..." --by NAME'
    if verification.status is Status.BLOCKED:
        row = board.overview.row(find_dependency(verification, board.overview).task)
        if row is not None and row.status not in FINISHED:
            act = "start" if row.status is Status.PENDING else "status"
            return f"phase-gate verify {act} --task {row.task}"
    if verification.status is Status.REVIEWING:
        return f"phase-gate verify review FILE --by NAME --task {session.task}"
    return f"phase-gate verify executor FILE --task {session.task}"


def result(call: Call) -> Answer:
    board = open_board(call)
    session = board.session(board.named() or _latest(board))
    verification = session.verification()
    output = session.output(verification)
    document = gate_result(verification, output, state_updated=state_file(session.project).exists())
    chain = evidence_chain(verification, output)
    is_finished = verification.status is Status.APPROVED and is_complete(chain)
    return Answer(
        text=render_json(document, indent=2),
        document=document,
        exit_code=exit_codes.OPEN if is_finished else exit_codes.GATE_CLOSED,
    )


def _latest(board: TaskBoard) -> str:
    rows = [row for row in board.overview.rows if row.last_step_at]
    if not rows:
        raise NotAllowedError("no task has begun yet", remedy="phase-gate verify start --task-file FILE")
    return max(rows, key=lambda row: row.last_step_at).task
