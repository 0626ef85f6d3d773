"""`phase-gate withdraw`: take back a waiting signal, or a declared fact."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Begin


@pytest.mark.parametrize("story", ["green", ""], ids=["a-task", "no-task-yet"])
def test_a_waiting_signal_is_taken_back(begin: Begin, story: str) -> None:
    gated = begin(story)
    gated.gate("signal", "--next", "--reason", "done")
    assert gated.json("withdraw") == {
        "withdrawn": "signal",
        "answer": "done",
        "next_command": "phase-gate status",
    }
    assert gated.json("status")["signal_waiting"] is None
    last = gated.json("history", "--events")["events"][-1]
    assert (last["kind"], last["answer"], last["by"]) == ("signal-withdrawn", "done", "dev")


def test_a_folder_in_its_place_is_named_and_stays(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml/notes.txt": "mine\n"})
    assert gated.error("withdraw") == (11, "state-storage", "exit-signal.yaml is a folder, not a file")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_in_its_place_goes_and_what_it_points_to_stays(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({"mine.yaml": "exit_signal: true\n"})
    (gated.folder / "exit-signal.yaml").symlink_to(gated.root / "mine.yaml")
    assert gated.gate("withdraw").code == 0
    assert not (gated.folder / "exit-signal.yaml").is_symlink()
    assert (gated.root / "mine.yaml").exists()


def test_what_is_taken_back_does_not_count(begin: Begin) -> None:
    gated = begin("green-once")
    gated.gate("signal", "--next", "--reason", "done")
    gated.gate("withdraw")
    assert gated.project.run("--phase=green", "--phase-exit=dual").code == 10


def test_a_fact_is_taken_back(begin: Begin) -> None:
    gated = begin("declared")
    assert gated.json("withdraw", "refactoring_complete") == {"withdrawn": "refactoring_complete"}
    assert gated.json("status")["facts"] == []
    assert gated.gate("signal", "--reason", "done").code == 10


@pytest.mark.parametrize(
    ("story", "arguments", "problem"),
    [
        pytest.param("green", (), "no signal is waiting", id="no-signal"),
        pytest.param(
            "refactor",
            ("refactoring_complete",),
            "refactoring_complete is not declared in this phase",
            id="not-declared",
        ),
        pytest.param("", ("refactoring_complete",), "task default has no run yet", id="no-task-yet"),
    ],
)
def test_what_is_not_there_can_not_be_taken_back(
    begin: Begin, story: str, arguments: tuple[str, ...], problem: str
) -> None:
    assert begin(story).error("withdraw", *arguments) == (13, "not-allowed", problem)
