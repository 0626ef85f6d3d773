"""`phase-gate declare`: facts that the workflow asks for, and nothing that is measured."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin


def test_a_fact_opens_gate_1(begin: Begin) -> None:
    desk = begin("refactor")
    document = desk.json("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    assert document == {
        "phase": "REFACTOR",
        "name": "refactoring_complete",
        "value": True,
        "reason": "tidy",
        "by": "ann",
    }
    assert desk.gate("signal", "--reason", "done").code == 0


def test_the_last_word_counts(begin: Begin) -> None:
    desk = begin("refactor")
    for value in ("true", "false"):
        assert desk.gate("declare", f"refactoring_complete={value}", "--reason", "so").code == 0
    assert [fact["value"] for fact in desk.json("status")["facts"]] == [False]
    assert desk.gate("signal", "--reason", "done").code == 10


def test_a_fact_holds_for_its_phase_only(begin: Begin) -> None:
    desk = begin("green")
    desk.gate("declare", "refactoring_complete=true", "--reason", "too early")
    assert desk.gate("signal", "--reason", "done").code == 0
    assert desk.sample.pytest("--phase=refactor").code == 10
    assert desk.json("status")["facts"] == []


@pytest.mark.parametrize(
    ("story", "arguments", "code", "problem"),
    [
        pytest.param(
            "green", ("tests_failing=0",), 13, "tests_failing is measured, nobody declares it", id="what-is-measured"
        ),
        pytest.param("green", ("iteration=5",), 13, "iteration is measured, nobody declares it", id="an-iteration"),
        pytest.param("green", ("no_such=1",), 13, "'no_such' is not a fact of workflow tdd", id="an-unknown-name"),
        pytest.param("green", ("../x=1",), 13, "'../x' is not a fact of workflow tdd", id="a-path"),
        pytest.param("green", ("=true",), 13, "'' is not a fact of workflow tdd", id="no-name"),
        pytest.param("green", ("refactoring_complete",), 2, "'refactoring_complete' has no value", id="no-value"),
        pytest.param(
            "green",
            ("refactoring_complete=yes",),
            2,
            "refactoring_complete='yes': not of type bool",
            id="a-truthy-value",
        ),
        pytest.param(
            "green", ("refactoring_complete=",), 2, "refactoring_complete='': not of type bool", id="an-empty-value"
        ),
        pytest.param("", ("refactoring_complete=true",), 13, "task default has no run yet", id="no-task-yet"),
        pytest.param(
            "done", ("refactoring_complete=true",), 13, "the cycle is done: facts belong to a phase", id="after-the-end"
        ),
    ],
)
def test_what_can_not_be_declared(
    begin: Begin, story: str, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    found = begin(story).error("declare", *arguments, "--reason", "because")
    assert (found[0], found[2]) == (code, problem)


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", "  ")], ids=["none", "empty", "blank"])
def test_a_fact_needs_a_reason(begin: Begin, reason: tuple[str, ...]) -> None:
    assert begin("refactor").error("declare", "refactoring_complete=true", *reason)[:2] == (2, "bad-usage")


def test_a_name_of_300_characters_does_not_flood_the_message(begin: Begin) -> None:
    code, _, problem = begin("refactor").error("declare", f"{'x' * 300}=1", "--reason", "because")
    assert code == 13
    assert len(problem) < 100


def test_not_while_a_run_is_going_on(begin: Begin) -> None:
    desk = begin("green")
    with desk.open_run():
        assert desk.error("declare", "refactoring_complete=true", "--reason", "x")[:2] == (13, "not-allowed")


def test_state_trouble_is_11(begin: Begin) -> None:
    desk = begin("green")
    desk.tamper()
    assert desk.error("declare", "refactoring_complete=true", "--reason", "x")[:2] == (11, "state-tampered")
