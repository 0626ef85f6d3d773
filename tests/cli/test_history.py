"""`phase-gate history`: every run, oldest first."""

from __future__ import annotations

from tests.cli.conftest import Begin


def test_every_run_oldest_first(begin: Begin) -> None:
    desk = begin("refactor")
    desk.project.run("--phase=refactor", "-k", "add")
    document = desk.json("history")
    assert (document["task"], document["root"]) == ("default", str(desk.root))
    runs = document["runs"]
    assert [(run["phase"], run["iteration"], run["kind"], run["exit_status"]) for run in runs] == [
        ("RED", 1, "complete", 1),
        ("GREEN", 1, "complete", 0),
        ("GREEN", 2, "complete", 0),
        ("REFACTOR", 1, "complete", 0),
        ("REFACTOR", None, "partial", 0),
    ]
    assert [run["counts"] for run in runs][:2] == [{"failed": 2}, {"passed": 2}]
    assert [run["at"] for run in runs] == sorted(run["at"] for run in runs)
    assert len({run["id"] for run in runs}) == 5
    assert {run["task"] for run in runs} == {"default"}
    assert "--phase=refactor" in runs[-1]["arguments"]


def test_the_table(begin: Begin) -> None:
    desk = begin("green-once")
    ran = desk.gate("history")
    assert ran.code == 0
    title, red, green = ran.out.splitlines()
    assert title.split() == ["began", "phase", "run", "kind", "tests"]
    assert red.split()[1:] == ["RED", "1", "complete", "2", "failed"]
    assert green.split()[1:] == ["GREEN", "1", "complete", "2", "passed"]


def test_open_and_lost_runs_are_there_too(begin: Begin) -> None:
    desk = begin("green")
    with desk.open_run():
        last = desk.json("history")["runs"][-1]
        assert (last["kind"], last["exit_status"], last["ended_at"]) == ("open", None, None)
    assert desk.json("history")["runs"][-1]["kind"] == "lost"
    desk.project.run("--phase=green")
    assert [run["kind"] for run in desk.json("history")["runs"]][-2:] == ["lost", "complete"]


def test_every_event(begin: Begin) -> None:
    desk = begin("red-exited")
    events = desk.json("history", "--events")["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["kind"] for event in events] == [
        *("created", "cycle-began", "phase-entered", "run-started"),
        *("run-ended", "evaluated"),
        *("evaluated", "signal-spent", "phase-exited"),
    ]
    assert events[-2]["reason"] == "both fail"
    assert len(desk.gate("history", "--events").out.splitlines()) == len(events)


def test_before_anything_was_run(begin: Begin) -> None:
    desk = begin("")
    assert desk.json("history")["runs"] == []
    assert desk.json("history", "--events") == {"events": []}
    assert desk.gate("history").out == "no run is recorded yet\n  next: pytest --phase=red\n"
    assert desk.gate("history", "--events").out == "nothing has happened yet\n"
    assert not desk.folder.exists()
