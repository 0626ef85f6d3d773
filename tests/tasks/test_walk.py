"""An honest executor and an honest reviewer take a list of three tasks through the gate: they do what the last message
says, and nothing else. Every type of failure comes once on the way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from tests.support import Result
from tests.tasks.verifying import RIGHT, WRONG, Gate, python

#: Steps that are plenty for this list: more of them are a circle.
ENOUGH = 60

_LINE = re.compile(r"^(?:Next     |  next: |  try: )(.*)$", re.MULTILINE)
_COMMAND = re.compile(r"phase-gate (verify [^;`]*?)(?=$|[;`]|, | says)")
_WAIT = re.compile(r"wait (\d+) s")


class Workers:
    """Does what is asked for. What goes wrong on the way is written down for each task, attempt by attempt."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.said: list[str] = []
        self.reports: dict[str, Iterator[str]] = {
            "task-1-parts": iter(("late", "malformed", "success")),
            "task-2-planner": iter(("blocked", "failure", "success")),
            "task-3-ground": iter(("wrong", "success", "better")),
        }
        self.verdicts: dict[str, Iterator[str]] = {
            "task-1-parts": iter(("APPROVED",)),
            "task-2-planner": iter(("malformed", "APPROVED")),
            "task-3-ground": iter(("REJECTED", "APPROVED")),
        }
        self.names = {
            "task-1-parts": "Task 1: Parts",
            "task-2-planner": "Task 2: Planner",
            "task-3-ground": "Task 3: Ground",
        }

    def follow(self, ran: Result) -> Result:
        """Do what the message says."""
        text = ran.out + ran.err
        lines = _LINE.findall(text)
        assert lines, text
        if (wait := _WAIT.search(lines[-1])) is not None:
            self.gate.wait(float(wait.group(1)) + 1)
            return self.type(self.said[-1])
        found = _COMMAND.search(lines[-1])
        assert found is not None, text
        return self.type(found.group(1))

    def type(self, words: str) -> Result:
        self.said.append(words)
        task = words.partition("--task ")[2].split()[0] if "--task " in words else ""
        if words.startswith("verify executor FILE"):
            return self.call(words.replace("FILE", self.report(task)) + " --by eve")
        if words.startswith("verify review FILE"):
            return self.call(words.replace("FILE", self.verdict(task)).replace("NAME", "ann"))
        if words.startswith("verify show"):
            shown = self.call(words)
            assert shown.code == 0
            if "# Verdict, to be filled in" not in shown.out:
                return shown
            # The bundle is for the reviewer, and says what is to be typed then.
            return self.type(f"verify review FILE --by NAME --task {task}")
        return self.call(words.replace('"..."', "'the registry is back'").replace("NAME", "mara"))

    def call(self, words: str) -> Result:
        return self.gate.call(*shlex.split(words))

    def report(self, task: str) -> str:
        kind = next(self.reports[task])
        gate, name = self.gate, self.names[task]
        if task == "task-3-ground":
            gate.project.write(planner={"wrong": WRONG, "success": RIGHT}.get(kind, f"# with care\n{RIGHT}"))
        elif kind == "success":
            gate.project.write({"parts.py": "PARTS = 4\n"} if task == "task-1-parts" else {"rest.py": "REST = 1\n"})
        if kind == "late":
            gate.wait(301)
        if kind == "malformed":
            return gate.paper("result.yaml", "status: done\n")
        if kind in ("failure", "blocked"):
            more = {"blocked_by": "Task 3: Ground"} if kind == "blocked" else {}
            return gate.paper("result.yaml", gate.result(kind, task_name=name, **more))
        return gate.paper("result.yaml", gate.result(task_name=name))

    def verdict(self, task: str) -> str:
        kind = next(self.verdicts[task])
        if kind == "malformed":
            return self.gate.paper("verdict.yaml", "verdict: LGTM\n")
        return self.gate.paper("verdict.yaml", self.gate.verdict(kind, task_name=self.names[task]))


@pytest.fixture
def workers(gate: Gate) -> Workers:
    return Workers(gate.in_git(planner=WRONG))


@pytest.mark.processes
def test_a_list_of_three_tasks_has_no_dead_end(workers: Workers) -> None:
    gate = workers.gate
    files = {"Task 1: Parts": "parts.py", "Task 2: Planner": "rest.py", "Task 3: Ground": "planner.py"}
    tasks = [gate.task(name=name, files=[file]) for name, file in files.items()]
    tasks[0]["verify"] = python("-c 'import parts; assert parts.PARTS'")
    gate.project.write({"parts.py": "PARTS = 3\n"})
    ran = gate.start(document=tasks)
    for _ in range(ENOUGH):
        ran = workers.follow(ran)
        if all(row["commit_sha"] for row in gate.json("verify", "status")["tasks"]):
            break
    assert ran.has("committed as"), "\n".join(workers.said)
    assert workers.follow(ran).code == 0, "all is done, and the last message says how to see that"
    found = [each["failure_type"] for each in gate.json("verify", "status")["recent_failures"]]
    assert sorted(set(found)) == [
        "ARCHITECT_REJECTION",
        "BLOCKED",
        "EXECUTION_FAILURE",
        "MALFORMED",
        "TIMEOUT",
        "VERIFY_FAILURE",
    ]
    assert [row["gate_status"] for row in gate.json("verify", "status")["tasks"]] == ["APPROVED"] * 3
