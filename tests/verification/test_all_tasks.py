"""`status --all` and `report --all`: every task of the project, who has it and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.project import Project
from tests.storage.stores import begin
from tests.stores.in_memory import Server
from tests.support import Sample
from tests.verification.fleet import Fleet, Machine, part


@pytest.fixture(params=["folder", "store"])
def fleet(request: pytest.FixtureRequest, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(sample, monkeypatch, None if request.param == "folder" else Server())


def lines(machine: Machine, *words: str) -> dict[str, dict[str, Any]]:
    document = machine.call("status", "--all", "--json", *words).document
    return {line["task"]: line for line in document["tasks"]}


def test_who_waits_for_what(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    assert a.call("status", "--all").has("no task")
    a.take_list(
        part(1, wave="one"), part(2, wave="one", depends_on=["part 1"]), part(3, wave="one"), part(4, wave="two")
    )
    assert a.next("ann") == "part-1"
    assert b.next("bob") == "part-3"
    assert b.report("part-3", "bob").code == 0
    assert b.verify("part-3").code == 0
    found = lines(b)
    waits = {task: line["waits_for"] for task, line in found.items()}
    assert waits == {
        "part-1": "the report of ann",
        "part-2": "part 1",
        "part-3": "a reviewer",
        "part-4": "wave one",
    }
    assert (found["part-1"]["by"], found["part-3"]["by"]) == ("ann", "bob")
    told = a.call("status", "--all")
    assert told.code == 10
    assert told.has("4 tasks: 1 executing, 2 pending, 1 reviewing")
    assert lines(b, "--by", "ann").keys() == {"part-1"}
    assert lines(b, "--wave", "two").keys() == {"part-4"}
    assert lines(b, "--state", "pending").keys() == {"part-2", "part-4"}
    assert b.call("status", "--all", "--state", "pending").has("2 other tasks not shown")


def test_the_page_is_written_by_suffix(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.take_list(part(1), part(2))
    a.next("ann")
    assert a.call("report", "--all").has("# Tasks", "| part 1 | executing |")
    assert a.call("report", "--all", "-o", "tasks.html").has("tasks.html: 2 tasks")
    page = (a.root / "tasks.html").read_text(encoding="utf-8")
    assert "part 1" in page
    assert a.call("report", "--all", "-o", "tasks.pdf").code == 2


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("status", "--state", "pending"), id="a-filter-without-all"),
        pytest.param(("report", "--by", "ann"), id="a-filter-of-a-report"),
        pytest.param(("status", "--all", "--task", "part-1"), id="one-task"),
        pytest.param(("status", "--all", "--watch"), id="watch"),
        pytest.param(("report", "--all", "--task", "part-1"), id="a-report-of-one-task"),
    ],
)
def test_what_does_not_go_together(sample: Sample, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    assert Fleet(sample, monkeypatch, None).machine("a").call(*words).code == 2


def test_other_tasks_are_there_too_and_one_that_can_not_be_trusted(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.take_list(part(1), part(2))
    begin(Project.find(a.root, environment={}).store("test"))
    ledger = a.root / ".phase-gate" / "tasks" / "part-1" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"write part_1.py", b"write part_9.py"))
    found = lines(a)
    assert found["part-1"]["state"] == "untrusted"
    assert found["part-1"]["next_command"] == "phase-gate audit --task part-1"
    assert found["part-2"]["state"] == "pending"
    assert (found["default"]["workflow"], found["default"]["waits_for"]) == ("tdd", "its first run")
    assert a.call("status", "--all").code == 11
    assert a.call("report", "--all").code == 11
