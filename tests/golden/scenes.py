"""The same stories for every version: what is typed, and where the state folder is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.support import CALC, FAILING_TESTS, Ran


class Player(Protocol):
    """A project, and the two programs in processes of their own."""

    root: Path

    def write(self, files: Mapping[str, str] | None = None, /) -> object: ...

    def pytest_process(self, *arguments: str) -> Ran: ...

    def gate(self, *arguments: str) -> Ran: ...


class Told:
    """What a story brings: documents by their names."""

    def __init__(self, player: Player, keep: Callable[[str], None]) -> None:
        self.player, self.keep = player, keep
        self.documents: dict[str, list[Any]] = {}

    def add(self, name: str, document: Any) -> None:
        self.documents.setdefault(name, []).append(document)

    def ask(self, *words: str, code: int = 0, name: str = "") -> None:
        """Call a command with `--json`, and keep its answer."""
        ran = self.player.gate(*words, "--json")
        assert ran.code == code, f"{words}: {ran.code} instead of {code}\n{ran.out}{ran.err}"
        self.add(name or words[0], json.loads(ran.out or ran.err))

    def run(self, *words: str, code: int) -> None:
        ran = self.player.pytest_process("-q", "--phase-report=verdict.json", *words)
        assert ran.code == code, f"{words}: {ran.code} instead of {code}\n{ran.out}{ran.err}"
        report = self.player.root / "verdict.json"
        self.add("--phase-report", json.loads(report.read_text(encoding="utf-8")))
        report.unlink()

    def add_events(self) -> None:
        for ledger in sorted((self.player.root / ".phase-gate").rglob("ledger.jsonl")):
            for line in ledger.read_text(encoding="utf-8").splitlines():
                event = json.loads(line)
                self.add(f"event {event['kind']}", event)


def tell_of_phases(told: Told) -> None:
    """RED, GREEN, REFACTOR, and back."""
    told.player.write({"pytest.ini": "[pytest]\n", "test_calc.py": FAILING_TESTS})
    told.ask("status", code=10)
    told.run("--phase=red", code=0)
    told.keep("red")
    told.ask("check", code=10)
    told.ask("check", "--gate1")
    told.ask("explain", code=10)
    told.ask("signal", "--reason", "both fail", "--by", "dev")
    told.player.write({"calc.py": CALC})
    told.run("--phase=green", code=10)
    told.ask("status", code=10)
    told.ask("signal", "--reason", "too early", "--by", "dev", code=10)
    told.run("--phase=green", code=0)
    told.ask("signal", "--reason", "both pass", "--by", "dev")
    told.keep("green")
    told.run("--phase=refactor", code=10)
    told.ask("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "dev")
    told.ask("withdraw", "refactoring_complete")
    told.ask("claim", "tests/none.txt", code=2, name="an error")
    told.player.write({"words.txt": "All tests pass. The task is complete.\n"})
    told.ask("claim", "words.txt", "--by", "dev", code=10)
    (told.player.root / "words.txt").unlink()
    told.ask("breaker", "status", name="breaker")
    told.ask("history")
    told.ask("audit")
    told.ask("store", "status", name="store status")
    told.ask("workflow", "check", name="workflow check")
    told.ask("rewind", "red", "--reason", "another test is missing", "--by", "dev")
    told.keep("rewound")


TASK = """\
name: "Task 1: Leap years"
files: [leap.py, test_leap.py]
action: Write is_leap(year), by the rules of the Gregorian calendar.
verify: pytest -q test_leap.py
done: is_leap() exists; 1 test in test_leap.py passes
"""
RESULT = """\
status: success
task_name: "Task 1: Leap years"
files_modified: [leap.py, test_leap.py]
verification: {command: pytest -q test_leap.py, exit_code: 0, output_summary: 1 passed}
done_criteria_met: true
evidence: the test passes
"""


def tell_of_verification(told: Told) -> None:
    """A verify task whose executor has reported."""
    told.player.write({"pytest.ini": "[pytest]\n", "task.yaml": TASK, "result.yaml": RESULT})
    told.ask("verify", "start", "--task-file", "task.yaml", "--untimed", name="verify start")
    told.player.write(
        {
            "leap.py": "def is_leap(year):\n    return year % 4 == 0\n",
            "test_leap.py": "from leap import is_leap\n\n\ndef test_fourth():\n    assert is_leap(2024)\n",
        }
    )
    told.ask("verify", "executor", "result.yaml", "--by", "eve", name="verify executor")
    told.ask("verify", "status", code=10, name="verify status")
    told.ask("verify", "prompt", name="verify prompt")
    told.keep("verify")
    told.ask("verify", "run", name="verify run")
    told.ask("verify", "bundle", name="verify bundle")
    told.ask("verify", "stats", name="verify stats")
    told.ask("verify", "failures", name="verify failures")
    told.ask("verify", "result", code=10, name="verify result")


def tell_of_a_pipeline(told: Told) -> None:
    """A pipeline that has begun."""
    from tests.conformance.pipelines import CONFIGURATION

    told.player.write({"phase-gate.yaml": CONFIGURATION, "CONSTITUTION.md": "Members stay anonymous.\n"})
    told.ask("advance")
    told.ask("status", code=10)
    told.ask("pipeline", "constitution", name="pipeline constitution")
    told.keep("pipeline")


STORIES: Mapping[str, Callable[[Told], None]] = {
    "phases": tell_of_phases,
    "verification": tell_of_verification,
    "pipeline": tell_of_a_pipeline,
}


def tell(story: str, player: Player, keep: Callable[[str], None] = lambda name: None) -> dict[str, list[Any]]:
    """Play a story and return its documents by name.

    :param keep: is called with a name where the state folder is worth keeping.
    """
    told = Told(player, keep)
    STORIES[story](told)
    told.add_events()
    return told.documents
