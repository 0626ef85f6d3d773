"""Machines that share the tasks of one project: a clone each, with a state folder and a clock of its own."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from phase_gate.project import Project as RealProject
from tests.stores.in_memory import InMemoryStore, Server
from tests.support import Project, Result, call
from tests.tasks.verifying import Clock, approve, python, report_on

#: The copies themselves, and what newer versions of git hold for a moment after each commit.
_NOT_COPIED = frozenset({"machines", "maintenance.lock"})

#: Fails as long as the module of a task says nothing.
CHECK = "import sys\n\nraise SystemExit(not open(sys.argv[1]).read().strip())\n"


class Fleet:
    """A project whose tasks lie in a shared store, or in the state folder of its one machine."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch, server: Server | None) -> None:
        self.project, self.server, self.clock = project, server, Clock(monkeypatch)
        self.wait = self.clock.wait
        self._machines: dict[str, Machine] = {}
        monkeypatch.setattr(
            RealProject, "shared_store", lambda project: None if server is None else InMemoryStore(server)
        )
        project.write({"phase-gate.yaml": "overrides: {allow_non_interactive: true}\n", "check.py": CHECK})
        project.write({".gitignore": "*.paper.yaml\n", "src.py": "VALUE = 1\n"})
        project.commit_all()

    def machine(self, name: str = "a", *, hours: float = 0.0) -> Machine:
        """Return a machine, made where it is new; without a store all of them are one.

        :param hours: by which its clock is wrong.
        """
        if name not in self._machines:
            root = self.project.root / "machines" / (name if self.server is not None else "a")
            if not root.exists():
                shutil.copytree(self.project.root, root, ignore=lambda folder, names: _NOT_COPIED & {*names})
            self._machines[name] = Machine(self.clock, root, timedelta(hours=hours if self.server is not None else 0))
        return self._machines[name]


class Machine:
    def __init__(self, clock: Clock, root: Path, skew: timedelta) -> None:
        self._clock, self.root, self._skew = clock, root, skew

    def call(self, *words: str) -> Result:
        self._clock.skew = self._skew
        return call(self.root, *words)

    def paper(self, name: str, document: object) -> str:
        self._clock.skew = self._skew
        return self._clock.paper(self.root / f"{name}.paper.yaml", document)

    def take_list(self, *tasks: dict[str, Any], untimed: bool = False) -> Result:
        if len(tasks) == 1:  # one that comes alone would begin at once
            tasks = (*tasks, part(9, depends_on=[tasks[0]["name"]]))
        options = ("--untimed",) if untimed else ()
        return self.call("verify", "start", "--task-file", self.paper("list", list(tasks)), *options)

    def next(self, by: str, *words: str) -> Any:
        """Return the task that a worker gets; where there is none, why."""
        ran = self.call("verify", "next", "--by", by, "--json", *words)
        document = ran.document
        return document["task"] if ran.code == 0 else document["why"]

    def report(self, task: str, by: str) -> Result:
        described = part(int(task.rpartition("-")[2]))
        (file,) = described["files"]
        (self.root / file).write_text("DONE = True\n", encoding="utf-8")
        said = report_on(described["name"], file, described["verify"])
        return self.call("verify", "executor", self.paper("result", said), "--by", by)

    def verify(self, task: str) -> Result:
        return self.call("verify", "run", "--task", task)

    def review(self, task: str, by: str) -> Result:
        said = approve(f"part {task.rpartition('-')[2]}")
        return self.call("verify", "review", self.paper("verdict", said), "--by", by)

    def status(self, task: str) -> Any:
        return self.call("verify", "status", "--json", "--task", task).document

    def ledger(self, task: str) -> list[dict[str, Any]]:
        text = (self.root / ".phase-gate" / "tasks" / task / "ledger.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


def part(number: int, **more: Any) -> dict[str, Any]:
    """Return one task of a list."""
    return {
        "name": f"part {number}",
        "files": [f"part_{number}.py"],
        "action": f"write part_{number}.py",
        "verify": python(f"check.py part_{number}.py"),
        "done": f"part_{number}.py defines DONE",
        **more,
    }
