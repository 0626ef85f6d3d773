"""Take verify tasks, and hand them out to workers, with a state folder alone and with a store."""

from __future__ import annotations

import pytest

from phase_gate.errors import MovedError
from phase_gate.project import Project as RealProject
from phase_gate.tasks import start
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.work import Verification
from tests.stores.in_memory import Server
from tests.support import Project
from tests.tasks.fleet import Fleet, part
from tests.tasks.verifying import NAME, TASK, Gate, python

pytestmark = pytest.mark.processes


def test_a_task_that_has_begun_gets_no_other_text(gate: Gate) -> None:
    gate.start()
    gate.executor(gate.result("failure"))
    ran = gate.start(verify=python("other.py"))
    assert (ran.code, gate.status()["attempt"]) == (13, 1)
    assert ran.has("has begun: its text can't be changed any more")


def test_every_command_leads_to_a_list_that_is_not_done(gate: Gate) -> None:
    gate.start()
    for command in ("check", "explain", "advance"):
        assert gate.call(command).has("phase-gate verify status"), command
    assert gate.call("check", "--task", "other").has("pytest --phase=red --phase-task=other")
    gate.executor()
    gate.verify()
    gate.review()
    assert gate.call("check").has("pytest --phase=red")


def test_settings_of_the_project_hold_for_its_tasks(gate: Gate) -> None:
    gate.project.write({"phase-gate.yaml": "verification:\n  timeouts: {verify: 60}\n  untimed: true\n"})
    gate.start()
    gate.wait(9999)
    assert gate.work().has("at most 60 s")
    assert "Status: REVIEWING" in gate.state_file
    gate.project.write({"phase-gate.yaml": "verification: {timeouts: {verify: 301}}\n"})
    assert gate.call("verify", "status").has("verification.timeouts.verify can't be 301")


def test_a_task_that_is_there_can_lose_its_time_limit(gate: Gate) -> None:
    first, second = gate.task(), gate.task(name="Task 4", files=["four.py"], depends_on=[NAME])
    gate.paper("tasks.yaml", [first, second])
    gate.call("verify", "start", "--task-file", "tasks.yaml")
    ran = gate.call("verify", "start", "--task-file", "tasks.yaml", "--task", NAME, "--untimed")
    assert ran.code == 0
    gate.wait(9999)
    assert gate.json("verify", "status", "--task", TASK)["late"] is None
    # The other one has its limit, and a list that has begun can be taken again.
    assert gate.call("verify", "start", "--task-file", "tasks.yaml").has("(it was there already)")


