"""`phase-gate status`: where the task stands and what to type next."""

from __future__ import annotations

from tests.cli.conftest import Begin


def test_the_text_says_it_all(begin: Begin) -> None:
    desk = begin("refactor")
    desk.gate("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    desk.gate("signal", "--next", "--reason", "soon")
    rows = dict(line.split(maxsplit=1) for line in desk.gate("status").out.splitlines())
    (fact,) = desk.json("status")["facts"]
    assert rows == {
        "root": str(desk.root),
        "task": "default",
        "workflow": "tdd, cycle 1",
        "phase": "REFACTOR, iteration 1",
        "streak": "1 green in a row",
        "fact": f"refactoring_complete = true, declared by ann at {fact['at']}: tidy"
        " (not judged yet: run again, or signal)",
        "signal": "waiting for the next evaluation",
        "verdict": desk.json("status")["reason"],
        "next": 'phase-gate signal  # --reason "..." adds a reason',
    }


def test_a_fact_that_was_judged_is_not_called_new(begin: Begin) -> None:
    desk = begin("refactor-exited")
    (fact,) = desk.json("status")["facts"]
    shown = f"fact     refactoring_complete = true, declared by {fact['by']} at {fact['at']}: tidy\n"
    assert desk.gate("status").has(shown)


def test_a_malformed_signal_is_said_with_its_place(begin: Begin) -> None:
    desk = begin("red")
    desk.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    assert desk.json("status")["signal_waiting"].startswith("exit-signal.yaml:1:14: exit_signal is 'yes'; write ")
    assert desk.gate("status").has("signal   exit-signal.yaml:1:14: exit_signal is 'yes'")


def test_lost_and_open_runs_are_named(begin: Begin) -> None:
    desk = begin("green")
    with desk.open_run() as run:
        document = desk.json("status")
        assert (document["open_runs"], document["lost_runs"], document["reason"]) == ([run], [], "a run is in progress")
    document = desk.json("status")
    assert (document["open_runs"], document["lost_runs"]) == ([], [run])
    assert document["reason"] == "run feedface began and never ended"


def test_tasks_never_touch_each_other(begin: Begin) -> None:
    desk = begin("green")
    document = desk.json("status", "--task", "other")
    assert (document["task"], document["phase"]) == ("other", None)
    desk.project.environment.setenv("PHASE_GATE_TASK", "other")
    assert desk.json("status")["task"] == "other"
    assert desk.json("status", "--task", "default")["phase"] == "GREEN"


def test_another_state_folder(begin: Begin) -> None:
    desk = begin("green")
    desk.folder.rename(desk.root / "elsewhere")
    assert desk.json("status")["phase"] is None
    assert desk.json("status", "--dir", "elsewhere")["phase"] == "GREEN"
    desk.project.environment.setenv("PHASE_GATE_DIR", "elsewhere")
    assert desk.json("status")["phase"] == "GREEN"
