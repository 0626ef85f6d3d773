"""Parts of reports as text: sparklines, and what a proof showed."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.codec import spell_out
from phase_gate.proof.verdicts import FunctionProof, Proof, TargetProof
from phase_gate.report.text import describe_proof, proof_section, sparkline


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([0, 0], "▁▁", id="zeros-are-flat"),
        pytest.param([3, 3], "██", id="above-zero-is-high"),
        pytest.param([0, 7], "▁█", id="from-nothing-to-all"),
        pytest.param([0, 1, 1000], "▁▂█", id="little-is-more-than-nothing"),
        pytest.param([-4, 0], "▁█", id="below-zero"),
    ],
)
def test_line(values: list[float], line: str) -> None:
    assert sparkline(values) == line


def test_a_long_row_shows_the_highest_of_each_group() -> None:
    values = [0.0] * 600
    values[301] = 5
    line = sparkline(values)
    assert len(line) == 60
    assert line.count("█") == 1


PROVEN = {"targets_proven": 2, "functions_changed": 3, "functions_unnoticed": 1, "proof_has_control": True}


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({}, ""),
        ({"proof_objections": 1}, ""),
        ({"targets_proven": 0, "proof_has_control": True}, ""),
        (PROVEN, "2 of 2 targets: fail without the change, pass with it, notice 2 of 3 functions"),
        (
            {**PROVEN, "proof_has_control": False, "functions_changed": 0, "targets_unproven": 1},
            "2 of 3 targets: pass with it; 1 unknown",
        ),
    ],
)
def test_a_line(metrics: dict[str, Any], expected: str) -> None:
    assert describe_proof(metrics) == expected


def test_the_runs_of_each_target_stand_side_by_side() -> None:
    proof = Proof(
        targets=(
            TargetProof(
                id="test_a.py::test_a",
                verdict="proven",
                control="fails",
                treatment="passes",
                notices=("a.py::f",),
                was_tried=True,
                altered="fails",
            ),
            TargetProof(id="test_a.py::test_b", verdict="unknown", why="it did not run in the sandbox"),
        ),
        functions=(FunctionProof(file="a.py", name="g", line=4),),
    )
    section = proof_section({"GREEN": spell_out(proof)})
    assert section is not None
    assert section.lines == (
        "GREEN: 1 of 2 targets proven.",
        "GREEN: no target notices when g does nothing (a.py:4)",
    )
    # The ones to look at come first.
    assert section.tables[0].rows == (
        ("test_a.py::test_b", "unknown", "unknown", "-", "not tried", "unknown: it did not run in the sandbox"),
        ("test_a.py::test_a", "fails", "passes", "fails", "noticed", "proven"),
    )


def test_without_a_proof_there_is_no_such_part_and_a_reason_is_told() -> None:
    assert proof_section({}) is None
    section = proof_section({"GREEN": spell_out(Proof(problem="git has no a.py any more"))})
    assert section is not None
    assert section.lines == ("GREEN: no proof could be made: git has no a.py any more",)
