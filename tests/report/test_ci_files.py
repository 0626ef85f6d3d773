"""What CI systems get of a verdict, as texts: escaped, bounded, and at most one annotation a gate."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.measured import Finding
from phase_gate.gate.verdict import Evaluation, Gate1Result, GuardResult, Signal
from phase_gate.report.ci_files import annotate, outputs, render_dotenv, verdict_words
from phase_gate.values import replace
from tests.gate.verdicts import verdict

HOSTILE = 'x\n::error::boo\r\n##[error]no %0A "<&>" ]]> \x00\x1b[31m \ud800 ::stop,a=b'


def guard(name: str, *, met: bool | None = True) -> GuardResult:
    return GuardResult(name=name, met=met, detail="what is wrong", remedy="mend it")


def finding(slug: str, **fields: Any) -> Finding:
    return Finding(**{"slug": slug, "tier": "hard", "detail": "odd", **fields})


def evaluation(*, gate_1: Any = None, gate_2: Any = None, **changes: Any) -> Evaluation:
    """A verdict with both gates open unless a test says otherwise."""
    gate = {"is_open": True, "name": "All tests passing", "condition": "a > 0", "values": {"a": 1}}
    given = {"answer": "done", "reason": "it is", "by": "dev"}
    made = verdict(iteration=3, reason="both gates are open", metrics={"consecutive_green_runs": 2})
    return replace(
        made,
        gate_1=Gate1Result(**{**gate, "guards": (guard("tests-kept"),), **(gate_1 or {})}),
        gate_2=Signal(**{**given, **(gate_2 or {})}),
        **changes,
    )


CLOSED: Any = {"gate_1": {"is_open": False}, "status": "closed", "reason": "1 test fails"}
ABSENT: Any = {"gate_2": {"answer": "absent", "reason": "", "by": ""}}
BLOCKED: Any = {"gate_2": {"answer": "blocked", "reason": "no key"}}


# --- GitHub


@pytest.mark.parametrize(
    ("changes", "meaning", "expected"),
    [
        pytest.param({}, "dual", [], id="both-hold"),
        pytest.param(CLOSED, "gate1", ["error"], id="gate-1-closed"),
        pytest.param({**CLOSED, **ABSENT}, "dual", ["error"], id="gate-2-waits-for-gate-1"),
        pytest.param(CLOSED, "tests", ["warning"], id="only-observed"),
        pytest.param(ABSENT, "gate1", [], id="nobody-asked-for-gate-2"),
        pytest.param(ABSENT, "dual", ["error"], id="gate-2-absent"),
        pytest.param({**CLOSED, **BLOCKED}, "gate1", ["error", "warning"], id="a-person-is-needed"),
    ],
)
def test_at_most_one_annotation_a_gate(changes: Any, meaning: Any, expected: list[str]) -> None:
    rows = annotate(evaluation(**changes), meaning=meaning)
    assert [row.removeprefix("::").partition(" ")[0] for row in rows] == expected


def test_a_run_that_did_not_count_is_named_by_its_kind() -> None:
    (row,) = annotate(evaluation(**CLOSED, iteration=None, run_kind="partial"), meaning="gate1")
    assert "(GREEN%2C partial run)" in row


def test_an_annotation_stands_at_the_place_that_closed_the_gate() -> None:
    gate_1 = {"is_open": False, "guards": (guard("tests-kept"), guard("tests-unchanged", met=False))}
    findings = (
        finding("looks-odd", tier="advisory", file="a.py", line=1),
        finding("tests-kept", file="b.py", line=2),
        finding("tests-unchanged", file="tests/c, d.py", line=3),
    )
    (row,) = annotate(evaluation(gate_1=gate_1, findings=findings), meaning="gate1")
    assert row.startswith("::error file=tests/c%2C d.py,line=3,title=")
    assert "::tests/c, d.py:3: both gates are open" in row


def test_no_text_can_leave_its_annotation() -> None:
    findings = (finding("tests-kept", file=HOSTILE, id=HOSTILE),)
    gate_1 = {"is_open": False, "guards": (guard("tests-kept", met=False),)}
    rows = annotate(
        evaluation(reason=HOSTILE, next_command=HOSTILE, findings=findings, gate_1=gate_1, **BLOCKED), meaning="gate1"
    )
    for row in rows:
        assert "\n" not in row
        assert "\r" not in row
        properties = row.partition(" ")[2].partition("::")[0]
        assert all("=" in part for part in properties.split(","))
        assert {part.partition("=")[0] for part in properties.split(",")} <= {"file", "line", "title"}


def test_outputs_are_one_line_each_and_can_not_end_their_own_text() -> None:
    words = verdict_words(evaluation(reason=HOSTILE, **ABSENT))
    text = outputs(words, delimiter="END")
    rows = text.splitlines()
    assert len(rows) == 3 * len(words)
    assert rows[:3] == ["can-exit<<END", "false", "END"]
    read = {rows[at].removesuffix("<<END"): rows[at + 1] for at in range(0, len(rows), 3)}
    assert (read["gate1"], read["gate2"], read["phase"], read["streak"]) == ("true", "false", "GREEN", "2")
    assert "\x1b" not in text


def test_long_sentences_are_cut() -> None:
    assert len(verdict_words(evaluation(reason="a" * 10_000))["reason"]) == 500


# --- GitLab


def test_dotenv_has_one_plain_variable_a_line() -> None:
    text = render_dotenv(evaluation(reason=HOSTILE, next_command="n" * 10_000))
    rows = text.split("\n")
    assert rows.pop() == ""
    assert all(row.partition("=")[0].replace("_", "").isalnum() for row in rows)
    assert "PHASE_GATE_CAN_EXIT=true" in rows
    assert len(rows) < 20
    assert len(text.encode()) < 5 * 1024
