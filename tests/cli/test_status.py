"""`phase-gate status`: where the task stands and what to type next."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "code", "expected"),
    [
        pytest.param(
            "",
            0,
            {"phase": None, "cycle": 0, "exited": False, "next_command": "pytest --phase=red", "workflow": "tdd"},
            id="nothing-was-run",
        ),
        pytest.param(
            "red",
            10,
            {
                "phase": "RED",
                "cycle": 1,
                "iteration": 1,
                "exited": False,
                "next_command": "phase-gate signal",
            },
            id="red-without-a-signal",
        ),
        pytest.param("red-exited", 0, {"phase": "RED", "exited": True, "open": True}, id="red-has-exited"),
        pytest.param("green-once", 10, {"phase": "GREEN", "iteration": 1, "streak": 1}, id="green-only-once"),
        pytest.param("green", 10, {"phase": "GREEN", "iteration": 2, "streak": 2, "open": False}, id="green-twice"),
        pytest.param("green-exited", 0, {"phase": "GREEN", "exited": True, "streak": 2}, id="green-has-exited"),
        pytest.param("document", 10, {"phase": "DOCUMENT", "iteration": 0, "exited": False}, id="just-entered"),
        pytest.param("done", 0, {"phase": "DONE", "workflow": "short", "open": True}, id="the-cycle-is-done"),
    ],
)
def test_where_the_task_stands(begin: Begin, story: str, code: int, expected: dict[str, Any]) -> None:
    desk = begin(story)
    before = desk.files()
    ran = desk.gate("status", "--json")
    assert ran.code == code
    assert {name: ran.document[name] for name in expected} == expected
    assert desk.files() == before, "it only looks"


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
        "next": desk.json("status")["next_command"],
    }


def test_a_fact_that_was_judged_is_not_called_new(begin: Begin) -> None:
    desk = begin("refactor-exited")
    (fact,) = desk.json("status")["facts"]
    shown = f"fact     refactoring_complete = true, declared by {fact['by']} at {fact['at']}: tidy\n"
    assert desk.gate("status").has(shown)


def test_a_malformed_signal_is_said_with_its_place(begin: Begin) -> None:
    desk = begin("red")
    desk.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    assert desk.json("status")["signal_waiting"] == "exit-signal.yaml:1:14: exit_signal is 'yes'"
    assert desk.gate("status").has("signal   exit-signal.yaml:1:14: exit_signal is 'yes'")


def test_lost_and_open_runs_are_named(begin: Begin) -> None:
    desk = begin("green")
    with desk.open_run() as run:
        document = desk.json("status")
        assert (document["open_runs"], document["lost_runs"], document["reason"]) == ([run], [], "a run is in progress")
    document = desk.json("status")
    assert (document["open_runs"], document["lost_runs"]) == ([], [run])
    assert document["reason"] == "run feedface began and never ended"


def test_the_block_is_the_last_verdict(begin: Begin) -> None:
    desk = begin("green")
    ran = desk.gate("status", "--block")
    assert ran.code == 10
    assert ran.has("PRP_PHASE_STATUS", "GREEN")
    assert desk.json("status", "--block")["phase"] == "GREEN"


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
