"""A small project with one verify task, and the steps that tests take with it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import Project, Result

NAME = "Task 3: Create PlannerId"
TASK = "task-3-create-plannerid"

#: What people add to their decisions.
PERSON = ("--reason", "the registry is back", "--by", "mara")

WRONG = "def planner_id():\n    return 0\n"
RIGHT = "def planner_id():\n    return 42\n"

#: Fails until the task is done, and says so in a line that a test runner would print.
CHECK = """\
from planner import planner_id

if planner_id() != 42:
    print("FAILED test_planner.py::test_id - assert 0 == 42")
    print("FAILED test_planner.py::test_format - not a number", flush=True)
    raise SystemExit(1)
print("5 tests passed")
"""


def python(words: str) -> str:
    """Return a command that runs this Python."""
    return f"{shlex.quote(sys.executable)} {words}"


def report_on(task: str, file: str, command: str) -> dict[str, Any]:
    """Return an executor's report of success."""
    return {
        "status": "success",
        "task_name": task,
        "files_modified": [file],
        "verification": {"command": command, "exit_code": 0, "output_summary": "5 tests passed"},
        "done_criteria_met": True,
        "evidence": "planner_id() returns 42",
    }


def approve(task: str) -> dict[str, Any]:
    """Return a reviewer's verdict."""
    return {
        "verdict": "APPROVED",
        "task_name": task,
        "confidence": "HIGH",
        "findings": ["All 5 tests pass (verified output)"],
        "concerns": [],
        "recommendation": "commit",
    }


class Clock:
    """What the ledger takes for the time, and papers for the time of their files."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._later = timedelta()
        #: By which the machine that looks is wrong.
        self.skew = timedelta()
        for name in ("storage.store.now", "cli.verify.now"):
            patch.setattr(f"phase_gate.{name}", self._show)

    def wait(self, seconds: float) -> None:
        """Go on."""
        self._later += timedelta(seconds=seconds)

    def _now(self) -> datetime:
        return datetime.now(UTC) + self._later + self.skew

    def _show(self) -> str:
        return self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def paper(self, path: Path, document: object) -> str:
        """Write a paper, a text or a document, that is younger than what it is about; return its name."""
        text = document if isinstance(document, str) else yaml.safe_dump(document, sort_keys=False)
        path.write_text(text, encoding="utf-8")
        at = self._now().timestamp() + 0.01
        os.utime(path, (at, at))
        return path.name


class Gate:
    """Drives `phase-gate verify` in this process."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self._clock = project, Clock(monkeypatch)
        self.wait = self._clock.wait
        self._verify = ""
        project.write({"phase-gate.yaml": "overrides: {allow_non_interactive: true}\n"})
        project.write({"planner.py": RIGHT, "check.py": CHECK})

    @property
    def root(self) -> Path:
        return self.project.root

    def in_git(self, **modules: str) -> Gate:
        """Commit all but the papers, with an author for later commits."""
        self.project.write({".gitignore": "*.yaml\n__pycache__/\n"}, **modules)
        self.project.commit_all()
        for key in ("user.name", "user.email"):
            self.project.git("config", key, "dev@example.org")
        return self

    def commit(self, *paths: str) -> str:
        """Commit by hand; return the commit."""
        self.project.git("add", "--", *paths)
        self.project.git("commit", "-q", "-m", "by hand", "--", *paths)
        return self.head

    @property
    def head(self) -> str:
        return self.project.git("rev-parse", "HEAD").strip()

    # --- papers

    def paper(self, name: str, document: object) -> str:
        return self._clock.paper(self.root / name, document)

    def task(self, **more: Any) -> dict[str, Any]:
        return {
            "name": NAME,
            "files": ["planner.py"],
            "action": "Create planner_id() in planner.py",
            "verify": python("check.py"),
            "done": "planner_id() returns 42; 5 tests pass",
            **more,
        }

    def result(self, status: str = "success", **more: Any) -> dict[str, Any]:
        if status == "success":
            return {**report_on(NAME, "planner.py", self._verify or "check"), **more}
        error = "Cannot find module 'uuid'\nRun `pip install uuid`"
        return {"status": status, "task_name": NAME, "error": error, **more}

    def verdict(self, verdict: str = "APPROVED", **more: Any) -> dict[str, Any]:
        usual = approve(NAME)
        if verdict != "APPROVED":
            feedback = "Implementation passes tests but:\n1. No error handling\n2. Comments missing\n"
            usual |= {"verdict": verdict, "recommendation": "retry", "feedback": feedback}
        return {**usual, **more}

    # --- steps

    def call(self, *words: str) -> Result:
        return self.project.call(*words)

    def json(self, *words: str) -> Any:
        return self.call(*words, "--json").document

    def start(self, *words: str, document: object = None, **more: Any) -> Result:
        self._verify = self.task(**more)["verify"]
        paper = self.paper("task.yaml", self.task(**more) if document is None else document)
        return self.call("verify", "start", "--task-file", paper, *words)

    def start_two(self) -> None:
        """Two tasks of a list: one is being worked on, the other one waits."""
        self.start(document=[self.task(), self.task(name="Task 4: Other", files=["other.py"])])
        assert self.call("verify", "start", "--task", TASK).code == 0

    def executor(self, document: object = None, *words: str, by: str = "eve") -> Result:
        paper = self.paper("result.yaml", self.result() if document is None else document)
        return self.call("verify", "executor", paper, "--by", by, *words)

    def verify(self, *words: str) -> Result:
        return self.call("verify", "run", *words)

    def review(self, document: object = None, *words: str, by: str = "ann") -> Result:
        paper = self.paper("verdict.yaml", self.verdict() if document is None else document)
        return self.call("verify", "review", paper, "--by", by, *words)

    def work(self, files: Mapping[str, str] | None = None, /, **modules: str) -> Result:
        """Write files, hand in the report, and run the verify command: return what that said."""
        self.project.write(files, **modules)
        self.executor()
        return self.verify()

    def reviewing(self, **more: Any) -> Gate:
        """A task that waits for its reviewer."""
        assert self.start(**more).code == 0
        ran = self.work()
        assert ran.code == 0, ran
        return self

    def approved(self, **verdict: Any) -> Gate:
        self.reviewing()
        ran = self.review(self.verdict(**verdict))
        assert ran.code == 0, ran
        return self

    # --- looking

    def status(self, task: str = TASK) -> Any:
        return self.json("verify", "status", "--task", task)

    @property
    def state(self) -> str:
        return str(self.status()["gate_status"])

    @property
    def failures(self) -> list[str]:
        return [each["type"] for each in self.status()["previous_failures"]]

    def ledger(self, task: str = TASK) -> list[dict[str, Any]]:
        text = (self.root / ".phase-gate" / "tasks" / task / "ledger.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def state_file(self) -> str:
        return (self.root / ".phase-gate" / "STATE.md").read_text(encoding="utf-8")
