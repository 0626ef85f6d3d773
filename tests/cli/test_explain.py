"""`phase-gate explain`: the last verdict, or one name of ours."""

from __future__ import annotations

import pytest

from phase_gate.errors import MESSAGES
from tests.cli.conftest import Begin


@pytest.mark.parametrize(
    ("story", "code"),
    [
        pytest.param("", 10, id="nothing-was-run"),
        pytest.param("green-once", 10, id="closed"),
        pytest.param("green", 10, id="no-signal"),
        pytest.param("green-exited", 0, id="exited"),
        pytest.param("done", 0, id="done"),
    ],
)
@pytest.mark.parametrize("name", [(), ("tests_failing",)], ids=["the-verdict", "a-name"])
def test_it_ends_as_the_task_stands(begin: Begin, story: str, code: int, name: tuple[str, ...]) -> None:
    desk = begin(story)
    before = desk.files()
    assert desk.gate("explain", *name).code == code
    assert desk.gate("explain", *name, "--json").code == code
    assert desk.files() == before, "it only looks"


def test_the_last_verdict_in_full(begin: Begin) -> None:
    desk = begin("green-once")
    ran = desk.gate("explain")
    assert ran.has("GREEN, iteration 1, ", "Gate 1, All tests passing (stable): closed")
    assert ran.has(
        "  met      tests_failing == 0", "  unmet    consecutive_green_runs >= required_green_runs  (1 >= 2)"
    )
    assert ran.has("  met      complete-run", "Gate 2, explicit exit signal: absent", "verdict  ", "next     ")
    document = desk.json("explain")
    assert (document["open"], document["evaluation"]["iteration"]) == (False, 1)


def test_a_signal_is_part_of_it(begin: Begin) -> None:
    assert begin("green-exited").gate("explain").has("Gate 2, explicit exit signal: done both pass, twice")


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        pytest.param("tests_failing", "metric", ("tests_failing (int): ", "last verdict: 0"), id="a-metric"),
        pytest.param("has_adr", "metric", ("has_adr (bool): ", "not measured in the last verdict"), id="not-measured"),
        pytest.param(
            "complete-run",
            "guard",
            ("complete-run: run_complete == true", "if it is unmet: ", "last verdict: met"),
            id="a-guard",
        ),
        pytest.param("green", "phase", ("GREEN: ", "Gate 1: tests_total > 0", "next:   REFACTOR"), id="a-phase"),
        pytest.param("state-tampered", "message", ("state-tampered: The ledger's chain is broken",), id="a-message"),
    ],
)
def test_one_name_of_ours(begin: Begin, name: str, kind: str, said: tuple[str, ...]) -> None:
    desk = begin("green")
    assert desk.json("explain", name)["kind"] == kind
    assert desk.gate("explain", name).has(*said)


def test_a_guard_names_what_it_found(begin: Begin) -> None:
    desk = begin("green")
    desk.sample.write(test_calc="def test_add():\n    from calc import add\n\n    assert add(1, 2) == 3\n")
    desk.sample.pytest("--phase=green")
    ran = desk.gate("explain", "tests-kept")
    assert ran.has("last verdict: tests missing from the sources: 1", "test_calc.py::test_sub: ")
    assert [finding["id"] for finding in desk.json("explain", "tests-kept")["findings"]] == ["test_calc.py::test_sub"]


def test_every_message_is_explained(begin: Begin) -> None:
    desk = begin("")
    for slug, meaning in MESSAGES.items():
        assert desk.json("explain", slug)["text"] == f"{slug}: {meaning}"


@pytest.mark.parametrize(
    "name", ["nonsense", "", "../x", "ü" * 300], ids=["unknown", "empty", "a-path", "300-characters"]
)
def test_what_nothing_is_called(begin: Begin, name: str) -> None:
    code, slug, problem = begin("green").error("explain", name)
    assert (code, slug) == (2, "bad-usage")
    assert problem.startswith("nothing is called '")
    assert len(problem) < 70


def test_state_trouble_is_11(begin: Begin) -> None:
    desk = begin("green")
    desk.tamper()
    assert desk.error("explain")[:2] == (11, "state-tampered")
