"""`phase-gate verify`: the steps of a verify task, decisions of people about one, and its status."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import print_aside, raw_output, read_given
from phase_gate.cli.people import ask_for_word
from phase_gate.errors import UsageError
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.project import Project, who_am_i
from phase_gate.storage.lock import is_free
from phase_gate.storage.root import LIST_LOCK
from phase_gate.storage.store import now
from phase_gate.tasks import steps
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.handins import Attachment
from phase_gate.tasks.prompts import explain_failure, find_dependency, make_bundle, render_bundle, write_executor_prompt
from phase_gate.tasks.rules import MARGIN, Overview, asks_person, late, resume_command
from phase_gate.tasks.show import (
    failure_rows,
    failures_to_json,
    gate_result,
    stats_rows,
    stats_to_json,
    step_rows,
    task_rows,
)
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import FINISHED, IN_PROGRESS, NOT_PASSED, Status, Verification
from phase_gate.values import replace
from phase_gate.visible import find_name_fault, show_line, show_rows


def open_board(call: Call) -> TaskBoard:
    wanted = call.arguments.task
    # A task's display name is allowed here. The project would treat it as a folder name.
    environment = {name: value for name, value in call.environment.items() if name != "PHASE_GATE_TASK"}
    return TaskBoard(
        Project.find(call.start, environment=environment, folder=call.arguments.dir),
        wanted=call.environment.get("PHASE_GATE_TASK") if wanted is None else wanted,
        owner=f"phase-gate {call.arguments.command}",
    )


# --- the steps


def start(call: Call) -> Done:
    from phase_gate.tasks.start import begin, take_tasks

    given, board = call.arguments, open_board(call)
    if given.task_file is None:
        task = board.named()
        if task is None:
            return _hand_out(call, board, by=given.by or "")
        status = begin(board.session(task), by=given.by or "", show=print_aside)
        return Done(text=_text(status), document=status.document)
    from phase_gate.tasks.task_files import read_task_file

    specs = read_task_file(call.start / given.task_file, given.task_file)
    if given.task:
        specs = tuple(spec for spec in specs if given.task in (spec.name, spec.slug))
    if not specs:
        raise UsageError(
            f"{given.task_file} has no task {given.task!r}", remedy="leave --task out, or name one of its tasks"
        )
    return _answer_taken(take_tasks(board, specs, untimed=given.untimed, show=print_aside))


def next_task(call: Call) -> Done:
    board = open_board(call)
    if board.named() is not None:
        raise UsageError(
            "the list shows which task is next",
            remedy=f"leave --task out, or: phase-gate verify start --task {call.arguments.task}",
        )
    return _hand_out(call, board, by=call.by())


def _hand_out(call: Call, board: TaskBoard, *, by: str) -> Done:
    from phase_gate.tasks.start import Nothing, hand_out

    fault = find_name_fault(by)
    if fault:
        raise UsageError(f"--by={by}: {fault}", remedy="give a name that can be read")
    found = hand_out(board, by=by, show=print_aside)
    if not isinstance(found, Nothing):
        return _answer_taken([(found, False)])
    document = {
        "task": None,
        "why": found.why,
        "reason": found.problem,
        "next_command": found.next_command or None,
        "next_hint": found.next_hint or None,
    }
    codes = {"waiting": exit_codes.GATE_CLOSED, "needs-person": exit_codes.CIRCUIT_OPEN}
    return Done(
        text=show_rows([found.problem, f"  next: {found.next_command or found.next_hint}"]),
        document=document,
        code=codes.get(found.why, exit_codes.NOT_ALLOWED),
    )


def _answer_taken(taken: Sequence[tuple[TaskStatus, bool]]) -> Done:
    if len(taken) == 1:
        status, _ = taken[0]
        spec, rows = status.verification.spec, step_rows(status.verification, None, status.escalation)
        rows[1:1] = [f"  files   {', '.join(spec.files)}", f"  verify  {spec.verify}", f"  done    {spec.done}"]
        return Done(text=show_rows(rows), document=status.document)
    rows = []
    for status, is_new in taken:
        rows.append(f"{status.task}  {status.verification.status}{'' if is_new else ' (it was there already)'}")
        rows += [f"  flagged: {flag}" for flag in status.verification.flags]
    pending = [status.task for status, _ in taken if status.verification.status is Status.PENDING]
    following = "phase-gate verify start" if pending else "phase-gate verify status"
    document = {"tasks": [status.document for status, _ in taken]}
    return Done(text=show_rows(rows), document=document, next_command=following)


def executor(call: Call) -> Done:
    board = open_board(call)
    return answer_step(steps.report_execution(board, _read_attachment(call)))


def run(call: Call) -> Done:
    from phase_gate.tasks.verify_run import Display, run_verify

    session = _waiting(call, "a verify run", (Status.VERIFYING,))
    # With `--json`, standard output is reserved for our own result.
    display = Display(show=print_aside, tick=lambda seconds, limit: None, stream=raw_output(aside=call.arguments.json))
    status, log = run_verify(session, display)
    code = exit_codes.GATE_CLOSED if status.verification.status is Status.VERIFYING else None
    return answer_step(status, code=code, more={"log": log} if log else None)


def review(call: Call) -> Done:
    board = open_board(call)
    status = steps.review(board, _read_attachment(call))
    is_approved = status.verification.status is Status.APPROVED
    return answer_step(status, code=exit_codes.OPEN if is_approved else exit_codes.GATE_CLOSED)


def commit(call: Call) -> Done:
    from phase_gate.tasks.commit import commit_task

    session = _waiting(call, "a commit", (Status.APPROVED,))
    status, files = commit_task(session)
    following = session.board.overview.next_command or advise_task(status.verification).next_step
    rows = [f"{status.task}: committed as {status.verification.commit[:10]}", *(f"  {name}" for name in files)]
    return Done(
        text=show_rows(rows),
        document={**status.document, "committed_files": list(files)},
        next_command=following,
    )


def abandon(call: Call) -> Done:
    session = _waiting(call, "an end", IN_PROGRESS)
    return answer_step(
        steps.abandon_attempt(session, reason=call.arguments.reason or "", by=call.by()), code=exit_codes.OPEN
    )


def _waiting(call: Call, what: str, statuses: Collection[Status]) -> TaskSession:
    """Return the task that waits for a step."""
    board = open_board(call)
    return board.session(board.waiting(what, statuses))


# --- reports and verdicts


def _read_attachment(call: Call) -> Attachment:
    """Read a report or a verdict. Raises UsageError if it can't be read."""
    given, by, user = call.arguments.file, call.arguments.by, who_am_i(call.environment)
    data = read_given(call.start, given)
    if given == "-":
        return Attachment(data=data, name="standard input", by=by, user=user)
    written = (call.start / given).stat().st_mtime
    return Attachment(data=data, name=Path(given).name, written=written, by=by, user=user)


