"""Projects that an agent without a model is driven through, by the real command in a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phase_gate.drive.loop import Session, Working
from phase_gate.evidence.process.run import Ended
from phase_gate.workflow.model import Phase
from tests.cli.conftest import Begin, CommandProject, begin, stories
from tests.cli.terminals import Terminal
from tests.drive.pipelines import PipelineDrive
from tests.drive.team import FAKE, TaskList, Turn, prompt_of, turns_of
from tests.evidence.processes import wait_for
from tests.support import CALC, FAILING_TESTS, OURS, Result

__all__ = ["begin", "stories"]

#: What every driven project says: our plugin and no other in its runs, nothing to wait for.
SETTINGS: dict[str, Any] = {"pytest": [*OURS, "-q"], "until": "GREEN"}

RED, RIGHT = FAILING_TESTS, CALC
WRONG = CALC.replace("a + b", "a - b")
DONE = (
    "All tasks are completed, ready for review.\n\nEXIT_STATUS: COMPLETE\nEXIT_REASON: it works\nREMAINING_WORK: none\n"
)


def answer(reason: str = "I looked at it", **more: str) -> Turn:
    return {"answer": {"exit_signal": "true", "reason": reason, **more}}


Start = Callable[..., "subprocess.Popen[str]"]


class Track:
    """A project, and the command that drives the fake agent through it."""

    def __init__(self, gated: CommandProject) -> None:
        self.gated, self.root, self.project = gated, gated.root, gated.project
        self.script = gated.root.parent / f"{gated.root.name}-script.json"

    @property
    def agent(self) -> tuple[str, ...]:
        # Isolated: it starts in a fraction of the time, and nothing of the project's reaches it.
        return (sys.executable, "-I", "-S", str(FAKE), str(self.script))

    def plan(self, *turns: Turn, workflow: str = "tdd", **settings: Any) -> Track:
        """Write what the agent does, and the project's settings of the drive."""
        self.script.write_text(json.dumps(turns), encoding="utf-8")
        document = {"workflow": workflow, "drive": {**SETTINGS, **settings}}
        self.project.write({"phase-gate.yaml": json.dumps(document) + "\n"})
        return self

    def drive(self, *options: str, real: bool = False, **environment: str) -> Result:
        """Drive to the end; plain lines.

        :param real: in a process of its own, with runs of the tests in theirs; else only the agent has one.
        """
        words = ("drive", *options, *self.behind)
        if real:
            return self.project.gate(*words, **environment)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("phase_gate.drive.turn.run_suite", self._run_in_process)
            for name, value in environment.items():
                patch.setenv(name, value)
            return self.gated.gate(*words)

    def _run_in_process(self, session: Session, phase: Phase, log: Path, working: Working) -> Ended:
        """Run the tests as `run_suite` does, without the start of an interpreter."""
        began, project = time.monotonic(), session.project
        for _ in range(2):
            before = project.store("tests").read().state.streak
            # What pytester repeats is no line of the drive.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                ran = self.project.run(f"--phase={phase.name.lower()}", "-q")
            if phase.tests != "passing" or project.store("tests").read().state.streak != before + 1 or before:
                break
        log.write_text(ran.out, encoding="utf-8")
        seconds = max(time.monotonic() - began, 0.001)
        return Ended(code=ran.code, how="ended", seconds=seconds, output=log)

    def rows(
        self, *options: str, code: int | None = None, real: bool = False, **environment: str
    ) -> list[dict[str, Any]]:
        """Drive to the end; JSON lines."""
        ran = self.drive("--json", *options, real=real, **environment)
        assert code is None or ran.code == code, f"{ran.code}\n{ran.out}\n{ran.err}"
        rows = [json.loads(line) for line in ran.out.splitlines()]
        assert 99 not in [row.get("code") for row in rows], "every prompt had what the agent expected of it"
        return rows

    @property
    def behind(self) -> tuple[str, ...]:
        """What comes last in the command."""
        return ("--", *self.agent)

    def agent_sleeps(self) -> int:
        """Wait until the agent sleeps; return its pid."""
        return int(wait_for(self.script.with_suffix(".sleeps")))

    def prompt(self, number: int) -> str:
        """What the agent read in its turn."""
        return prompt_of(self.script.with_suffix(""), number)

    def turns(self) -> int:
        """How often the agent was started."""
        return turns_of(self.script.with_suffix(""))

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """What the ledger says, each with its kind."""
        lines = (self.gated.folder / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [{"kind": row["kind"], **row["data"]} for row in map(json.loads, lines)]
        return [row for row in rows if not kind or row["kind"] == kind]

    def iterations(self) -> list[dict[str, Any]]:
        """The iterations that have ended."""
        return self.events("iteration-ended")

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self.gated.folder / "cache" / "checkpoint.json").read_text())["state"]
        return state


@pytest.fixture
def at_terminal() -> Iterator[Callable[..., Terminal]]:
    """Return a function that starts a drive at a terminal: none outlives the test."""
    opened: list[Terminal] = []

    def open_terminal(root: Path, *words: str, **environment: str) -> Terminal:
        opened.append(Terminal(root, "drive", *words, **environment))
        return opened[-1]

    yield open_terminal
    for each in opened:
        if each.process.poll() is None:
            each.process.send_signal(signal.SIGTERM)  # so that it ends its agent, too
            each.process.wait()


@pytest.fixture
def track(begin: Begin) -> Callable[[str], Track]:
    """Return a function that gives a project at a point of its story; '' has not begun."""
    return lambda story: Track(begin(story))


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a driver, which can be signalled: none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start_driver(driven: Track | TaskList, *options: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "phase_gate.cli", "drive", *options, *driven.behind],
                cwd=driven.root,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield start_driver
    for driver in started:
        if driver.poll() is None:
            driver.send_signal(signal.SIGTERM)
            driver.communicate()


@pytest.fixture
def task_list(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> TaskList:
    """A project with a list of verify tasks, and a team that has not begun."""
    return TaskList(begin(""), monkeypatch)


@pytest.fixture
def pipeline(track: Callable[[str], Track]) -> PipelineDrive:
    return PipelineDrive(track(""))
