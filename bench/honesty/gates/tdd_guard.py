"""The record that tdd-guard-pytest keeps for TDD Guard, which reads it before the agent's next edit.

TDD Guard itself asks a model about the record and the edit. Here the record alone is judged: what a careful reader of
it can say. The hook does not see pytest's exit code, and neither does this.
"""

import json

from bench.honesty.gates import Gate
from bench.honesty.place import Place
from tests.scenarios import Step

RECORD = ".claude/tdd-guard/data/test.json"


class TddGuard(Gate):
    name = "tdd-guard"
    title = "tdd-guard-pytest's record"
    packages = ("tdd-guard-pytest",)
    plugins = ("tdd_guard_pytest.pytest_reporter",)
    order = 5

    def is_done(self, place: Place, step: Step) -> bool:
        try:
            record = json.loads((place.root / RECORD).read_text(encoding="utf-8"))
            states = [test["state"] for module in record["testModules"] for test in module["tests"]]
        except (OSError, ValueError, KeyError):
            return False
        if step.value == "red":
            return "failed" in states
        return "failed" not in states and "passed" in states


GATE = TddGuard()
