"""`phase-gate signal`, `advance`, `declare`, `withdraw`, `rewind`, `baseline`: move a task forward or back."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, require_plugin
from phase_gate.cli._streams import print_aside, print_progress, screen_width
from phase_gate.decisions.advancing import EnteredPhase, JudgedPhase
from phase_gate.decisions.advancing import advance as advance_task
from phase_gate.decisions.signalling import give_signal, leave_answer, leave_signal
from phase_gate.errors import NotAllowedError, PhaseOrderError, StorageError, UsageError
from phase_gate.evidence.documents import missing_extra
from phase_gate.evidence.gathering import remember
from phase_gate.gate.measured import wanted_names
from phase_gate.gate.order import refuse_baseline, stuck_error
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import (
    Answer,
    Evaluation,
    Signal,
    evaluation_to_json,
    phase_command,
    show_next,
    start_command,
)
from phase_gate.project import Project
from phase_gate.report.panel import panel_text, render_panel
from phase_gate.storage.git_command import act_with_git
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.signal_file import check_signal, read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.tasks.routing import entry_data, files_in, main_line
from phase_gate.tasks.work import find_pipeline
from phase_gate.values import replace
from phase_gate.visible import cut, show_line, show_rows
from phase_gate.workflow.condition_parser import ALIASES
from phase_gate.workflow.metrics import METRIC_TYPES, MetricType, MetricValue
from phase_gate.workflow.model import Phase, Workflow, requires_of
from phase_gate.workflow.names import DONE, STUCK, of_task, status_command

# --- the explicit signal for Gate 2, about the last complete run


def signal(call: Call) -> Done:
    project, given = call.project(), _read_signal(call)
    check_signal(given)
    task = call.task(project)
    if (answer := task.answer_file) is not None:
        leave_answer(task, given, answer)
        return Done(
            text=f"{given.answer} is left for phase-gate drive: it runs the tests when you stop, and then decides",
            document={"answer": given.answer, "waits_for": "drive"},
        )
    if call.arguments.next:
        leave_signal(task, given)
        return Done(
            text=f"signal {given.answer} applies to the next complete run",
            document={"answer": given.answer, "waits_for": "next"},
        )
    evaluation, after = give_signal(task, given, show=print_aside, show_progress=print_progress)
    done = answer_with(call, evaluation, is_stuck=after.state.is_stuck)
    if find_pipeline(after.state) is None or not after.state.exited or after.state.phase in (DONE, STUCK):
        return done
    entered = advance_task(after, show=print_aside)
    assert isinstance(entered, EnteredPhase), "one that follows begins"
    # The next command comes from the phase that has just begun.
    shown = answer_with(call, replace(evaluation, next_command="", next_hint=""))
    return replace(done, text=f"{shown.text}\n{answer_entry(entered).text}")


def _read_signal(call: Call) -> Signal:
    given = call.arguments
    others: tuple[Answer, ...] = ("not-done", "blocked", "test-wrong")
    answer: Answer = next((each for each in others if getattr(given, each.replace("-", "_"))), "done")
    return Signal(answer=answer, reason=given.reason, by=call.by())


# --- enter the next phase, or evaluate a phase that needs no tests


def advance(call: Call) -> Done:
    done = advance_task(call.task(), show=print_aside)
    if isinstance(done, JudgedPhase):
        return answer_with(call, done.evaluation, is_stuck=done.is_stuck)
    return answer_entry(done)


def answer_with(call: Call, evaluation: Evaluation, *, is_stuck: bool = False) -> Done:
    """Return a verdict as the command's result."""
    closed = exit_codes.CIRCUIT_OPEN if is_stuck or evaluation.breaker.is_open else exit_codes.GATE_CLOSED
    lines = render_panel(evaluation, verbosity=int(call.arguments.v), width=screen_width())
    return Done(
        text=panel_text(lines, width=screen_width()),
        document=evaluation_to_json(evaluation),
        code=exit_codes.OPEN if evaluation.can_exit else closed,
    )


def answer_entry(entered: EnteredPhase) -> Done:
    """Return the text for a phase that begins: its purpose, its requirements, the command to type."""
    phase, title, needs = entered.phase, entered.phase.name, entered.needs
    step = phase_command(phase, entered.task.project.task)
    document: dict[str, Any] = {"phase": phase.name, "entered": True}
    pipeline = find_pipeline(entered.task.state)
    if pipeline is None and phase.tests == "none":
        needs = (("Gate 1", phase.gate_1.condition),)
        extra = missing_extra(wanted_names(entered.task.rules, phase))
        first = f"run: pip install 'pytest-phase-gate[{extra}]', then " if extra else ""
        step = f"{first}do what Gate 1 asks for, then run: {step}"
    if pipeline is not None:
        attempt = pipeline.attempts.get(phase.name, 1)
        document |= {"attempt": attempt, "needs": [list(row) for row in needs]}
        title += f" (attempt {attempt})" if attempt > 1 else ""
        needed = requires_of(phase)
        if phase.tests == "none" and needed.artifacts:
            votes = ", let the reviewers vote" if needed.consensus is not None else ""
            step = f"write the required files{' again' if attempt > 1 else ''}{votes}, then {step}"
    rows = [f"  {name:13} {text}" for name, text in needs]
    recorded = ", ".join(entered.constitution)
    if recorded:
        rows.append(f"  constitution  {recorded}: recorded, it may not change until the pipeline is done")
    return Done(
        text=show_rows([f"{title} begins: {phase.purpose}".rstrip(": "), *rows, f"  next: {step}"]),
        document=document,
    )


