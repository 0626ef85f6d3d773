"""`phase-gate agent mcp` as far as it goes without its extra: what the tools answer, and that they can only look.

With the real client of the package, over a pipe: `tox -e mcp`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from phase_gate.cli._answer import Answer
from phase_gate.cli._dispatch import call_in
from phase_gate.cli.agent_mcp import MOST, Ask, explain, show_history, show_status
from phase_gate.errors import PhaseGateError, UsageError
from tests.cli.conftest import Begin, Desk

LOOKING = {"status", "explain", "history"}


def ask_in(desk: Desk) -> Ask:
    def ask(*words: str) -> Answer:
        return call_in(desk.root, list(words), environment=dict(os.environ), interactive=False)

    return ask


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)


@pytest.mark.usefixtures("no_extra")
def test_without_the_extra_it_says_what_to_install(begin: Begin) -> None:
    ran = begin("").gate("agent", "mcp")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("phase-gate: the server needs the package mcp, from version 2 on (")
    assert ran.err.endswith("[bad-usage]\n  try: pip install 'pytest-phase-gate[mcp]'\n")


def test_a_root_that_is_no_folder_is_refused(begin: Begin) -> None:
    assert begin("").error("agent", "mcp", "--root", "nowhere") == (2, "bad-usage", "nowhere is no folder")


# --- what the tools answer


def test_status_is_the_command_s_without_the_verdict_in_full(begin: Begin) -> None:
    desk = begin("green")
    ran = desk.gate("status", "--json")
    expected = {"exit_code": ran.code, **ran.document}
    del expected["evaluation"]
    assert show_status(ask_in(desk)) == expected
    assert (expected["open"], expected["exit_code"]) == (False, 10)


def test_status_where_nothing_has_run(begin: Begin) -> None:
    found = show_status(ask_in(begin("")))
    assert (found["phase"], found["open"], found["next_command"]) == (None, False, "pytest --phase=red")


def test_an_explanation_has_both_gates_and_the_text(begin: Begin) -> None:
    desk = begin("green-once")
    verdict = desk.json("explain")["evaluation"]
    found = explain(ask_in(desk))
    assert (found["gate_1"], found["gate_2"]) == (verdict["gate_1"], verdict["gate_2"])
    assert found["text"] == desk.gate("explain").out.rstrip("\n")
    assert "evaluation" not in found


def test_an_explanation_of_a_name(begin: Begin) -> None:
    desk = begin("green")
    found = explain(ask_in(desk), "tests-kept")
    assert (found["kind"], found["name"]) == ("guard", "tests-kept")
    assert found["text"] == desk.json("explain", "tests-kept")["text"]


def test_an_explanation_where_nothing_has_run(begin: Begin) -> None:
    found = explain(ask_in(begin("")))
    assert found["text"].startswith("no run is recorded yet")
    assert "gate_1" not in found


@pytest.mark.parametrize(("last", "expected"), [(1, [2]), (2, [1, 2]), (MOST, [0, 1, 2])])
def test_history_has_the_last_runs(begin: Begin, last: int, expected: list[int]) -> None:
    desk = begin("green")
    runs = desk.json("history")["runs"]
    found = show_history(ask_in(desk), last)
    assert found["total"] == len(runs) == 3
    assert [run["id"] for run in found["runs"]] == [runs[place]["id"] for place in expected]
    assert set(found["runs"][0]) == {*runs[0]} - {"metrics", "arguments"}


@pytest.mark.parametrize("last", [0, -1, MOST + 1])
def test_history_of_no_or_too_many_runs_is_refused(begin: Begin, last: int) -> None:
    with pytest.raises(UsageError, match="last can't be"):
        show_history(ask_in(begin("")), last)


def test_what_can_not_be_trusted_is_an_error_with_the_way_out(begin: Begin) -> None:
    desk = begin("green")
    desk.tamper()
    for look in (show_status, explain, show_history):
        with pytest.raises(PhaseGateError, match=r"phase-gate audit"):
            look(ask_in(desk))


# --- that they can only look

HOSTILE = (
    "--dir=elsewhere",
    "--json",
    "-h",
    "--",
    "signal --reason x",
    "",
    "../x",
    "x\ny",
    "$(touch pwned)",
    "--task=y",
    "ä" * 300,
)
CALLS: dict[str, Callable[[Ask, str], dict[str, Any]]] = {
    "status-task": lambda ask, text: show_status(ask, text),
    "explain-name": lambda ask, text: explain(ask, text),
    "explain-task": lambda ask, text: explain(ask, None, text),
    "history-task": lambda ask, text: show_history(ask, 5, text),
}


@pytest.mark.parametrize("call", CALLS)
def test_whatever_is_sent_is_a_name_and_nothing_else(begin: Begin, call: str) -> None:
    desk = begin("green")
    before, asked = desk.files(), list[tuple[str, ...]]()

    def ask(*words: str) -> Answer:
        asked.append(words)
        return ask_in(desk)(*words)

    for text in HOSTILE:
        with pytest.raises(PhaseGateError) as caught:
            CALLS[call](ask, text)
        assert (text, caught.value.slug) in ((text, "bad-task-name"), (text, "bad-usage"))
    assert {words[0] for words in asked} <= LOOKING
    assert desk.files() == before


def test_looking_changes_nothing(begin: Begin) -> None:
    desk = begin("green")
    show_status(ask_in(desk))  # which remembers the digests of files, as every look does
    before = desk.files()
    for _ in range(2):
        show_status(ask_in(desk))
        explain(ask_in(desk))
        explain(ask_in(desk), "green")
        show_history(ask_in(desk))
    assert desk.files() == before
