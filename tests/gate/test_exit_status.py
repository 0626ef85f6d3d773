"""What a run's exit status becomes: every sentence on exit codes in the design, as a row."""

from __future__ import annotations

import pytest

from phase_gate import exit_codes
from phase_gate.errors import (
    ConfigurationError,
    NotAllowedError,
    PhaseGateError,
    PhaseOrderError,
    StaleSignalError,
    StateError,
    TamperedError,
    UsageError,
)
from phase_gate.gate.standing import exit_status_for
from phase_gate.workflow.model import Tests
from phase_gate.workflow.settings import ExitMeaning


@pytest.mark.parametrize(
    ("pytest_said", "tests", "is_open", "expected"),
    [
        pytest.param(0, "passing", True, 0, id="green-and-the-gate-is-open"),
        pytest.param(0, "passing", False, 10, id="green-and-the-gate-is-closed"),
        pytest.param(1, "passing", False, 1, id="a-failure-keeps-pytests-1"),
        pytest.param(1, "passing", True, 1, id="cov-fail-under-keeps-its-1-though-the-gate-is-open"),
        pytest.param(2, "passing", False, 2, id="an-interruption-stays-2"),
        pytest.param(3, "passing", False, 3, id="an-internal-error-stays-3"),
        pytest.param(4, "passing", False, 4, id="a-usage-error-stays-4"),
        pytest.param(5, "passing", False, 5, id="nothing-collected-stays-5"),
        pytest.param(6, "passing", True, 6, id="max-warnings-stays-6-though-the-gate-is-open"),
        pytest.param(1, "failing", True, 0, id="red-wants-failing-tests"),
        pytest.param(1, "failing", False, 10, id="red-with-failing-tests-and-a-closed-gate"),
        pytest.param(0, "failing", False, 10, id="red-with-nothing-failing"),
        pytest.param(0, "failing", True, 0, id="red-is-open-though-pytest-said-0"),
        pytest.param(2, "failing", False, 2, id="ctrl-c-in-red-stays-2"),
        pytest.param(3, "failing", False, 3, id="an-internal-error-in-red-stays-3"),
        pytest.param(4, "failing", False, 4, id="a-usage-error-in-red-stays-4"),
        pytest.param(5, "failing", False, 5, id="nothing-collected-in-red-stays-5"),
        pytest.param(6, "failing", True, 6, id="max-warnings-in-red-stays-6"),
        pytest.param(0, "none", True, 0, id="a-phase-without-tests-is-open"),
        pytest.param(0, "none", False, 10, id="a-phase-without-tests-is-closed"),
        pytest.param(1, "none", False, 1, id="failing-tests-in-a-phase-without-tests"),
        pytest.param(77, "failing", False, 77, id="a-plugins-own-code-stays"),
    ],
)
@pytest.mark.parametrize("meaning", ["gate1", "dual"])
def test_exit_status(pytest_said: int, tests: Tests, is_open: bool, expected: int, meaning: ExitMeaning) -> None:
    assert exit_status_for(pytest_said, meaning=meaning, tests=tests, is_open=is_open) == expected


@pytest.mark.parametrize(
    ("tests", "is_open", "expected"),
    [
        pytest.param("failing", True, 0, id="in-red-they-are-part-of-the-failure"),
        pytest.param("failing", False, 10, id="in-red-the-gate-decides"),
        pytest.param("passing", True, 2, id="elsewhere-2-stays"),
    ],
)
def test_interrupted_by_collection_errors(tests: Tests, is_open: bool, expected: int) -> None:
    status = exit_status_for(2, meaning="gate1", tests=tests, is_open=is_open, has_collection_errors=True)
    assert status == expected


def test_collection_errors_excuse_nothing_else_in_red() -> None:
    for said in (3, 4, 5, 6):
        assert exit_status_for(said, meaning="gate1", tests="failing", is_open=True, has_collection_errors=True) == said


@pytest.mark.parametrize("pytest_said", range(7))
@pytest.mark.parametrize("tests", ["failing", "passing", "none"])
def test_to_observe_only_is_pytests_own_status(pytest_said: int, tests: Tests) -> None:
    for is_open in (True, False):
        for is_trusted in (True, False):
            status = exit_status_for(pytest_said, meaning="tests", tests=tests, is_open=is_open, is_trusted=is_trusted)
            assert status == pytest_said


@pytest.mark.parametrize(
    ("pytest_said", "tests", "expected"),
    [
        pytest.param(0, "passing", 11, id="green-that-could-not-be-recorded"),
        pytest.param(1, "passing", 1, id="a-failure-is-not-hidden-by-it"),
        pytest.param(1, "failing", 11, id="red-that-could-not-be-recorded"),
        pytest.param(3, "failing", 3, id="an-internal-error-is-not-hidden-by-it"),
    ],
)
def test_not_trusted(pytest_said: int, tests: Tests, expected: int) -> None:
    for is_open in (True, False):
        status = exit_status_for(pytest_said, meaning="gate1", tests=tests, is_open=is_open, is_trusted=False)
        assert status == expected


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(UsageError, 2, id="usage-error-of-the-command"),
        pytest.param(ConfigurationError, 2, id="configuration"),
        pytest.param(StateError, 11, id="state"),
        pytest.param(TamperedError, 11, id="tampered"),
        pytest.param(NotAllowedError, 13, id="not-allowed-now"),
        pytest.param(PhaseOrderError, 13, id="phase-order"),
        pytest.param(StaleSignalError, 13, id="stale-signal"),
    ],
)
def test_each_error_has_its_code(error: type[PhaseGateError], code: int) -> None:
    assert error("problem", "remedy").exit_code == code


def test_the_table_of_codes() -> None:
    assert [code for code, _, _ in exit_codes.MEANINGS] == [0, 10, 11, 12, 13, 130]
    # pytest's own codes end at 6: ours begin where it can't grow into them soon.
    assert max(int(code) for code in pytest.ExitCode) < 10
