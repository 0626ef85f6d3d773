"""A session from an empty folder, as a new user would type it."""

from __future__ import annotations

from tests.support import CALC, FAILING_TESTS, Sample


def test_red_green_refactor_from_an_empty_folder(sample: Sample) -> None:
    sample.write(test_calc=FAILING_TESTS)
    red = sample.pytest("--phase=red", "-v")
    assert red.code == 0
    assert red.has("Gate 1  Tests generated and failing", "open", "Gate 2  Explicit exit signal", "absent")
    assert red.has("next    phase-gate signal")
    signal = sample.gate("signal", "--reason", "two criteria, two failing tests", "-v")
    assert signal.code == 0
    assert signal.has("both gates are open: RED has exited", "pytest --phase=green")

    sample.write(calc=CALC)
    first = sample.pytest("--phase=green", "-v")
    assert first.code == 10
    assert first.has("needs one more green run with no file changes", "1 >= 2")
    second = sample.pytest_process("--phase=green", "-n", "2", "-v", plugins=("xdist",))
    assert second.code == 0
    assert second.has("2 >= 2", "Gate 1 is open; Gate 2 waits")

    refused = sample.pytest("--phase=refactor", "-v")
    assert refused.code == 13
    assert refused.has("REFACTOR can't begin: GREEN has not exited", "phase-gate signal")

    third = sample.pytest("--phase=green", "--exit-signal=done: both", "--phase-report=verdict.json", "-v")
    assert third.code == 0
    assert sample.report()["can_exit"] is True
    assert sample.gate("check").code == 0

    refactor = sample.pytest("--phase=refactor", "-v")
    assert refactor.code == 10
    assert refactor.has("one of these has to be met", "phase-gate declare refactoring_complete=true")
    assert sample.gate("declare", "refactoring_complete=true", "--reason", "tidy").code == 0
    assert sample.gate("signal", "--reason", "tidy", "-v").code == 0
    assert sample.status()["exited"] is True
