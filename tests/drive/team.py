"""Projects with a list of verify tasks that a team without a model is driven through."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CommandProject
from tests.evidence.processes import wait_for
from tests.support import Result
from tests.tasks.verifying import Clock

FAKE = Path(__file__).with_name("fake.py")

Turn = dict[str, Any]


def name_of(number: int) -> str:
    return f"Task {number}: Write part{number}"


def slug_of(number: int) -> str:
    return f"task-{number}-write-part{number}"


def works(number: int, **more: Any) -> Turn:
    """What an honest executor does."""
    return {"write": {f"part{number}.py": f"PART = {number}\n"}, **more}


def turns_of(mark: Path) -> int:
    """Return how many turns the fake has played of a script: what it leaves begins with that name."""
    counter = mark.with_name(f"{mark.name}.count")
    return int(counter.read_text()) if counter.exists() else 0


def prompt_of(mark: Path, turn: int) -> str:
    """Return what the fake read in a turn."""
    return mark.with_name(f"{mark.name}.prompt-{turn}").read_text(encoding="utf-8")


class TaskList:
    """A repository with a list of tasks, and the command that drives executor and reviewer through it."""

    def __init__(self, gated: CommandProject, patch: pytest.MonkeyPatch) -> None:
        self.gated, self.root, self._patch = gated, gated.root, patch
        self.script = gated.root.parent / f"{gated.root.name}-team.json"
        #: What comes last in the command.
        self.behind: tuple[str, ...] = ()

    def words(self, role: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(FAKE), str(self.script), role]

    def plan(
        self,
        *waves: tuple[int, ...],
        script: dict[int, dict[str, list[Turn]]] | None = None,
        more: dict[int, dict[str, Any]] | None = None,
        **settings: Any,
    ) -> TaskList:
        """Take the tasks of each wave, and write what the two play."""
        turns: dict[str, Any] = {}
        for number in (each for wave in waves for each in wave):
            turns[name_of(number)] = {"executor": [works(number)], **(script or {}).get(number, {})}
        self.script.write_text(json.dumps(turns), encoding="utf-8")
        usual = {"agent": self.words("executor"), "reviewers": " ".join(self.words("reviewer"))}
        files = {"phase-gate.yaml": json.dumps({"drive": {**usual, **settings}}) + "\n"}
        files[".gitignore"] = "tasks-*.yaml\n__pycache__/\n"
        self.gated.project.write(files)
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "T"), ("user.email", "t@example.org"), ("commit.gpgsign", "false")):
            self.git("config", key, value)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        for place, wave in enumerate(waves, start=1):
            tasks = [{**self.task(number), "wave": f"w{place}", **(more or {}).get(number, {})} for number in wave]
            (self.root / f"tasks-{place}.yaml").write_text(json.dumps(tasks), encoding="utf-8")
            ran = self.gated.gate("verify", "start", "--task-file", f"tasks-{place}.yaml")
            assert ran.code == 0, ran.err
        return self

    def task(self, number: int) -> dict[str, Any]:
        return {
            "name": name_of(number),
            "files": [f"part{number}.py"],
            "action": f"Write part{number}.py with PART = {number}.",
            "verify": f"grep -q 'PART = {number}' part{number}.py",
            "done": f"part{number}.py has PART = {number}; 1 line says so",
        }

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    # --- driving

    def drive(self, *options: str) -> Result:
        return self.gated.gate("drive", *options)

    def rows(self, *options: str, code: int | None = None) -> list[dict[str, Any]]:
        ran = self.drive("--json", *options)
        assert code is None or ran.code == code, f"{ran.code}\n{ran.out}\n{ran.err}"
        return [json.loads(line) for line in ran.out.splitlines()]

    def let_time_pass(self) -> None:
        """Let waiting take no time: the clock of the ledger goes on instead."""
        clock = Clock(self._patch)
        self._patch.setattr("phase_gate.drive.loop.pause", lambda seconds: clock.wait(30))

    # --- looking

    def agent_sleeps(self, role: str) -> int:
        """Wait until an agent sleeps; return its pid."""
        return int(wait_for(self.script.with_suffix(f".sleeps-{role}")))

    def prompt(self, number: int, role: str, turn: int) -> str:
        return prompt_of(self._mark(number, role), turn)

    def turns(self, number: int, role: str) -> int:
        return turns_of(self._mark(number, role))

    def _mark(self, number: int, role: str) -> Path:
        name = re.sub("[^a-z0-9]", "-", name_of(number).lower())
        return self.script.with_suffix(f".{name}.{role}")

    def status(self, number: int) -> str:
        document = self.gated.json("verify", "status", "--task", slug_of(number))
        return str(document["gate_status"])

    def statuses(self) -> dict[str, str]:
        rows = self.gated.json("verify", "status")["tasks"]
        return {row["task"].split("-")[1]: row["gate_status"] for row in rows}

    def failures(self, number: int) -> list[str]:
        document = self.gated.json("verify", "status", "--task", slug_of(number))
        return [each["type"] for each in document["previous_failures"]]

    def ledger(self, number: int, kind: str = "") -> list[dict[str, Any]]:
        path = self.root / ".phase-gate" / "tasks" / slug_of(number) / "ledger.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [row for row in rows if not kind or row["kind"] == kind]


def call(text: str) -> str:
    """Return a command of ours, as an agent would type it."""
    return f"{shlex.quote(sys.executable)} -m phase_gate.cli {text}"
