"""`phase-gate status`: where the task stands and what to type next."""

from __future__ import annotations

from tests.cli.conftest import Begin


def test_the_text_says_it_all(begin: Begin) -> None:
    gated = begin("refactor")
    gated.gate("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    gated.gate("signal", "--next", "--reason", "soon")
    rows = dict(line.split(maxsplit=1) for line in gated.gate("status").out.splitlines())
    (fact,) = gated.json("status")["facts"]
    assert rows == {
        "root": str(gated.root),
        "task": "default",
        "workflow": "tdd, cycle 1",
        "phase": "REFACTOR, iteration 1",
        "streak": "1 green in a row",
        "fact": f"refactoring_complete = true, declared by ann at {fact['at']}: tidy"
        " (not judged yet: run again, or signal)",
        "signal": "waiting for the next evaluation",
        "verdict": gated.json("status")["reason"],
        "next": 'phase-gate signal  # --reason "..." adds a reason',
    }


def test_a_fact_that_was_judged_is_not_called_new(begin: Begin) -> None:
    gated = begin("refactor-exited")
    (fact,) = gated.json("status")["facts"]
    shown = f"fact     refactoring_complete = true, declared by {fact['by']} at {fact['at']}: tidy\n"
    assert gated.gate("status").has(shown)


def test_a_malformed_signal_is_said_with_its_place(begin: Begin) -> None:
    gated = begin("red")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    assert gated.json("status")["signal_waiting"].startswith("exit-signal.yaml:1:14: exit_signal is 'yes'; write ")
    assert gated.gate("status").has("signal   exit-signal.yaml:1:14: exit_signal is 'yes'")


def test_lost_and_open_runs_are_named(begin: Begin) -> None:
    gated = begin("green")
    with gated.open_run() as run:
        document = gated.json("status")
        assert (document["open_runs"], document["lost_runs"], document["reason"]) == ([run], [], "a run is in progress")
    document = gated.json("status")
    assert (document["open_runs"], document["lost_runs"]) == ([], [run])
    assert document["reason"] == "run feedface began and never ended"


def test_tasks_never_touch_each_other(begin: Begin) -> None:
    gated = begin("green")
    document = gated.json("status", "--task", "other")
    assert (document["task"], document["phase"]) == ("other", None)
    gated.project.environment.setenv("PHASE_GATE_TASK", "other")
    assert gated.json("status")["task"] == "other"
    assert gated.json("status", "--task", "default")["phase"] == "GREEN"


def test_another_state_folder(begin: Begin) -> None:
    gated = begin("green")
    gated.folder.rename(gated.root / "elsewhere")
    assert gated.json("status")["phase"] is None
    assert gated.json("status", "--dir", "elsewhere")["phase"] == "GREEN"
    gated.project.environment.setenv("PHASE_GATE_DIR", "elsewhere")
    assert gated.json("status")["phase"] == "GREEN"
