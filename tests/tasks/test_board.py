"""Which task a command is for, and lists of tasks that can't be trusted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from phase_gate.storage.opening import Opened, TaskReader
from tests.tasks.verifying import NAME, TASK, Gate

pytestmark = pytest.mark.processes


def _edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.sampled(3)
@pytest.mark.criterion("VG-20")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(shutil.rmtree, id="no-folder"),
        pytest.param(lambda folder: _edit(folder, "state.json", '"FAILED"', '"PENDING"'), id="an-edited-state"),
        pytest.param(lambda folder: _edit(folder, "ledger.jsonl", "failure", "success"), id="an-edited-ledger"),
        pytest.param(lambda folder: (folder / "ledger.jsonl").unlink(), id="no-ledger"),
        pytest.param(lambda folder: (folder / "state.json").write_text("{}"), id="an-empty-state"),
        pytest.param(lambda folder: [each.unlink() for each in folder.glob("*.json*")], id="neither"),
    ],
)
def test_a_task_whose_state_was_edited_stops_the_list(gate: Gate, damage: Callable[[Path], object]) -> None:
    others = [gate.task(name=f"Task {number}: Part", files=[f"part_{number}.py"]) for number in (1, 2)]
    gate.start(document=[*others, gate.task()])
    gate.executor(gate.result("failure", task_name="Task 1: Part"))
    gate.work()
    gate.review()
    assert gate.call("verify", "status").code == 10
    damage(gate.root / ".phase-gate" / "tasks" / "task-1-part")
    assert gate.call("verify", "status").code == 11
    assert gate.executor(gate.result(task_name="Task 2: Part")).code == 11
    stats = gate.json("status")["verification"]
    assert (stats["total_tasks"], stats["passed"], stats["not_trusted"]) == (3, 1, ["task-1-part"])
    assert stats["pass_rate"] == "50%"


@pytest.mark.parametrize("text", ["5", '{"tasks": 5}', "[1]", '[["a"]]', "{"])
def test_a_damaged_list_of_seen_tasks_is_made_anew(gate: Gate, text: str) -> None:
    gate.start()
    seen = gate.root / ".phase-gate" / "cache" / "verify-tasks.json"
    seen.write_text(text, encoding="utf-8")
    assert gate.call("verify", "status").code == 10
    assert TASK in seen.read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [(), ("--task", "Task 3")], ids=["by-the-report", "by-the-option"])
def test_a_report_names_its_task_by_the_beginning(gate: Gate, words: tuple[str, ...]) -> None:
    gate.start_two()
    assert gate.executor(gate.result(task_name="Task 3"), *words).code == 0
    assert gate.json("verify", "status", "--task", TASK)["gate_status"] == "VERIFYING"
    assert gate.executor(gate.result(task_name="Task"), "--task", "Task 4").code == 0
    assert gate.executor(gate.result(task_name="Task 4"), "--task", TASK).has("is for 'Task 4', but the task is")


#: As they stand in the source document, without a word more.
STRONG = """\
status: success
verification:
  command: "npm test -- PlannerId"
  exit_code: 0
  output_summary: "5 tests passed"
done_criteria_met: true
"""


WEAK = """\
status: success
verification:
  command: "npm run build"
  exit_code: 0
  output_summary: "Build succeeded with 3 warnings"
done_criteria_met: true
"""


APPROVED = """\
verdict: APPROVED
confidence: HIGH
findings:
  - "All 5 tests pass (verified output)"
  - "PlannerId class created with correct fields"
  - "Error handling implemented per spec"
recommendation: commit
"""


REJECTED = """\
verdict: REJECTED
confidence: HIGH
findings:
  - "Tests pass but implementation is incomplete"
concerns:
  - "Missing error handling for edge case"
  - "Documentation not updated"
recommendation: retry
feedback: |
  Implementation passes tests but:
  1. No error handling for null input
  2. JSDoc comments missing
"""


@pytest.mark.criterion("VG-39")
@pytest.mark.parametrize(
    ("report", "verdict", "state"),
    [(STRONG, APPROVED, "APPROVED"), (WEAK, APPROVED, "APPROVED"), (STRONG, REJECTED, "REJECTED")],
    ids=["strong", "weak", "rejected"],
)
def test_the_documents_short_forms_are_of_the_task_that_waits(
    gate: Gate, report: str, verdict: str, state: str
) -> None:
    gate.start_two()
    assert gate.executor(report).code == 0
    assert gate.verify().code == 0
    assert gate.review(verdict).code == (0 if state == "APPROVED" else 10)
    assert gate.state == state
    chain = gate.json("verify", "status", "--task", TASK)["gate_result"]
    assert chain["executor"]["evidence"] == yaml.safe_load(report)["verification"]["output_summary"]
    # Neither command is the task's own.
    assert any("another command" in why for why in gate.status()["weak_because"])


@pytest.mark.criterion("VG-39")
def test_a_short_form_is_refused_where_the_task_is_not_clear(gate: Gate) -> None:
    gate.start_two()
    gate.call("verify", "start", "--task", "Task 4")
    ran = gate.executor(STRONG)
    assert ran.code == 2
    assert ran.has("2 tasks wait for an executor's report", "add --task", TASK, "task-4-other")
    assert gate.failures == []
    for task, name in ((TASK, NAME), ("task-4-other", "Task 4: Other")):
        assert gate.executor(gate.result(task_name=name)).code == 0
        assert gate.verify("--task", task).code == 0
    assert gate.review(APPROVED).code == 2
    assert gate.review(APPROVED, "--task", TASK).code == 0
    assert gate.state == "APPROVED"


def test_with_a_key_that_the_tasks_do_not_have_none_of_them_goes_on(gate: Gate) -> None:
    gate.reviewing()
    gate.call("verify", "status")  # and remembered by the cache, which no key vouches for
    gate.project.environment.setenv("PHASE_GATE_KEY", "kept elsewhere")
    gate.paper("verdict.yaml", gate.verdict())
    for words in (
        ("verify", "status"),
        ("verify", "status", "--task", TASK),
        ("verify", "status", "--task", "task-3"),
        ("verify", "run"),
        ("verify", "run", "--task", NAME),
        ("verify", "commit"),
        ("verify", "review", "verdict.yaml", "--by", "ann"),
    ):
        ran = gate.call(*words, "--json")
        assert (ran.code, ran.document["error"]["slug"]) == (11, "state-key"), (words, ran)


@pytest.mark.parametrize("others", [0, 3])
def test_a_step_reads_a_ledger_once_or_twice(gate: Gate, monkeypatch: pytest.MonkeyPatch, others: int) -> None:
    more = [gate.task(name=f"Other {number}", files=[f"other{number}.py"]) for number in range(others)]
    gate.start(document=[gate.task(), *more])
    opened: list[str] = []
    read = TaskReader.open

    def count(opener: TaskReader, **given: bool) -> Opened:
        opened.append(opener.task)
        return read(opener, **given)

    monkeypatch.setattr(TaskReader, "open", count)
    for step in (gate.executor, gate.verify, gate.review):
        opened.clear()
        assert step().code == 0
        assert opened.count(TASK) <= 2, opened
        assert len(opened) <= 2 + others, opened
