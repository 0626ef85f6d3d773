"""What a run's exit status becomes.

Pure. Never hides pytest's own failure, except in a phase that wants failing tests.
"""

from __future__ import annotations

from typing import Literal

from phase_gate import exit_codes
from phase_gate.workflow.model import Tests

ExitMeaning = Literal["tests", "gate1", "dual"]

#: pytest's codes that only say that tests failed, or that modules could not be collected.
_TESTS_FAILED, _INTERRUPTED = 1, 2


def exit_status_for(
    pytest_said: int,
    *,
    meaning: ExitMeaning,
    tests: Tests,
    holds: bool,
    is_trusted: bool = True,
    has_collection_errors: bool = False,
    is_halted: bool = False,
) -> int:
    """Return the status that the process ends with.

    :param holds: the gate that was asked for holds.
    :param is_trusted: the run could be recorded.
    :param is_halted: the circuit is open.
    """
    if meaning == "tests":
        return pytest_said
    only_red = pytest_said == _TESTS_FAILED or (pytest_said == _INTERRUPTED and has_collection_errors)
    if pytest_said != 0 and not (tests == "failing" and only_red):
        return pytest_said
    if not is_trusted:
        return exit_codes.NOT_TRUSTED
    if is_halted:
        return exit_codes.CIRCUIT_OPEN
    return exit_codes.HOLDS if holds else exit_codes.GATE_CLOSED
