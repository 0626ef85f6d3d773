"""The part *proof* of the page: the runs of each target side by side, and what to type where there is none."""

from __future__ import annotations

import pytest

from phase_gate.report.html.proof import render_proofs
from tests.report.sample_story import build_sample


def shown() -> str:
    return render_proofs(build_sample().story().proofs)


def test_where_there_is_none_it_says_what_to_type() -> None:
    assert "<code>phase-gate prove</code>" in render_proofs({})


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("GREEN: 1 of 3 targets proven.", id="proof"),
        pytest.param("No target notices when these functions do nothing:", id="unnoticed"),
    ],
)
def test_it_tells_what_was_found(said: str) -> None:
    assert said in shown()


def test_the_three_runs_of_a_target_stand_side_by_side() -> None:
    row = shown().partition("test_fee_from_the_second_on</th>")[2].partition("</tr>")[0]
    for label, text in (
        ("without the change", "fails"),
        ("with it", "passes"),
        ("emptied", "not noticed"),
        ("verdict", "checks-nothing"),
    ):
        assert text in row.partition(f'data-label="{label}"')[2].partition("</td>")[0]