@pytest.fixture(params=["folder", "store"])
def fleet(request: pytest.FixtureRequest, project: Project, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(project, monkeypatch, None if request.param == "folder" else Server())


def test_each_worker_gets_another_task_in_the_order_of_the_list(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    assert a.next("ann") == "no-task"
    assert a.take_list(part(1), part(2), part(3, depends_on=["part 1"])).code == 0
    assert [a.next("ann"), b.next("bob"), b.next("cem")] == ["part-1", "part-2", "waiting"]
    listed = b.call("verify", "status")
    assert listed.has("part-1", "EXECUTING", "ann since", "bob since")
    assert a.status("part-2")["worker"] == "bob"


def test_a_worker_that_lost_a_race_leaves_tasks_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(project, monkeypatch, None)
    fleet.machine().take_list(*map(part, range(1, 10)))
    tried: list[str] = []

    def lose(session: TaskSession, row: Verification, **given: object) -> TaskStatus:
        tried.append(row.task)
        if len(tried) < 5:
            raise MovedError("another worker was first", remedy="try again")
        return session.status(row)

    monkeypatch.setattr(start, "_begin", lose)
    monkeypatch.setattr("random.randrange", lambda end: end - 1)
    board = TaskBoard(RealProject.find(fleet.machine().root, environment={}), wanted=None, owner="worker")
    start.hand_out(board, by="ann", show=print)
    # More of them after each race; and a list that is left without one is read again.
    assert tried == ["part-1", "part-3", "part-7", "part-8", "part-9"]


def test_a_wave_begins_after_the_one_before(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.take_list(part(1, wave="one"), part(2, wave="two"))
    assert a.next("ann") == "part-1"
    assert a.next("bob") == "waiting"


@pytest.mark.criterion("VG-13")
@pytest.mark.criterion("VG-14")
def test_a_late_worker_loses_its_task(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    a.take_list(part(1))
    assert a.next("ann") == "part-1"
    assert b.next("bob") == "waiting"
    fleet.wait(290)
    assert b.next("bob") == "waiting"
    assert b.status("part-1")["gate_status"] == "EXECUTING"
    fleet.wait(50)
    # The failure is on the record, and a time-out is tried again after 30 s.
    assert b.next("bob") == "waiting"
    failed = b.status("part-1")
    assert failed["gate_status"] == "FAILED"
    assert [each["type"] for each in failed["previous_failures"]] == ["TIMEOUT"]
    fleet.wait(70)
    assert b.next("bob") == "part-1"
    taken = b.status("part-1")
    assert (taken["worker"], taken["attempt"], taken["gate_status"]) == ("bob", 2, "EXECUTING")
    late = a.report("part-1", "ann")
    assert late.code == 13
    assert late.has("bob has attempt 2 of part-1", "phase-gate verify next --by NAME")
    assert b.report("part-1", "Bob").code == 0


@pytest.mark.criterion("VG-15")
def test_two_late_workers_are_enough_for_a_person_to_look(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.take_list(part(1))
    for name in ("ann", "bob"):
        assert a.next(name) == "part-1"
        fleet.wait(1300)
        last = a.next("cem")
        fleet.wait(70)
    assert last == "needs-person"
    ran = a.call("verify", "next", "--by", "cem")
    assert ran.code == 12


def test_what_failed_stays_with_its_worker_for_the_time_of_an_attempt(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    a.take_list(part(1))
    assert a.next("ann") == "part-1"
    said = {"status": "failure", "task_name": "part 1", "error": "no idea"}
    assert a.call("verify", "executor", a.paper("result", said), "--by", "ann").code == 10
    assert b.next("bob") == "waiting"
    fleet.wait(290)
    assert b.next("bob") == "waiting"
    fleet.wait(50)
    assert b.next("bob") == "part-1"
    assert b.status("part-1")["worker"] == "bob"


FAILURE = {"status": "failure", "task_name": "part 1", "error": "no idea"}


def test_a_failed_task_is_for_its_worker_again_after_pending_ones(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    a.take_list(part(1), part(2))
    assert a.next("ann") == "part-1"
    assert a.call("verify", "executor", a.paper("result", FAILURE), "--by", "ann").code == 10
    assert b.next("bob") == "part-2"
    refused = b.call("verify", "next", "--by", "cem")
    assert (refused.code, refused.has("next: phase-gate verify start --task part-1")) == (10, True)
    assert a.next("ann") == "part-1"
    assert a.status("part-1")["attempt"] == 2
    # A time-out has a delay, for its own worker as well.
    fleet.wait(310)
    assert a.report("part-1", "ann").code == 10
    assert a.call("verify", "next", "--by", "ann").has("s, then: phase-gate verify start --task part-1")
    fleet.wait(31)
    assert a.next("ann") == "part-1"


def test_an_abandoned_task_is_free_for_every_worker_at_once(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    a.take_list(part(1))
    assert a.next("ann") == "part-1"
    assert a.call("verify", "abandon", "--task", "part-1", "--reason", "no time").code == 0
    assert b.next("bob") == "part-1"
    assert (b.status("part-1")["worker"], b.status("part-1")["attempt"]) == ("bob", 2)


def test_a_failed_task_without_a_limit_does_not_wait_for_its_worker_for_ever(fleet: Fleet) -> None:
    a, b = fleet.machine("a"), fleet.machine("b")
    a.call("verify", "start", "--untimed", "--task-file", a.paper("list", [part(1), part(2, depends_on=["part 1"])]))
    assert a.next("ann") == "part-1"
    assert a.call("verify", "executor", a.paper("result", FAILURE), "--by", "ann").code == 10
    fleet.wait(250)
    assert b.next("bob") == "waiting"
    fleet.wait(90)
    assert b.next("bob") == "part-1"


@pytest.fixture
def shared(project: Project, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(project, monkeypatch, Server())


def test_files_are_compared_with_those_where_the_task_is_worked_on(shared: Fleet) -> None:
    a, b = shared.machine("a"), shared.machine("b")
    a.take_list(part(1), part(2))
    # What a person committed since is no work of bob's.
    (b.root / "src.py").write_text("VALUE = 2\n", encoding="utf-8")
    assert b.next("bob") == "part-1"
    assert b.report("part-1", "bob").code == 0
    assert b.verify("part-1").code == 0
    assert b.status("part-1")["gate_status"] == "REVIEWING"
    # In the same work tree they are remembered once: a second attempt hides nothing of the first.
    assert b.next("bob") == "part-2"
    (b.root / "src.py").write_text("VALUE = 3\n", encoding="utf-8")
    said = {"status": "failure", "task_name": "part 2", "error": "no idea"}
    assert b.call("verify", "executor", b.paper("result", said), "--by", "bob").code == 10
    assert b.call("verify", "start", "--task", "part-2", "--by", "bob").code == 0
    assert b.report("part-2", "bob").code == 0
    ran = b.verify("part-2")
    assert ran.has("files-listed"), ran


def test_the_one_that_comes_second_gets_the_next_one(shared: Fleet) -> None:
    a, b = shared.machine("a"), shared.machine("b")
    a.take_list(part(1), part(2))
    b.call("verify", "status")
    assert shared.server is not None
    shared.server.before_append = lambda: faster.append(b.next("bob"))
    faster: list[str] = []
    assert a.next("ann") == "part-2"
    assert faster == ["part-1"]


def test_a_task_without_a_limit_is_freed_by_a_person(fleet: Fleet) -> None:
    a = fleet.machine("a")
    a.take_list(part(1), part(2, depends_on=["part 1"]), untimed=True)
    assert a.next("ann") == "part-1"
    free = 'if that is gone: phase-gate verify abandon --task part-1 --reason "..."'
    assert a.call("verify", "next", "--by", "bob").has("ann has it", free)
    assert a.call("verify", "status", "--task", "part-1").text.count("phase-gate verify abandon --task part-1") == 1
    a.call("verify", "abandon", "--task", "part-1", "--reason", "its worker is gone")
    fleet.wait(60)  # by the margin for what others write into the store
    assert a.next("bob") == "part-1"


@pytest.mark.criterion("VG-31")
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        pytest.param(["Task 9: Nowhere"], [], "'Task 9: Nowhere', which is not a task", id="unknown"),
        pytest.param(["Task 2: Second"], ["Task 1: First"], "a circle", id="circular"),
        pytest.param(["Task 1: First"], [], "a circle", id="on-itself"),
    ],
)
def test_dependencies_that_can_never_be_met_are_refused(
    versioned: Gate, first: list[str], second: list[str], said: str
) -> None:
    gate = versioned
    tasks = [
        gate.task(name="Task 1: First", files=["first.py"], depends_on=first),
        gate.task(name="Task 2: Second", files=["second.py"], depends_on=second),
    ]
    ran = gate.start(document=tasks)
    assert ran.code == 13
    assert ran.has(said)
    assert gate.json("verify", "status")["tasks"] == []


@pytest.mark.criterion("VG-31")
def test_a_dependency_on_a_later_wave_is_refused(fleet: Fleet) -> None:
    a = fleet.machine("a")
    ran = a.take_list(part(1, wave="one", depends_on=["part 2"]), part(2, wave="two"))
    assert ran.code == 13
    assert ran.has("part 1 (wave one) depends on part 2 (wave two), whose wave begins later", "give both the same wave")
    assert a.next("ann") == "no-task"
    assert a.take_list(part(2, wave="two"), part(1, wave="one", depends_on=["part 2"])).code == 0
    # Taken with another text, a task keeps its place.
    assert a.take_list(part(2, wave="two", done="part 2 says 2"), part(3)).code == 0
    assert a.next("ann") == "part-2"


def test_a_wave_ends_before_the_next_one_in_a_mixed_list(fleet: Fleet) -> None:
    a = fleet.machine("a")
    late = part(2, wave="two", depends_on=["part 3"])
    assert a.take_list(part(1, wave="one"), late, part(3, wave="one")).code == 0
    assert a.next("ann") == "part-1"
    a.report("part-1", "ann")
    a.verify("part-1")
    assert a.review("part-1", "eve").code == 0
    assert a.next("ann") == "part-3"


def two(gate: Gate, **second: object) -> list[dict[str, object]]:
    return [
        gate.task(name="Task 1: First", files=["first.py"], depends_on=["Task 2: Second"]),
        gate.task(name="Task 2: Second", files=["planner.py"], **second),
    ]


def test_start_takes_the_next_task_whose_dependencies_are_finished(gate: Gate) -> None:
    assert gate.call("verify", "start").has("there is no task yet", "phase-gate verify start --task-file FILE")
    assert gate.start(document=two(gate)).has("next: phase-gate verify start")
    assert gate.call("verify", "start").has("Task 2: Second (task-2-second), attempt 1")
    refused = gate.call("verify", "start")
    assert refused.code == 10
    assert refused.has("phase-gate verify status --task task-2-second")
    assert gate.executor(gate.result(task_name="Task 2: Second")).code == 0
    gate.verify()
    assert gate.review(gate.verdict(task_name="Task 2: Second")).code == 0
    assert gate.call("verify", "start").has("Task 1: First (task-1-first), attempt 1")
