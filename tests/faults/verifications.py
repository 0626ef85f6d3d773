"""Kill -9 during every step of the verification gate, and go on from what is left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from phase_gate.values import Value
from tests.faults.children import Children, Ended, Plan
from tests.faults.operations import GATE, Project
from tests.faults.points import applies

TASK = "task-1-answer"
PAPERS = {
    "task.yaml": f"""\
name: "Task 1: Answer"
files: [answer.py]
action: Return the answer
verify: {sys.executable} check.py
done: answer() returns 42
""",
    "result.yaml": """\
status: success
task_name: "Task 1: Answer"
files_modified: [answer.py]
verification: {command: python check.py, exit_code: 0, output_summary: ok}
done_criteria_met: true
evidence: check.py ends with 0
by: eve
""",
    "verdict.yaml": """\
verdict: APPROVED
task_name: "Task 1: Answer"
confidence: HIGH
findings: [it returns 42]
recommendation: commit
by: ann
""",
}
CODE = {
    "answer.py": "def answer():\n    return 41\n",
    "check.py": "from answer import answer\n\nassert answer() == 42\nprint('1 test passed')\n",
    ".gitignore": "*.yaml\n__pycache__/\n",
}

#: Each step, and the status that it leads to.
STEPS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("start", ("verify", "start", "--task-file", "task.yaml", "--untimed"), "EXECUTING"),
    ("executor", ("verify", "executor", "result.yaml"), "VERIFYING"),
    ("run", ("verify", "run"), "REVIEWING"),
    ("review", ("verify", "review", "verdict.yaml"), "APPROVED"),
    ("commit", ("verify", "commit"), "APPROVED"),
)


class Killed(Value):
    visited: int = 0
    problems: tuple[str, ...] = ()


class Walk:
    """One task on its way through the gate, as often as it takes."""

    def __init__(self, place: Path) -> None:
        self._children = Children(place / "children")
        self.project = Project(place, self._children)
        for folder in (self.project.root, self.project.home):
            folder.mkdir(parents=True)
        self.project.write(CODE)
        self._git("init", "-q")
        self._git("config", "user.name", "dev")
        self._git("config", "user.email", "dev@example.org")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "before")
        self.project.write({"task.yaml": PAPERS["task.yaml"], "result.yaml": PAPERS["result.yaml"]})

    def close(self) -> None:
        self._children.close()

    def _git(self, *words: str) -> str:
        import subprocess

        done = subprocess.run(
            ["git", *words], cwd=self.project.root, env=self.project.environment(), capture_output=True, check=True
        )
        return done.stdout.decode()

    def take(self, index: int, plan: Plan | None = None) -> Ended:
        """Take one step."""
        name, words, _ = STEPS[index]
        if name == "executor":
            self.project.write({"answer.py": CODE["answer.py"].replace("41", "42")})
        if name == "review":
            self.project.write({"verdict.yaml": PAPERS["verdict.yaml"]})
        return self.project.run(GATE, *words, plan=plan)

    def status(self) -> Any:
        ended = self.project.run(GATE, "verify", "status", "--json", "--task", TASK)
        return None if "is no task" in ended.text else json.loads(ended.out)

    def kill_during(self, index: int, *, kind: str = "kill-after", step: int = 1, first: int = 1) -> Killed:
        """Kill the step at every `step`th call of the file system; from what is left the task comes to its end."""
        for before in range(index):
            ended = self.take(before)
            assert ended.code == 0, ended.text
        self.project.keep()
        calls = self.take(index).calls
        visited, problems = 0, []
        for at in range(first, len(calls) + 1, step):
            if not applies(kind, calls[at - 1]):
                continue
            self.project.restore()
            ended = self.take(index, Plan(at=at, kind=kind))
            visited += bool(ended.hits)
            try:
                self._go_on(index)
            except AssertionError as error:
                problems.append(f"{STEPS[index][0]}, {kind} at {at} ({calls[at - 1]}): {error}")
        return Killed(visited=visited, problems=tuple(problems))

    def _go_on(self, index: int) -> None:
        """The step is done or not, never half; the same command again is all that it takes."""
        allowed = {STEPS[index - 1][2] if index else "", "PENDING" if index == 0 else "", STEPS[index][2]}
        document = self.status()
        found = "" if document is None else document["gate_status"]
        assert found in allowed, f"{found} is neither old nor new"
        for number in range(index, len(STEPS)):
            ended = self.take(number)
            status = self.status()
            is_there = status is not None and status["gate_status"] == STEPS[number][2]
            assert is_there, f"after {STEPS[number][0]}: {ended.text}"
            assert ended.code in (0, 13), ended.text
        assert self.status()["commit_sha"] == self._git("rev-parse", "HEAD").strip()
        assert self._git("rev-list", "--count", "HEAD").strip() == "2", "committed once"
        audited = self.project.run(GATE, "audit", "--task", TASK)
        assert audited.code == 0, audited.text
