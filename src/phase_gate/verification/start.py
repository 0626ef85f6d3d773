"""`phase-gate verify start`: take tasks from a file, or begin an attempt of one that waits."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePath

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import say_aside
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.overrides import override_record
from phase_gate.gate.state import Event
from phase_gate.project import Project
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.values import replace
from phase_gate.verification.board import Board, Desk, paper_path, write_state
from phase_gate.verification.changes import remember_files
from phase_gate.verification.commits import head_of
from phase_gate.verification.executor import begin_attempt
from phase_gate.verification.lint import lint_command, lint_done
from phase_gate.verification.model import FINISHED, PHASE, Status, Verification, find_verification
from phase_gate.verification.rules import set_limits
from phase_gate.verification.spec import TaskSpec, spec_to_json
from phase_gate.visible import show_rows
from phase_gate.workflow.model_json import workflow_to_json


def run(call: Call) -> Answer:
    given = call.arguments
    board = Board(call)
    if given.task_file is None:
        if not given.task:
            raise UsageError("which task?", remedy="phase-gate verify start --task-file FILE, or --task NAME")
        return _begin(board.desk(board.find(given.task)))
    from phase_gate.verification.task_files import read_task_file

    specs = [_with_wave(spec, given.wave) for spec in read_task_file(call.start / given.task_file, given.task_file)]
    if given.task:
        specs = [spec for spec in specs if given.task in (spec.name, spec.slug)]
        if not specs:
            raise UsageError(
                f"{given.task_file} has no task {given.task!r}", remedy="leave --task out, or name one of it"
            )
    flags = {spec.slug: _lint(spec) for spec in specs}
    for wave in dict.fromkeys(spec.wave for spec in specs):
        why = board.overview.halted(wave)
        if why:
            raise NotAllowedError(why, remedy=f'phase-gate verify resume --wave {wave} --reason "..." --by NAME')
    taken = [_take(board.desk(spec.slug), spec, flags[spec.slug]) for spec in specs]
    board.forget()
    if len(specs) == 1:
        desk = board.desk(specs[0].slug)
        # Also where somebody died after taking it.
        if desk.verification().status is Status.PENDING and not _open_dependencies(board, specs[0]):
            begin_at_once(desk)
            board.forget()
    return _answer(board, specs, taken)


def _with_wave(spec: TaskSpec, wave: str | None) -> TaskSpec:
    return spec if wave is None else replace(spec, wave=wave)


def _lint(spec: TaskSpec) -> tuple[str, ...]:
    """Return what is flagged about a task. Raises NotAllowedError for a verify command that proves nothing."""
    opinions = (*lint_command(spec), *lint_done(spec))
    refused = [each for each in opinions if each.kind == "refused"]
    if refused:
        raise NotAllowedError(
            f"{spec.name}: {refused[0].text} ({refused[0].slug})",
            remedy="write a verify command that fails as long as the task is not done, like pytest tests/test_it.py",
        )
    if any(word.partition("=")[0] in ("--phase", "--phase-task", "--phase-dir") for word in _words(spec.verify)):
        raise NotAllowedError(
            f"{spec.name}: the verify command chooses a phase, and its run would be recorded elsewhere",
            remedy="leave --phase out: a run of pytest in it is recorded for this task by itself",
        )
    return tuple(each.text for each in opinions)


def _words(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _take(desk: Desk, spec: TaskSpec, flags: tuple[str, ...]) -> bool:
    """Take one task; tell whether it is new. One that is there already, with the same text, stays as it is."""
    given, settings = desk.call.arguments, desk.project.configuration.verification
    limits = set_limits(
        spec,
        settings.timeouts,
        {"executor": given.timeout_executor, "verify": given.timeout_verify, "review": given.timeout_review},
    )
    looked = find_verification(desk.state())
    if looked is not None and looked.spec == spec and looked.limits == limits:
        return False
    _refuse_change(desk, looked)
    tree = desk.tree(spec)
    state = desk.state()
    memory = remember_files(desk.project.scene(frozenset(), desk.store, state, phase=PHASE), tree, spec.files)
    known = collect_known(desk.project, desk.store, spec, limit=limits["verify"])
    workflow = desk.project.verification_workflow()
    phase = workflow.first
    with desk.store.transaction() as change:
        before = find_verification(change.state)
        _refuse_change(desk, before)
        data = {
            "spec": spec_to_json(spec),
            "limits": limits,
            "untimed": given.untimed or settings.untimed,
            "flags": list(flags),
            "memory": desk.store.keep("evidence", memory),
            "papers": [path for path in (paper_path(desk.project, desk.call, given.task_file),) if path],
            "rules": desk.store.objects.keep(workflow_to_json(workflow)),
            "amends": before is not None and before.status is not Status.PENDING,
        }
        if change.state.phase is None:
            change.record(
                *entry_events(
                    change.state,
                    Entry(phase, How.BEGIN),
                    workflow,
                    run=None,
                    allow_non_interactive=desk.project.configuration.allow_non_interactive,
                )
            )
        if data["amends"]:
            _amend(desk, change)
        change.record(Event(kind="task-taken", data=data))
        if known is not None:
            change.record(Event(kind="known-taken", data={"known": known}))
    return before is None


def _refuse_change(desk: Desk, looked: Verification | None) -> None:
    if looked is None:
        state = desk.state()
        if state.phase is not None:
            raise NotAllowedError(
                f"{desk.task} is a task of workflow {state.workflow} already", remedy="give the task another name"
            )
        return
    if looked.status in FINISHED:
        raise NotAllowedError(f"{desk.task} is {looked.word} already", remedy="give the task another name")
    if looked.status in (Status.VERIFYING, Status.REVIEWING):
        raise NotAllowedError(
            f"{desk.task} is {looked.status}: its text can't change in the middle of an attempt",
            remedy="let the attempt end first: phase-gate verify status",
        )


def _amend(desk: Desk, change: Transaction) -> None:
    """A person gives a task that has begun another text: on the record, like everything against the evidence."""
    call = desk.call
    call.require_person(desk.project, change.opened, "another text for a task that has begun")
    record = override_record("amend", change.state, reason=call.arguments.reason, by=call.arguments.by, at=change.at)
    change.record(Event(kind="overridden", data=record))


def _begin(desk: Desk) -> Answer:
    """Begin an attempt before its executor reports: from now on the clock runs."""
    begin_at_once(desk)
    desk.board.forget()
    write_state(desk.board)
    verification = desk.verification()
    return Answer(text=show_rows(desk.rows(verification, None)), document=desk.document(verification))


def begin_at_once(desk: Desk) -> None:
    verification = desk.verification()
    tree = desk.tree(verification.spec)
    head = head_of(desk.project.root)
    with desk.store.transaction() as change:
        desk.close_lost(change)
        begin_attempt(desk, change, tree, head=head)


def _open_dependencies(board: Board, spec: TaskSpec) -> list[str]:
    rows = {row.name: row for row in board.overview.rows}
    return [name for name in spec.depends_on if name not in rows or rows[name].status not in FINISHED]


def _answer(board: Board, specs: Sequence[TaskSpec], taken: Sequence[bool]) -> Answer:
    write_state(board)
    if len(specs) == 1:
        desk = board.desk(specs[0].slug)
        verification = desk.verification()
        rows = desk.rows(verification, None)
        spec = verification.spec
        rows[1:1] = [f"  files   {', '.join(spec.files)}", f"  verify  {spec.verify}", f"  done    {spec.done}"]
        return Answer(text=show_rows(rows), document=desk.document(verification))
    verifications = {spec.slug: board.desk(spec.slug).verification() for spec in specs}
    rows = []
    for spec, is_new in zip(specs, taken, strict=True):
        rows.append(f"{spec.slug}  {verifications[spec.slug].status}{'' if is_new else ' (it was there already)'}")
        rows += [f"  flagged: {flag}" for flag in verifications[spec.slug].flags]
    first = next((slug for slug, each in verifications.items() if each.status is Status.PENDING), None)
    following = "phase-gate verify status" if first is None else f"phase-gate verify start --task {first}"
    document = {"tasks": [board.desk(slug).document(each) for slug, each in verifications.items()]}
    return Answer(text=show_rows([*rows, f"  next: {following}"]), document=document)


# --- what a verify command selects before the work begins, where it is pytest itself: the task's known tests


_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


def is_pytest(spec: TaskSpec) -> bool:
    """Tell whether the command is one call of pytest, and nothing else."""
    return pytest_arguments(spec) is not None


def pytest_arguments(spec: TaskSpec) -> list[str] | None:
    """Return the words of a command that is one call of pytest; None for every other one."""
    try:
        words = shlex.split(spec.verify)
    except ValueError:
        return None
    if not words or spec.shell:
        return None
    name = PurePath(words[0].replace("\\", "/")).name
    if name in ("pytest", "py.test", "pytest.exe"):
        return words
    return words if _PYTHON.fullmatch(name) and words[1:3] == ["-m", "pytest"] else None


def collect_known(project: Project, store: TaskStore, spec: TaskSpec, *, limit: float) -> str | None:
    """Return the stored inventory of what the command selects; None where nothing can be told, or nothing is there."""
    words = pytest_arguments(spec)
    if words is None:
        return None
    environment = {name: value for name, value in project.environment.items() if not name.startswith("PHASE_GATE_")}
    if "PHASE_GATE_KEY" in project.environment:
        environment["PHASE_GATE_KEY"] = project.environment["PHASE_GATE_KEY"]
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        answer = Path(folder) / "known"
        command = [
            *words,
            "--collect-only",
            "-q",
            f"--phase-baseline=known={answer}",
            f"--phase-dir={project.state_folder.absolute()}",
            f"--phase-task={project.task}",
        ]
        say_aside(f"collecting what {words[0]} selects ...")
        try:
            subprocess.run(
                command,
                cwd=project.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
            digest = answer.read_text(encoding="ascii")
        except (OSError, subprocess.SubprocessError, UnicodeError):
            return None  # no such command, no plugin in it, no test yet: the first run will tell
    return digest if store.objects.has(digest) and os.path.basename(digest) == digest else None
