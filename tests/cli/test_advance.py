"""`phase-gate advance`: into the next phase, or one more look at a phase that needs no tests."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "phase"),
    [
        pytest.param("green-exited", "REFACTOR", id="from-green"),
        pytest.param("refactor-exited", "DOCUMENT", id="into-a-phase-without-tests"),
    ],
)
def test_the_next_phase_begins(begin: Begin, story: str, phase: str) -> None:
    gated = begin(story)
    assert gated.json("advance") == {"phase": phase, "entered": True}
    status = gated.json("status")
    assert (status["phase"], status["iteration"], status["exited"], status["streak"]) == (phase, 0, False, 0)


def test_it_says_what_to_do_there(begin: Begin) -> None:
    ran = begin("red-exited").gate("advance")
    assert ran.code == 0
    assert ran.out.startswith("GREEN begins\n")
    assert ran.out.endswith("\n  next: pytest --phase=green\n")


def test_a_phase_without_tests_is_evaluated_each_time(begin: Begin) -> None:
    gated = begin("document")
    for iteration in (1, 2):
        ran = gated.gate("advance", "--json")
        assert ran.code == 10
        assert (ran.document["phase"], ran.document["iteration"], ran.document["run"]) == ("DOCUMENT", iteration, None)
    assert gated.json("status")["iteration"] == 2


@pytest.mark.parametrize("words", [("advance",), ("signal", "--reason", "written")], ids=lambda words: words[0])
def test_a_lost_run_is_past_once_the_phase_is_judged_again(begin: Begin, words: tuple[str, ...]) -> None:
    gated = begin("notes")
    gated.lose_run()
    assert gated.json("status")["status"] == "stale"
    gated.gate(*words)
    status = gated.json("status")
    assert (status["open_runs"], status["status"]) == ([], "waiting" if words == ("advance",) else "open")
    assert [run["kind"] for run in gated.json("history")["runs"]][-1] == "lost"


def test_a_waiting_signal_is_read_and_spent(begin: Begin) -> None:
    gated = begin("notes")
    gated.gate("signal", "--next", "--reason", "written", "--by", "ann")
    ran = gated.gate("advance", "--json")
    assert (ran.code, ran.document["can_exit"], ran.document["gate_2"]["by"]) == (0, True, "ann")
    assert not (gated.folder / "exit-signal.yaml").exists()
    assert gated.json("status")["phase"] == "DONE"


@pytest.mark.parametrize(
    ("content", "answer", "stays"),
    [
        pytest.param("exit_signal: yes\n", "malformed", True, id="a-malformed-one-waits"),
        pytest.param("exit_signal: true\nremaining_work: all\n", "refused", False, id="a-contradiction-is-spent"),
        pytest.param("exit_signal: false\n", "not-done", False, id="a-veto-is-spent"),
    ],
)
def test_no_other_signal_opens_it(begin: Begin, content: str, answer: str, stays: bool) -> None:
    gated = begin("notes")
    gated.project.write({".phase-gate/exit-signal.yaml": content})
    ran = gated.gate("advance", "--json")
    assert (ran.code, ran.document["gate_2"]["answer"]) == (10, answer)
    assert (gated.folder / "exit-signal.yaml").exists() is stays


@pytest.mark.parametrize(
    ("story", "slug", "problem"),
    [
        pytest.param("", "not-allowed", "task default has no run yet", id="no-task-yet"),
        pytest.param("done", "not-allowed", "the cycle is done", id="after-the-end"),
        pytest.param(
            "green",
            "phase-order",
            "GREEN has not exited (Gate 1 is open; Gate 2 waits for the exit signal)",
            id="before-the-signal",
        ),
        pytest.param(
            "green-once", "phase-order", "GREEN has not exited (needs one more green run", id="before-the-gate"
        ),
    ],
)
def test_not_before_its_time(begin: Begin, story: str, slug: str, problem: str) -> None:
    found = begin(story).error("advance")
    assert found[:2] == (13, slug)
    assert found[2].startswith(problem)
