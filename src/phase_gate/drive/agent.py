"""An agent's turn: start it, keep what it prints, and take what it hands in; and our own run of the tests.

What it prints decides nothing. What it hands in is a file whose name is made for this one turn, and no other; and what
was recorded while it worked is told, for that was not the drive.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

from phase_gate.agents.endings import Ending, classify
from phase_gate.drive.clients import Client, choose_environment
from phase_gate.drive.session import Session, Working
from phase_gate.evidence.process.output import blot
from phase_gate.evidence.process.run import Ended, How, run_process
from phase_gate.project import STATE_FOLDER, Project
from phase_gate.storage.files import REAL, make_folder, remove_file, write_atomically
from phase_gate.storage.places import DEFAULT_TASK
from phase_gate.storage.store import TaskStore
from phase_gate.tasks.handins import MAX_SIZE
from phase_gate.values import Value, field
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import ANSWER_VARIABLE
from phase_gate.workflow.settings import DriveSettings

#: Bytes of a transcript that are kept: the beginning, and the end, where an agent says what it did.
_KEPT = 1 << 20
#: Bytes of the tests' output that are kept.
_KEPT_OF_TESTS = 256 * 1024
#: Our folder in a project whose state lies elsewhere.
_OWN = ".phase-gate"


class Step(Value):
    """An agent's turn: who works, on what, for how long, and where it hands something in."""

    client: Client
    store: TaskStore
    #: What it is told, and the file for that.
    text: str
    prompt: Path
    #: Where what it hands in is expected.
    answer: Path
    #: What every process of the agent is known by.
    mark: str
    #: As it is shown; `limit` is its time.
    working: Working
    #: Beside what every agent gets.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Seconds of the budget.
    left: float = float("inf")

    @property
    def log(self) -> Path:
        return self.prompt.with_suffix(".log")


class Played(Value):
    """How an agent's turn ended, and what it left behind."""

    how: How
    code: int | None
    seconds: float
    #: All that it printed, and what stands on its standard output: its claim.
    transcript: Path
    said: str
    #: What its end means, by what the client tells of it.
    ending: Ending
    problem: str = ""
    #: What it handed in, and no more than may be read of it; None: nothing.
    data: bytes | None = None
    #: The kinds of events that were recorded about the task meanwhile, and not by the drive.
    recorded: tuple[str, ...] = ()
    #: Seconds of waiting for the client to be free.
    waited: float = 0.0

    @property
    def shown(self) -> str:
        if self.how == "ended":
            return "ended" if self.code == 0 else f"failed with {self.code}"
        return {"timed-out": "ran out of time", "interrupted": "was interrupted"}.get(
            self.how, f"did not start: {self.problem}"
        )

    @property
    def is_busy(self) -> bool:
        """The client was refused for now: the same call works later."""
        return self.ending.kind == "busy"

    @property
    def trouble(self) -> str:
        """Why the client itself needs a person; empty if it does not."""
        if self.how == "not-started":
            return self.problem or "it did not start"
        return self.ending.said if self.ending.is_for_people else ""


def make_answer(session: Session, folder: Path, role: str) -> Path:
    """Return where an agent hands something in: below the root, for many may write nowhere else."""
    make_folder(REAL, folder)
    if not folder.is_relative_to(session.project.root):
        own = session.project.root / _OWN
        folder = own / "drive"
        make_folder(REAL, own)
        make_folder(REAL, folder)
        write_atomically(REAL, own / ".gitignore", b"*\n", durable=False)
    return folder / f"{role}-{secrets.token_hex(8)}.yaml"


def hand_in(session: Session, step: Step) -> Played:
    """Let the agent work until it stops, its time is over, or the user interrupts; return what it left."""
    write_atomically(REAL, step.prompt, blot(step.text, session.hidden).encode(), durable=False)
    serial = step.store.look().serial
    session.tail.clear()
    client = step.client
    ended = run_process(
        client.fill(step.prompt),
        shell=False,
        cwd=session.project.root,
        environment={
            **choose_environment(session.project, session.settings.env),
            **step.environment,
            ANSWER_VARIABLE: str(step.answer),
        },
        timeout=step.working.limit,
        log=step.log,
        limit=_KEPT,
        stream=cast(BinaryIO, session.tail),
        tick=lambda seconds: session.show(step.working, seconds),
        stdin=step.prompt if client.reads_stdin else None,
        secrets=session.project.environment,
        interrupts=session.interrupts,
        mark=step.mark,
        leaves_none=True,
    )
    has_ended = ended.how == "ended"
    played = Played(
        how=ended.how,
        code=ended.code,
        seconds=round(ended.seconds, 3),
        transcript=ended.output,
        said=_read_text(ended.stdout),
        problem=ended.problem,
        ending=classify(client.signs, ended.code, _read_text(ended.output)) if has_ended else Ending(kind="failed"),
        data=_take_file(step.answer),
        recorded=tuple(line.event.kind for line in step.store.lines() if line.seq > serial),
    )
    session.tell(
        "agent-ended",
        role=step.working.role,
        where=step.working.where,
        number=step.working.number,
        how=played.how,
        code=played.code,
        seconds=played.seconds,
        text=f"{client.name} {played.shown}",
        transcript=session.relative(played.transcript),
    )
    return played


def _take_file(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or not path.is_file():
            return None
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


# --- our own run of the tests


def suite_command(project: Project, phase: Phase, settings: DriveSettings) -> list[str]:
    """Return what we run: the phase by its name, and again where a streak is asked for."""
    words = [sys.executable, "-m", "pytest", f"--phase={phase.name.lower()}"]
    if phase.tests == "passing":
        words.append("--phase-confirm")
    if project.task != DEFAULT_TASK:
        words.append(f"--phase-task={project.task}")
    if project.state_folder != project.root / (project.configuration.run.dir or STATE_FOLDER):
        words.append(f"--phase-dir={project.state_folder}")
    return [*words, *settings.pytest]


def run_suite(session: Session, phase: Phase, log: Path, working: Working) -> Ended:
    """Run the tests as a process of their own, to their end, their time limit, or an interrupt."""
    project = session.project
    session.tail.clear()
    return run_process(
        suite_command(project, phase, session.settings),
        shell=False,
        cwd=project.root,
        environment={name: value for name, value in project.environment.items() if name != ANSWER_VARIABLE},
        timeout=working.limit,
        log=log,
        limit=_KEPT_OF_TESTS,
        stream=cast(BinaryIO, session.tail),
        tick=lambda seconds: session.show(working, seconds),
        is_apart=False,
        interrupts=session.interrupts,
        leaves_none=True,
    )
