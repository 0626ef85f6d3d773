"""`phase-gate history`: every run, oldest first."""

from __future__ import annotations

from tests.cli.conftest import Begin


def test_every_run_oldest_first(begin: Begin) -> None:
    gated = begin("refactor")
    gated.project.run("--phase=refactor", "-k", "add")
    document = gated.json("history")
    assert (document["task"], document["root"]) == ("default", str(gated.root))
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
    gated = begin("green-once")
    ran = gated.gate("history")
    assert ran.code == 0
    title, red, green = ran.out.splitlines()
    assert title.split() == ["began", "phase", "iteration", "kind", "tests"]
    assert red.split()[1:] == ["RED", "1", "complete", "2", "failed"]
    assert green.split()[1:] == ["GREEN", "1", "complete", "2", "passed"]


def test_open_and_lost_runs_are_there_too(begin: Begin) -> None:
    gated = begin("green")
    with gated.open_run():
        last = gated.json("history")["runs"][-1]
        assert (last["kind"], last["exit_status"], last["ended_at"]) == ("open", None, None)
    assert gated.json("history")["runs"][-1]["kind"] == "lost"
    gated.project.run("--phase=green")
    assert [run["kind"] for run in gated.json("history")["runs"]][-2:] == ["lost", "complete"]


def test_every_event(begin: Begin) -> None:
    gated = begin("red-exited")
    events = gated.json("history", "--events")["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["kind"] for event in events] == [
        *("created", "cycle-began", "phase-entered", "run-started"),
        *("run-ended", "evaluated"),
        *("evaluated", "signal-spent", "phase-exited"),
    ]
    assert events[-2]["reason"] == "both fail"
    assert len(gated.gate("history", "--events").out.splitlines()) == len(events)


def test_before_anything_was_run(begin: Begin) -> None:
    gated = begin("")
    assert gated.json("history")["runs"] == []
    assert gated.json("history", "--events") == {"events": []}
    assert gated.gate("history").out == "no run is recorded yet\n  next: pytest --phase=red\n"
    assert gated.gate("history", "--events").out == "nothing has happened yet\n"
    assert not gated.folder.exists()