# --- declare a fact that the workflow requires from a person


@again_if_moved
def declare(call: Call) -> Done:
    task, reason = call.task(), call.arguments.reason
    name, separator, text = call.arguments.fact.partition("=")
    if not separator:
        raise UsageError(f"{cut(call.arguments.fact)!r} has no value", remedy="write NAME=VALUE")
    name = ALIASES.get(name, name)
    task.require_begun()
    with task.transaction() as change:
        if change.state.is_done:
            raise NotAllowedError("the cycle is done: facts belong to a phase", remedy=task.project.begin_command)
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        _refuse_unasked(workflow, change.state, name)
        value = _read_value(workflow.facts[name], name, text)
        record = {"name": name, "value": value, "reason": reason, "by": call.by()}
        change.record(Event(kind="fact-declared", data=record))
        phase = workflow.phase(str(change.state.phase))
        assert phase is not None, "a fact is asked for by a phase of the workflow"
    return Done(
        text=show_line(f"{name} = {text} counts until {phase.name} ends"),
        document={"phase": phase.name, **record},
        next_command=task.after(change).current_status().next_command,
    )


def _refuse_unasked(workflow: Workflow, state: State, name: str) -> None:
    """Refuse a fact that has no effect here, because the user expects one."""
    asking = {phase.name: wanted_names(workflow, phase) & workflow.facts.keys() for phase in workflow.phases}
    here = asking.get(state.phase or "", frozenset())
    if name in here:
        return
    known = f"declare one of: {', '.join(sorted(here))}" if here else f"continue: {state.phase} asks for no fact"
    others = [phase for phase, names in asking.items() if name in names]
    if name in METRIC_TYPES or name in workflow.metrics:
        raise NotAllowedError(f"{name} is measured, not declared", remedy=known)
    if not others:
        raise NotAllowedError(f"no phase of workflow {workflow.name} asks for {cut(name)!r}", remedy=known)
    remedy = f"declare it once {others[0]} has begun; {known}"
    raise NotAllowedError(f"{state.phase} does not ask for {name}: {' and '.join(others)} does", remedy=remedy)