# --- results


def answer_step(status: TaskStatus, *, code: int | None = None, more: Mapping[str, Any] | None = None) -> Done:
    """Return the result of a step.

    :param code: the exit code, unless a person is needed; None: 0 if the step passed, else 10.
    """
    assert status.evaluation is not None, "a step is judged"
    verification = status.verification
    if code is None:
        code = exit_codes.GATE_CLOSED if verification.status in NOT_PASSED else exit_codes.OPEN
    if verification.status is Status.BLOCKED or (code == exit_codes.GATE_CLOSED and status.escalation.level >= 2):
        code = exit_codes.CIRCUIT_OPEN  # stops an agent that runs in a loop
    document = {**status.document, **(more or {}), "evaluation": evaluation_to_json(status.evaluation)}
    return Done(text=_text(status), document=document, code=code)


def _text(status: TaskStatus) -> str:
    return show_rows(step_rows(status.verification, status.evaluation, status.escalation))


# --- decisions of people about a task


def skip(call: Call) -> Done:
    answer = _answer_override(*steps.skip_task(_named(call), call.person(), kind=call.arguments.kind))
    risk = f" (user risk: {call.arguments.by} answers for it)" if call.arguments.kind == "time-pressure" else ""
    return replace(answer, text=f"{answer.text}{risk}")


def force(call: Call) -> Done:
    session = _named(call)
    warning = f"This completes {session.task} whatever was measured, and every later report shows it."
    ask_for_word(call, warning, "a forced completion")
    return _answer_override(*steps.force_task(session, call.person()))


