"""`phase-gate check`, `status`, `status --watch`: the status of a task, the same for every command that is asked."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
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
from tests.cli.terminals import Terminal
from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, Pipe
from tests.tasks.verifying import TASK, Gate

# --- check


def test_what_it_says(begin: Begin) -> None:
    gated = begin("green")
    before = gated.files()
    document = gated.json("check")
    assert gated.files() == before, "it only looks"
    assert document == {
        "task": "default",
        "root": str(gated.root),
        "phase": "GREEN",
        "open": False,
        "reason": "Gate 1 is open; Gate 2 waits for the exit signal",
        "status": "waiting",
        "next_command": "phase-gate signal",
        "next_hint": '--reason "..." adds a reason',
        "forced_exit": False,
    }
    following = f"{document['next_command']}  # {document['next_hint']}"
    assert gated.gate("check").out == f"GREEN: closed: {document['reason']}\n  next: {following}\n"


# --- status


def test_the_text_says_it_all(begin: Begin) -> None:
    gated = begin("refactor")
    gated.gate("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    gated.gate("signal", "--next", "--reason", "soon")
    rows = dict(line.split(maxsplit=1) for line in gated.gate("status").out.splitlines())
    (fact,) = gated.json("status")["facts"]
    assert rows == {
        "root": str(gated.root),
        "task": "default",
        "workflow": "tdd, cycle 1",
        "phase": "REFACTOR, iteration 1",
        "streak": "1 green in a row",
        "fact": f"refactoring_complete = true, declared by ann at {fact['at']}: tidy"
        " (not judged yet: run again, or signal)",
        "signal": "waiting for the next evaluation",
        "verdict": gated.json("status")["reason"],
        "next": 'phase-gate signal  # --reason "..." adds a reason',
    }


def test_a_fact_that_was_judged_is_not_called_new(begin: Begin) -> None:
    gated = begin("refactor-exited")
    (fact,) = gated.json("status")["facts"]
    shown = f"fact     refactoring_complete = true, declared by {fact['by']} at {fact['at']}: tidy\n"
    assert gated.gate("status").has(shown)


def test_a_malformed_signal_is_said_with_its_place(begin: Begin) -> None:
    gated = begin("red")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    assert gated.json("status")["signal_waiting"].startswith("exit-signal.yaml:1:14: exit_signal is 'yes'; write ")
    assert gated.gate("status").has("signal   exit-signal.yaml:1:14: exit_signal is 'yes'")


def test_lost_and_open_runs_are_named(begin: Begin) -> None:
    gated = begin("green")
    with gated.open_run() as run:
        document = gated.json("status")
        assert (document["open_runs"], document["lost_runs"], document["reason"]) == ([run], [], "a run is in progress")
    document = gated.json("status")
    assert (document["open_runs"], document["lost_runs"]) == ([], [run])
    assert document["reason"] == "run feedface began and never ended"


def test_tasks_never_touch_each_other(begin: Begin) -> None:
    gated = begin("green")
    document = gated.json("status", "--task", "other")
    assert (document["task"], document["phase"]) == ("other", None)
    gated.project.environment.setenv("PHASE_GATE_TASK", "other")
    assert gated.json("status")["task"] == "other"
    assert gated.json("status", "--task", "default")["phase"] == "GREEN"


def test_another_state_folder(begin: Begin) -> None:
    gated = begin("green")
    gated.folder.rename(gated.root / "elsewhere")
    assert gated.json("status")["phase"] is None
    assert gated.json("status", "--dir", "elsewhere")["phase"] == "GREEN"
    gated.project.environment.setenv("PHASE_GATE_DIR", "elsewhere")
    assert gated.json("status")["phase"] == "GREEN"


# --- status --watch


def test_it_redraws_while_a_session_runs(begin: Begin) -> None:
    gated = begin("green-once")
    screen = Terminal(gated.root, "status", "--watch")
    shown = screen.read_until("watching; Ctrl-C ends it")
    assert "phase    GREEN, iteration 1" in shown
    assert "one more green run" in shown
    with gated.open_run():
        screen.read_until("a run is in progress")
    screen.read_until("began and never ended")
    assert gated.project.run("--phase=green").code in (0, 10)
    screen.read_until("iteration 2")
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == 10


def test_no_json(begin: Begin) -> None:
    gated = begin("green")
    assert gated.error("status", "--watch")[:2] == (2, "bad-usage")


# --- one question, one answer


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
