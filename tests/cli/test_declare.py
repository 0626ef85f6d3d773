"""`phase-gate declare`: facts that the workflow asks for, and nothing that is measured."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Begin


def test_a_fact_opens_gate_1(begin: Begin) -> None:
    gated = begin("refactor")
    document = gated.json("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    assert document == {
        "phase": "REFACTOR",
        "name": "refactoring_complete",
        "value": True,
        "reason": "tidy",
        "by": "ann",
        "next_command": "phase-gate signal",
    }
    assert {gated.json(name)["next_command"] for name in ("status", "check")} == {"phase-gate signal"}
    assert gated.gate("signal", "--reason", "done").code == 0


def test_a_fact_that_opens_nothing_leads_to_a_run(begin: Begin) -> None:
    document = begin("refactor").json("declare", "refactoring_complete=false", "--reason", "not yet")
    assert document["next_command"] == "pytest --phase=auto"


def test_the_last_word_counts(begin: Begin) -> None:
    gated = begin("refactor")
    for value in ("true", "false"):
        assert gated.gate("declare", f"refactoring_complete={value}", "--reason", "so").code == 0
    assert [fact["value"] for fact in gated.json("status")["facts"]] == [False]
    assert gated.gate("signal", "--reason", "done").code == 10


def test_a_fact_holds_for_its_phase_only(begin: Begin) -> None:
    gated = begin("refactor-exited")
    assert [fact["name"] for fact in gated.json("status")["facts"]] == ["refactoring_complete"]
    assert gated.gate("advance").code == 0
    assert gated.json("status")["facts"] == []


@pytest.mark.parametrize("phase", ["green", "refactor"])
def test_going_back_withdraws_it(begin: Begin, phase: str) -> None:
    gated = begin("declared")
    assert gated.gate("rewind", phase, "--reason", "not yet").code == 0
    assert gated.json("status")["facts"] == []


#: A workflow that asks for a fact of each type, and has one that nobody asks for.
TYPES = """\
workflow: typed
facts: {reviewers: int, risk: number, version: text, forgotten: bool}
phases:
  LOOK:
    gate_1: {name: Looked, condition: "tests_total > 0 AND reviewers >= 2 AND risk < 0.5"}
    next: SHIP
  SHIP:
    tests: none
    gate_1: {name: Shipped, condition: 'version == "1.0"'}
    next: DONE
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("fact", "value"),
    [
        pytest.param("reviewers=2", 2, id="a-whole-number"),
        pytest.param("risk=0.25", 0.25, id="a-number"),
        pytest.param("reviewers=2.5", "reviewers='2.5': not of type int", id="half-a-reviewer"),
        pytest.param("risk=low", "risk='low': not of type number", id="a-word-is-no-number"),
        pytest.param("forgotten=true", "no phase of workflow typed asks for 'forgotten'", id="of-no-phase"),
    ],
)
def test_facts_have_types_and_phases(begin: Begin, fact: str, value: object) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": "workflow: typed.yaml\n", "typed.yaml": TYPES})
    gated.project.write(test_it="def test_it():\n    pass\n").run("--phase=look")
    if isinstance(value, str):
        assert gated.error("declare", fact, "--reason", "counted")[2] == value
        return
    assert gated.json("declare", fact, "--reason", "counted")["value"] == value
    assert [each["value"] for each in gated.json("status")["facts"]] == [value]
    assert type(gated.json("status")["facts"][0]["value"]) is type(value)


def test_a_fact_of_another_phase_is_refused_with_that_phase(begin: Begin) -> None:
    ran = begin("green").gate("declare", "refactoring_complete=true", "--reason", "tidy")
    assert ran.code == 13
    assert ran.has("GREEN does not ask for refactoring_complete: REFACTOR does [not-allowed]")
    assert ran.has("try: declare it once REFACTOR has begun; continue: GREEN asks for no fact")


@pytest.mark.parametrize(
    ("story", "arguments", "code", "problem"),
    [
        pytest.param(
            "green", ("tests_failing=0",), 13, "tests_failing is measured, not declared", id="what-is-measured"
        ),
        pytest.param("green", ("no_such=1",), 13, "no phase of workflow tdd asks for 'no_such'", id="an-unknown-name"),
        pytest.param("refactor", ("refactoring_complete",), 2, "'refactoring_complete' has no value", id="no-value"),
        pytest.param(
            "refactor",
            ("refactoring_complete=yes",),
            2,
            "refactoring_complete='yes': not of type bool",
            id="a-truthy-value",
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