#: Type of a fact -> how its value is written, how it is read, and an example.
_FORMS: dict[MetricType, tuple[str, Callable[[str], MetricValue], str]] = {
    "bool": ("true|false", lambda text: text == "true", "true or false"),
    "int": ("[-+]?[0-9]{1,18}", int, "a whole number"),
    "number": (r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?", float, "a number"),
    "text": ("(?s).*", str, "some text"),
}


def _read_value(kind: MetricType, name: str, text: str) -> MetricValue:
    form, read, example = _FORMS[kind]
    if not re.fullmatch(form, text):
        raise UsageError(f"{name}={cut(text)!r}: not of type {kind}", remedy=f"give {example}")
    return read(text)


# --- withdraw a waiting signal or a declared fact


@again_if_moved
def withdraw(call: Call) -> Done:
    task, name = call.task(), call.arguments.fact
    if name is None:
        return _withdraw_signal(task, call.by())
    task.require_begun()
    with task.transaction() as change:
        if all(fact.name != name for fact in change.state.facts):
            names = [f"withdraw {fact.name}" for fact in change.state.facts] or ["status"]
            remedy = " or ".join(of_task(f"phase-gate {each}", task.project.task) for each in names)
            raise NotAllowedError(f"{name} is not declared in this phase", remedy=remedy)
        change.record(Event(kind="fact-withdrawn", data={"name": name, "by": call.by()}))
    return Done(text=f"{name} is taken back", document={"withdrawn": name})


def _withdraw_signal(task: Task, by: str) -> Done:
    store = task.store
    waiting = read_signal_file(store.signal_file, spent=task.state.spent_signal)
    if waiting is None:
        remedy = show_next(status_command(task.project.task), "shows the task")
        raise NotAllowedError("no signal is waiting", remedy=remedy)
    if store.signal_file.is_dir() and not store.signal_file.is_symlink():
        # Not our file, so do not delete it. Reporting it as withdrawn would be wrong.
        raise StorageError(waiting.problem, remedy=f"move {store.signal_file} out of the way")
    with task.transaction() as change:
        record = {"answer": waiting.answer, "by": by, "file": waiting.file}
        change.record(Event(kind="signal-withdrawn", data=record))
    remove_signal_file(store.signal_file, waiting)
    return Done(
        text=f"signal {waiting.answer} is taken back",
        document={"withdrawn": "signal", "answer": waiting.answer},
        next_command=status_command(task.project.task),
    )


# --- return to an earlier phase, with a reason


@again_if_moved
def rewind(call: Call) -> Done:
    task, reason = call.task(), call.arguments.reason
    task.require_begun()
    task.refuse_agent()
    with task.transaction() as change:
        state = change.state
        assert state.phase is not None, "a task that exists is in a phase"
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        names = [phase.name for phase in workflow.phases]
        wanted = workflow.phase(call.arguments.phase)
        if wanted is None:
            raise UsageError(f"unknown phase {cut(call.arguments.phase)!r}", remedy=f"use one of: {', '.join(names)}")
        if state.phase == DONE:
            raise PhaseOrderError(
                "the cycle is done: there is no way back into it", remedy=start_command(workflow, state.task)
            )
        if state.is_stuck:
            raise stuck_error(state)
        pipeline = find_pipeline(state)
        if pipeline is not None:
            names = _main_names(state, workflow, wanted)
        if names.index(wanted.name) > names.index(state.phase):
            raise PhaseOrderError(
                f"{wanted.name} comes after {state.phase}: rewind only goes back",
                remedy=status_command(state.task),
            )
        record = {"from": state.phase, "to": wanted.name, "reason": reason, "by": call.by()}
        remembered = remember(task.after(change), workflow, wanted)
        entered: dict[str, Any] = {"phase": wanted.name, "how": "rewind", "first": wanted is workflow.first}
        if pipeline is not None:
            current = workflow.phase(state.phase)
            entered |= entry_data(pipeline, workflow, current, wanted, "rewind", files_in(remembered))
        change.record(
            Event(kind="rewound", data=record),
            Event(kind="phase-entered", data={**entered, "remembered": dict(remembered.phase)}),
        )
    return Done(text=f"back in {wanted.name}", document=record, next_command=phase_command(wanted, state.task))


def _main_names(state: State, workflow: Workflow, wanted: Phase) -> list[str]:
    """Return the phases of a pipeline's route. Raises PhaseOrderError if a rewind would bypass a recovery."""
    current = workflow.phase(state.phase or "")
    if wanted.recovers or current is None or current.recovers:
        raise PhaseOrderError(
            f"{wanted.name} can't be entered from {state.phase} by a rewind: a recovery has its own ways",
            remedy=of_task("phase-gate pipeline recover", state.task),
        )
    return list(main_line(workflow))


# --- run the suite once, and keep its tests and outcomes as the baseline of the next cycle


def baseline(call: Call) -> Done:
    task = call.task()
    project, store = task.project, task.store
    refuse_baseline(task.state, task.rules)
    require_plugin()
    with _checkout(project, call.start, call.arguments.rev) as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            f"--phase-baseline={call.arguments.rev or 'work tree'}",
            f"--phase-dir={project.state_folder.absolute()}",
            f"--phase-task={project.task}",
            *call.arguments.arguments,
        ]
        output = sys.stderr if call.arguments.json else None
        status = subprocess.run(command, cwd=folder, check=False, stdout=output).returncode
    if status != 0:
        error = StorageError if status == exit_codes.NOT_TRUSTED else NotAllowedError
        raise error("no baseline was taken", remedy="see the output above")
    state = store.read().state
    assert state.latest_snapshot is not None, "the run has just recorded it"
    total = sum(len(file["ids"]) for file in store.objects.load(state.latest_snapshot.inventory)["files"].values())
    odd = store.objects.load(state.latest_snapshot.outcomes)
    failing = sorted(test_id for test_id, bucket in odd.items() if bucket in ("failed", "error", "uncollectable"))
    document = {"total": total, "known_failures": failing, "revision": call.arguments.rev}
    rows = [f"the next cycle starts from {total} tests", *(f"  known failure: {test_id}" for test_id in failing)]
    return Done(text=show_rows(rows), document=document, next_command="pytest --phase=red")


@contextlib.contextmanager
def _checkout(project: Project, start: Path, revision: str | None) -> Iterator[Path]:
    """Yield the folder to run in: the current one, or the same folder in a worktree of the revision."""
    if revision is None:
        yield start
        return
    top = _git(project.root, "rev-parse", "--show-toplevel").strip()
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        place = Path(folder) / "tree"
        _git(project.root, "worktree", "add", "--detach", str(place), revision)
        try:
            yield place / os.path.relpath(start, top)
        finally:
            _git(project.root, "worktree", "remove", "--force", str(place))


def _git(folder: Path, *arguments: str) -> str:
    remedy = "name a revision that git knows, inside a repository; a shallow clone needs: git fetch --unshallow"
    return act_with_git(folder, *arguments, remedy=remedy)