def _named(call: Call) -> TaskSession:
    board = open_board(call)
    task = board.named()
    if task is None:
        raise UsageError("which task?", remedy="add --task NAME")
    return board.session(task)


def _answer_override(status: TaskStatus, record: Mapping[str, Any]) -> Done:
    answer = answer_step(status, code=exit_codes.OPEN, more={"override": record})
    word = status.verification.word
    warning = f"Warning  {status.task} is {word}: nothing shows that it works; it is not committed for you"
    return replace(answer, text=f"{answer.text}\n{warning}")


def resume(call: Call) -> Done:
    given = call.arguments
    board = open_board(call)
    task = board.named()
    if given.wave is not None or task is None:
        wave = given.wave or ""
        resumed = steps.resume_wave(board, wave, call.person())
        shown = f"wave {wave}" if wave else "the list"
        text = show_line(f"{shown} continues, by {given.by}: {given.reason}")
        document = {"wave": wave or None, "resumed": list(resumed), "by": given.by, "reason": given.reason}
        return Done(text=text, document=document, next_command="phase-gate verify status")
    status = steps.resume_task(board.session(task), call.person())
    return Done(text=_text(status), document={**status.document, "resumed_by": given.by, "reason": given.reason})


def status(call: Call) -> Done:
    board = open_board(call)
    task = board.named()
    if task is not None:
        return _one(board.session(task))
    overview, progress = board.overview, render_list(board.project, board.overview)
    failed = failure_rows(overview.failures)
    following = overview.next_command if overview.total else "phase-gate verify start --task-file FILE"
    rows = [*task_rows(overview.rows), "", *stats_rows(overview)] if overview.total else ["there is no task yet"]
    rows += [*(("", *failed) if failed else ()), *(("", progress) if progress else ())]
    rows += [f"  next: {following}"] if following else []
    document = {
        "tasks": [board.session(row.task).status(row).document for row in overview.rows],
        "gate_stats": stats_to_json(overview),
        "recent_failures": failures_to_json(overview.failures),
    }
    code = exit_codes.OPEN if is_finished(overview) else exit_codes.GATE_CLOSED
    if any(map(overview.halted, overview.waves)) or any(map(asks_person, overview.rows)):
        code = exit_codes.CIRCUIT_OPEN
    return Done(text=show_rows(rows), document=document, code=code)


def is_finished(overview: Overview) -> bool:
    """Return whether there are verify tasks and none is left to do."""
    return bool(overview.rows) and all(row.status in FINISHED for row in overview.rows)


def render_list(project: Project, overview: Overview) -> str:
    """Return a clause about the list's progress: finished, driven right now, or left by a killed drive."""
    lock = project.state_folder / LIST_LOCK
    if os.path.lexists(lock):
        killed = "the drive of the list was killed: phase-gate drive continues it"
        return killed if is_free(lock) else "a drive works on the list"
    return "all verify tasks are finished" if is_finished(overview) else ""


def _one(session: TaskSession) -> Done:
    verification = session.verification()
    status = session.status(verification)
    rows = step_rows(verification, None, status.escalation)
    check = verification.check
    if check is not None and check.how == "running" and not session.store.is_alive(check.id, check.limit + MARGIN):
        rows.append("Note     the verify run was killed: the next command records it as interrupted")
    overdue = late(verification, now())
    if overdue:
        rows.append(f"Note     late: {overdue}")
    is_written = (session.project.state_folder / "STATE.md").exists()
    result = gate_result(verification, session.output(verification), state_updated=is_written)
    code = exit_codes.OPEN if verification.status in FINISHED else exit_codes.GATE_CLOSED
    if verification.status is Status.BLOCKED or status.escalation.level >= 2:
        code = exit_codes.CIRCUIT_OPEN
    return Done(text=show_rows(rows), document={**status.document, "late": overdue or None, **result}, code=code)


def show(call: Call) -> Done:
    """Print the reviewer's material for a verified task, else the executor's instructions."""
    board = open_board(call)
    first = (*IN_PROGRESS, *NOT_PASSED, Status.BLOCKED)
    session = board.session(board.waiting("a step", first, (*first, Status.PENDING)))
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
            "status": None if found.row is None else found.row.status,
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
    if verification.status is Status.BLOCKED and dependency.command:
        return dependency.command
    return f"phase-gate verify executor FILE --task {session.task}"
