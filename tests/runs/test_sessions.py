"""What a run's exit status becomes: every sentence on exit codes in the design, as a row."""

from __future__ import annotations

import pytest

from phase_gate import exit_codes
from phase_gate.runs.sessions import exit_status_for
from phase_gate.workflow.model import Tests
from phase_gate.workflow.settings import ExitMeaning


@pytest.mark.parametrize(
    ("tests", "opened", "closed"),
    [
        # What becomes of pytest's 0 to 6 and of a plugin's 77.
        pytest.param("passing", (0, 1, 2, 3, 4, 5, 6, 77), (10, 1, 2, 3, 4, 5, 6, 77), id="passing"),
        pytest.param("none", (0, 1, 2, 3, 4, 5, 6, 77), (10, 1, 2, 3, 4, 5, 6, 77), id="none"),
        pytest.param("failing", (0, 0, 2, 3, 4, 5, 6, 77), (10, 10, 2, 3, 4, 5, 6, 77), id="failing"),
    ],
)
@pytest.mark.parametrize("meaning", ["gate1", "dual"])
def test_exit_status(tests: Tests, opened: tuple[int, ...], closed: tuple[int, ...], meaning: ExitMeaning) -> None:
    for is_open, expected in ((True, opened), (False, closed)):
        codes = (*range(7), 77)
        assert tuple(exit_status_for(each, meaning=meaning, tests=tests, is_open=is_open) for each in codes) == expected


@pytest.mark.parametrize("tests", ["failing", "passing", "none"])
def test_to_observe_only_is_pytests_own_status(tests: Tests) -> None:
    for code in range(7):
        for is_open in (True, False):
            status = exit_status_for(code, meaning="tests", tests=tests, is_open=is_open, is_trusted=False)
            assert status == code


@pytest.mark.parametrize(
    ("pytest_status", "tests", "expected"),
    [
        pytest.param(0, "passing", 11, id="green-that-could-not-be-recorded"),
        pytest.param(1, "passing", 1, id="a-failure-is-not-hidden-by-it"),
        pytest.param(1, "failing", 11, id="red-that-could-not-be-recorded"),
        pytest.param(3, "failing", 3, id="an-internal-error-is-not-hidden-by-it"),
    ],
)
def test_not_trusted(pytest_status: int, tests: Tests, expected: int) -> None:
    for is_open in (True, False):
        status = exit_status_for(pytest_status, meaning="gate1", tests=tests, is_open=is_open, is_trusted=False)
        assert status == expected


def test_the_table_of_codes() -> None:
    assert [code for code, _, _ in exit_codes.MEANINGS] == [0, 10, 11, 12, 13, 130]
    # pytest's own codes end at 6: ours begin where it can't grow into them soon.
    assert max(int(code) for code in pytest.ExitCode) < 10
