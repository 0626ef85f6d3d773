"""The main loop: let agents work, step by step, until the work is done, a person is needed, or the budget is spent.

A drive works on a source of steps: the phases of a cycle or of a pipeline, or a list of verify tasks. A step is an
agent's turn. Its output decides nothing, and its answer is a file with a name made for this turn only. Events that were
recorded during the turn are reported, because the drive did not record them.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from phase_gate.agents.endings import classify
from phase_gate.bound import sha256
from phase_gate.drive.clients import Client, choose_environment
from phase_gate.drive.drive_state import Decision, Outcome
from phase_gate.errors import RollbackError
from phase_gate.evidence.process.output import blot, find_secrets
from phase_gate.evidence.process.run import Ended, How, run_process
from phase_gate.evidence.process.tree import MARK, PatientInterrupts, end_marked, hide_environment
from phase_gate.project import STATE_FOLDER, Project
from phase_gate.storage import store
from phase_gate.storage.files import REAL, make_folder, remove_file, write_atomically
from phase_gate.storage.root import DEFAULT_TASK
from phase_gate.storage.store import DRIVER, TaskStore
from phase_gate.task import Task
from phase_gate.tasks.handins import MAX_SIZE
from phase_gate.tasks.rules import seconds_between
from phase_gate.values import Value, field, replace
from phase_gate.visible import show_line, show_rows
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import ANSWER_VARIABLE, show_duration
from phase_gate.workflow.sections import DriveSettings

#: Bytes kept of a transcript: its beginning, and its end with the agent's summary. Then bytes of test output.
_KEPT, _KEPT_OF_TESTS = 1 << 20, 256 * 1024
_PAUSE = 0.1


# --- what is shown: events as lines, and the status line


class Happening(Value):
    """An event of a running drive: a view prints its lines, and `--json` its data."""

    kind: str
    at: str
    #: For people; empty if the next event shows what happens.
    lines: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return show_rows(self.lines)

    @property
    def document(self) -> dict[str, Any]:
        """The line of `phase-gate drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


class Working(Value):
    """Who is working."""

    #: `agent`, `tests`, `executor`, `verify`, `reviewer`, a voter's name, or `waits`.
    role: str
    #: The phase or the task, and the number of the iteration or the attempt.
    where: str
    number: int
    #: The time limit in seconds; 0 for none.
    limit: float = 0.0


_DOING = {"tests": "tests run", "verify": "verify command runs", "waits": "waits"}


def render_status(working: Working, seconds: float) -> str:
    """Return the status line, which is redrawn: who works, and for how long."""
    doing = _DOING.get(working.role, f"{working.role} works")
    limit = f" of {show_duration(working.limit)}" if working.limit else ""
    return show_line(f"{working.where} {working.number} · {doing} {show_duration(seconds)}{limit}")


# --- a drive


class Watchers(Value):
    """Callbacks that display a drive and ask the user."""

    tell: Callable[[Happening], None]
    #: Called with the status line, several times a second.
    progress: Callable[[str], None] = lambda status: None
    #: Called with a text and the prompt for the answer; returns the typed answer, empty for none. None: there is no
    #: person to ask.
    ask: Callable[[str, str], str] | None = None


class Session:
    """A running drive. Results are in the ledger; this object has only what may be lost with the process."""

    def __init__(
        self, project: Project, settings: DriveSettings, watchers: Watchers, *, work: str, goal: str = ""
    ) -> None:
        """Prepare a drive.

        :param work: the name of a task or of a list. Only one drive of that name can run in this state folder.
        """
        # In the environment of all processes: by this mark, a later drive of the same work finds those left running.
        self.mark = sha256(os.fsencode(os.path.realpath(project.state_folder) + "\0" + work)).hexdigest()[:32]
        marks = ":".join(filter(None, (project.environment.get(MARK), self.mark)))
        self.project = replace(project, environment={**project.environment, MARK: marks})
        self.settings, self.watchers, self.goal = settings, watchers, goal
        self.interrupts = PatientInterrupts()
        self._has_announced_end = False

    @property
    def is_asked_to_end(self) -> bool:
        """Whether the user wants the drive to end after the current step."""
        return self.interrupts.is_asked_to_end

    @property
    def is_cut_off(self) -> bool:
        """Whether the user wants the drive to end at once."""
        return bool(self.interrupts.number)

    def task(self) -> Task:
        return Task.open(self.project, command=DRIVER)

    def relative(self, path: Path) -> str:
        root = self.project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def tell(self, kind: str, *lines: str, **data: Any) -> None:
        """Report an event: as lines for people, and as data for `--json`."""
        self.watchers.tell(Happening(kind=kind, at=store.now(), lines=lines, data=data))

    def note(self, text: str) -> None:
        self.tell("note", f"  note     {text}", text=text)

    def ask(self, text: str, prompt: str) -> str:
        """Return the user's answer; empty if there is no terminal or no answer, or the user ends the drive."""
        return "" if self.watchers.ask is None or self.is_asked_to_end else self.watchers.ask(text, prompt)

    def show(self, working: Working, seconds: float) -> None:
        """Show who is working. After the first Ctrl-C, print once that it was noticed."""
        if self.is_asked_to_end and not self._has_announced_end:
            self._has_announced_end = True
            self.note("ends when this is done; Ctrl-C again ends it at once")
        self.watchers.progress(render_status(working, seconds))

    def wait(self, working: Working, seconds: float, why: str) -> None:
        """Wait by the ledger's clock, until the user interrupts."""
        seconds = round(seconds, 1)
        self.tell("waits", f"  waits    {show_duration(seconds)}: {why}", seconds=seconds, reason=why)
        began, waits = store.now(), replace(working, role="waits", limit=seconds)
        # A little longer, so that the rules do not find the last millisecond missing.
        while (left := seconds + 0.01 - seconds_between(began, store.now())) > 0 and not self.is_asked_to_end:
            self.show(waits, max(0.0, seconds - left))
            pause(min(_PAUSE, left))

    def run(self, words: list[str], working: Working, log: Path, limit: int, **more: Any) -> Ended:
        """Run a command to its end, its time limit, or an interrupt, and show who is working."""
        return run_process(
            words,
            shell=False,
            cwd=self.project.root,
            timeout=working.limit,
            log=log,
            limit=limit,
            tick=lambda seconds: self.show(working, seconds),
            interrupts=self.interrupts,
            leaves_none=True,
            **more,
        )


def pause(seconds: float) -> None:
    """Wait a moment. Tests advance their own clock instead."""
    time.sleep(seconds)


# --- a step: an agent's turn


class Step(Value):
    """Who works, on what, for how long, and where the answer is expected."""

    client: Client
    store: TaskStore
    #: The prompt, and its file.
    text: str
    prompt: Path
    #: The file for the agent's answer.
    answer: Path
    #: For the status line. Its `limit` is the time limit.
    working: Working


class Played(Value):
    """How an agent's turn ended, and its results."""

    how: How
    code: int | None
    seconds: float
    #: All of its output, and its standard output, which contains its claim.
    transcript: Path
    stdout: str
    #: Why the client can't work, and a person has to see to it; empty if it can.
    trouble: str = ""
    #: The answer, up to the size limit; None if there is none.
    data: bytes | None = None
    #: The kinds of events that were recorded about the task meanwhile, but not by the drive.
    recorded: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        if self.how == "ended":
            return "ended" if self.code == 0 else f"failed with {self.code}"
        return {"timed-out": "ran out of time", "interrupted": "was interrupted"}.get(
            self.how, f"did not start: {self.trouble}"
        )


def make_answer(session: Session, folder: Path, role: str) -> Path:
    """Return the path for an agent's answer: below the root, because many agents can't write elsewhere."""
    if not folder.is_relative_to(session.project.root):
        own = session.project.root / ".phase-gate"
        make_folder(REAL, own)
        write_atomically(REAL, own / ".gitignore", b"*\n", durable=False)
        folder = own / "drive"
    make_folder(REAL, folder)
    return folder / f"{role}-{secrets.token_hex(8)}.yaml"


def play(session: Session, step: Step) -> Played:
    """Run an agent's turn."""
    project, client = session.project, step.client
    write_atomically(REAL, step.prompt, blot(step.text, find_secrets(project.environment)).encode(), durable=False)
    serial = step.store.read().serial
    given = {**choose_environment(project), "PHASE_GATE_TASK": step.store.task, ANSWER_VARIABLE: str(step.answer)}
    if "PHASE_GATE_DIR" in given:
        given["PHASE_GATE_DIR"] = str(project.state_folder)  # the agent may be in another folder than the user
    ended = session.run(
        client.fill(step.prompt),
        step.working,
        step.prompt.with_suffix(".log"),
        _KEPT,
        environment=given,
        stdin=step.prompt if client.reads_stdin else None,
        secrets=project.environment,
        mark=session.mark,
    )
    lines = tuple(step.store.lines())
    if not lines or lines[-1].seq < serial:
        problem = "events were removed from the ledger while the agent worked"
        raise RollbackError(problem, remedy="look at what the agent did, then restore the state folder or begin again")
    ending = classify(ended.code, _read_text(ended.output), is_known=client.is_known)
    trouble = ended.problem or "it did not start" if ended.how == "not-started" else ""
    played = Played(
        how=ended.how,
        code=ended.code,
        seconds=round(ended.seconds, 3),
        transcript=ended.output,
        stdout=_read_text(ended.stdout),
        trouble=trouble or ending.message,
        data=_take_file(step.answer),
        recorded=tuple(line.event.kind for line in lines if line.seq > serial),
    )
    took, transcript = show_duration(round(ended.seconds)), session.relative(ended.output)
    session.tell(
        "agent-ended",
        f"  agent    {client.name} {played.shown} after {took} ({transcript})",
        role=step.working.role,
        how=played.how,
        code=played.code,
        seconds=round(ended.seconds, 3),
        transcript=transcript,
    )
    return played


def _take_file(path: Path) -> bytes | None:
    """Return the agent's answer and remove the file; empty if the agent made a link or a folder instead."""
    try:
        if path.is_symlink() or not path.is_file():
            return b"" if os.path.lexists(path) else None
        with path.open("rb") as stream:
            return stream.read(MAX_SIZE + 1)
    except OSError:
        return None
    finally:
        remove_file(path)


def _read_text(path: Path | None) -> str:
    try:
        return "" if path is None else path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# --- our own test run


def run_suite(session: Session, phase: Phase, log: Path, working: Working) -> Ended:
    """Run the phase by name in a separate process; repeat if a streak is required."""
    project = session.project
    words = [sys.executable, "-m", "pytest", f"--phase={phase.name.lower()}"]
    if phase.tests == "passing":
        words.append("--phase-confirm")
    if project.task != DEFAULT_TASK:
        words.append(f"--phase-task={project.task}")
    if project.state_folder != project.root / (project.configuration.run.dir or STATE_FOLDER):
        words.append(f"--phase-dir={project.state_folder}")
    environment = {name: value for name, value in project.environment.items() if name != ANSWER_VARIABLE}
    words += session.settings.pytest
    return session.run(words, working, log, _KEPT_OF_TESTS, environment=environment, is_apart=False)


# --- the loop


class Source(Protocol):
    """The work of a drive, as a source of steps."""

    def held(self) -> AbstractContextManager[None]:
        """Lock the work for this drive. Raises NotAllowedError if another drive has the lock."""

    def begin(self) -> None:
        """Record and report that the drive begins or continues. The processes of an earlier one have ended."""

    def next(self) -> Step | Decision:
        """Return the next agent's turn, or how the drive ends."""

    def take(self, step: Step, played: Played) -> None:
        """Judge the agent's work and record the result."""


#: Outcomes in which a person has to decide.
_FOR_PERSON = frozenset({Outcome.PERSON, Outcome.HALTED})


def drive(session: Session, source: Source) -> Decision:
    """Drive to the end.

    Raises PhaseGateError if the drive may not begin, or if the state can no longer be trusted.
    """
    if choose_environment(session.project) != session.project.environment:
        hide_environment()  # it has variables that agents must not have, and an agent could read them there
    with source.held(), session.interrupts:
        if end_marked(session.mark):
            session.note("an earlier driver died: what its agents left running is ended")
        source.begin()
        while isinstance(step := source.next(), Step):
            source.take(step, play(session, step))
        if step.outcome in _FOR_PERSON:
            session.tell("person-needed", reason=step.reason)
        session.tell(
            "drive-ended",
            f"drive ends: {step.outcome}: {step.reason} ({step.spent})",
            outcome=str(step.outcome),
            reason=step.reason,
            exit_code=step.exit_code,
            next_command=step.next_command,
        )
        return step
