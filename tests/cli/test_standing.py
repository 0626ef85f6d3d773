"""Where a task stands is one question with one answer, whichever command is asked. All of them only look."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.verdict import show_verdict
from phase_gate.project import Project as RealProject
from phase_gate.report.story_builder import read_story
from tests.cli.conftest import Begin, CommandProject
from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, Pipe
from tests.tasks.verifying import TASK, Gate


class Asker:
    """Asks one command after the other about one task: what it would exit with, and why."""

    def __init__(self, gated: CommandProject, monkeypatch: pytest.MonkeyPatch, task: str) -> None:
        self._desk, self._monkeypatch, self._task = gated, monkeypatch, task

    def command(self, name: str) -> tuple[int, str]:
        ran = self._desk.gate(name, "--json", f"--task={self._task}")
        return ran.code, show_verdict(ran.document["status"], ran.document["reason"])

    def watch(self) -> tuple[int, str]:
        def interrupt(seconds: float) -> NoReturn:
            raise KeyboardInterrupt

        self._monkeypatch.setattr("phase_gate.cli.look.time", SimpleNamespace(sleep=interrupt))
        ran = self._desk.gate("status", "--watch", f"--task={self._task}")
        (verdict,) = [row for row in ran.out.splitlines() if row.startswith("verdict ")]
        return ran.code, verdict.removeprefix("verdict").strip()

    def report(self) -> tuple[int, str]:
        project = RealProject.find(self._desk.root, environment=dict(os.environ), task=self._task)
        standing: CurrentStatus = read_story(project, project.store("phase-gate report")).standing
        return standing.exit_code, standing.verdict

    def stop(self) -> Any:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"hook_event_name": "Stop"}')))
        return self._desk.json("hook", "stop", f"--task={self._task}")

    def prompt(self) -> str:
        return str(self._desk.json("agent", "prompt", f"--task={self._task}")["phase"])


ASKERS: dict[str, Callable[[Asker], tuple[int, str]]] = {
    "check": lambda asker: asker.command("check"),
    "status": lambda asker: asker.command("status"),
    "explain": lambda asker: asker.command("explain"),
    "status --watch": Asker.watch,
    "report": Asker.report,
}


# --- a task in each of its situations


def _at(story: str, then: Callable[[CommandProject], object] = lambda gated: None) -> Callable[[Begin, Project], str]:
    def play(begin: Begin, project: Project) -> str:
        then(begin(story))
        return "default"

    return play


def _stuck_pipeline(begin: Begin, project: Project) -> str:
    Pipe(project).begin(CONFIGURATION + "parameters: {max_recoveries: 0}\n").fail()
    return "default"


def _pipeline_without_verdict(begin: Begin, project: Project) -> str:
    Pipe(project).begin()
    return "default"


def _verifying(approved: bool = False, then: Callable[[Project], object] = lambda project: None) -> Any:
    """A verify task that lists a document, which is no part of the tree of any other task."""

    def play(begin: Begin, project: Project, monkeypatch: pytest.MonkeyPatch) -> str:
        project.write({"notes.md": "PlannerId is a number.\n", "planner.py": "x = 1\n"})
        project.commit_all()
        gate = Gate(project, monkeypatch)
        gate.reviewing(files=["planner.py", "notes.md"])
        if approved:
            assert gate.review().code == 0
        then(project)
        return TASK

    return play


#: Situation -> what leads there, and what `check` exits with.
SITUATIONS: dict[str, tuple[Any, int]] = {
    "nothing-recorded": (_at(""), 10),
    "red-waits": (_at("red"), 10),
    "refactor-closed": (_at("refactor"), 10),
    "document-next": (_at("refactor-exited"), 0),
    "document-closed": (_at("document", lambda gated: gated.gate("advance")), 10),
    "red-again": (_at("red-exited", lambda gated: gated.gate("rewind", "red", "--reason", "a case is missing")), 10),
    "gate-2-waits": (_at("green"), 10),
    "gate-1-closed": (_at("green-once"), 10),
    "open": (_at("green-exited"), 0),
    "open-and-the-cycle-goes-on": (_at("red-exited"), 0),
    "no-verdict-yet": (_at("document"), 10),
    "files-changed": (_at("green-exited", CommandProject.edit_source), 10),
    "lost-run": (_at("green-exited", CommandProject.lose_run), 10),
    "halted": (_at("stuck-5"), 12),
    "done": (_at("done"), 0),
    "pipeline-without-verdict": (_pipeline_without_verdict, 10),
    "pipeline-stuck": (_stuck_pipeline, 12),
    "verify-task-in-review": (_verifying(), 10),
    "verify-task-open": (_verifying(approved=True), 0),
    "verify-task-code-changed": (
        _verifying(approved=True, then=lambda project: project.write({"planner.py": "x = 2\n"})),
        10,
    ),
    "verify-task-document-changed": (
        _verifying(approved=True, then=lambda project: project.write({"notes.md": "It is a word.\n"})),
        10,
    ),
}


def _without_clock(reason: str) -> str:
    return re.sub(r"\d+ (?:min|s) left", "N left", reason)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_command_says_the_same(
    begin: Begin, project: Project, monkeypatch: pytest.MonkeyPatch, situation: str
) -> None:
    play, code = SITUATIONS[situation]
    more = (monkeypatch,) if situation.startswith("verify") else ()
    task = play(begin, project, *more)
    asker = Asker(begin(""), monkeypatch, task)
    told = {name: (exits, _without_clock(reason)) for name, ask in ASKERS.items() for exits, reason in (ask(asker),)}
    verdict = told["check"][1]
    expected = dict.fromkeys(ASKERS, (code, verdict))
    if situation == "nothing-recorded":  # where nothing has begun, a look refuses nothing
        expected |= {name: (0, verdict) for name in ASKERS if name.startswith("status")}
    assert told == expected
    checked = begin("").json("check", f"--task={task}")
    phase = checked["phase"]
    if phase not in (None, "DONE", "STUCK"):
        assert asker.prompt() == phase
    _assert_stop(asker, code, checked)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_next_step_leads_on_when_it_is_typed_as_it_stands(
    begin: Begin, project: Project, monkeypatch: pytest.MonkeyPatch, situation: str
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "dev@example.org")
    play, _ = SITUATIONS[situation]
    task = play(begin, project, *((monkeypatch,) if situation.startswith("verify") else ()))
    gated = begin("")
    said = gated.json("check", f"--task={task}")
    program, *words = shlex.split(said["next_command"]) or ["nothing"]
    if program == "pytest":
        assert project.run(*words).code not in (4, 13)
    elif program == "phase-gate":
        assert gated.gate(*words).code not in (2, 13)
    else:
        assert said["next_hint"], "where nothing can be typed, it is said what to do"


def _assert_stop(asker: Asker, code: int, checked: dict[str, Any]) -> None:
    """The stop hook says what `check` says; it sends an agent on, or lets it go where a person is needed."""
    answer = asker.stop()
    if checked["phase"] in (None, "DONE"):
        assert (answer["verdict"], answer["reason"]) == ("allow", "")
        return
    if code == 0 and answer["verdict"] == "allow":
        assert answer["reason"] == ""
        return
    for name in ("status", "reason", "next_command", "next_hint"):
        assert _without_clock(answer[name]) == _without_clock(checked[name])
    is_over = code == 12 or checked["status"] == "needs-person"
    assert (answer["verdict"], answer["needs_person"]) == (("allow", True) if is_over else ("block", False))
