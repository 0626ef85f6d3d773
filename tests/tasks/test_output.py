"""What the output of a verify command says: how many tests ran, and what failed."""

from __future__ import annotations

import pytest

from phase_gate.tasks.weighing import count_tests_said, first_failures


@pytest.mark.parametrize(
    ("output", "count"),
    [
        pytest.param("===== 5 passed in 0.12s =====", 5, id="pytest"),
        pytest.param("5 passed, 1 warning in 0.12s", 5, id="pytest-q"),
        pytest.param(
            "= 2 failed, 3 passed, 4 skipped, 1 xfailed, 9 deselected in 61.20s (0:01:01) =", 6, id="pytest-mix"
        ),
        pytest.param("===== 3 skipped in 0.01s =====", 0, id="pytest-skips"),
        pytest.param("===== 1 error in 0.01s =====", 0, id="pytest-error"),
        pytest.param("===== no tests ran in 0.01s =====", 0, id="pytest-none"),
        pytest.param("no tests collected (3 deselected) in 0.01s", 0, id="pytest-deselected"),
        pytest.param("\x1b[32m===== \x1b[1m5 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m =====", 5, id="pytest-colours"),
        pytest.param("1 passed in 0.1s\n2 passed in 0.2s", 3, id="two-runs"),
        pytest.param("Ran 5 tests in 0.001s\n\nOK", 5, id="unittest"),
        pytest.param("Ran 1 test in 0.001s\n\nFAILED (failures=1)", 1, id="unittest-one"),
        pytest.param("Ran 5 tests in 0.001s\n\nOK (skipped=5)", 0, id="unittest-skips"),
        pytest.param("Ran 5 tests in 0.001s\n\nFAILED (failures=1, skipped=2)", 3, id="unittest-mix"),
        pytest.param("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 0, id="unittest-none"),
        pytest.param("BUILD SUCCESSFUL in 3s", None, id="gradle-says-nothing"),
        pytest.param(f"{'9' * 5000} passed in 0.1s", 999_999_999, id="too-many-digits"),
        pytest.param("", None, id="nothing"),
        pytest.param("all 5 tests passed, I promise", None, id="talk"),
        pytest.param("we have 0 tests", None, id="talk-of-none"),
    ],
)
def test_what_a_runner_says(output: str, count: int | None) -> None:
    assert count_tests_said(output) == count
    assert count_tests_said(f"before\n{output}\nafter\n".replace("\n", "\r\n")) == count


def test_a_long_output_is_read_at_its_end() -> None:
    assert count_tests_said("x\n" * 2_000_000 + "5 passed in 0.1s\n") == 5


#: By any other runner.
NONE = [
    "Tests:       0 total",
    "No tests found, exiting with code 0",
    "No test files found, exiting with code 0",
    "  0 passing (1ms)",
    "0 examples, 0 failures",
    "No tests were found!!!",
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 7 filtered out",
    "No tests found",
    "No tests found.",
    "No tests were found",
    "no tests ran",
    "0 tests passed",
    "0 tests passed, 0 failed",
    "Zero tests ran",
    "collected 0 items",
    "collecting 0 items",
    "collected 0 items / 3 deselected",
    "Total tests: 0",
    "Tests run: 0",
    "Tests run: 0, failures 0",
    "Ran 0 tests",
    "Ran 0 tests in 3 ms",
    "no test files",
    "No test files found",
    "No test files found in src/",
    "No test suites found",
    "There are no tests to run",
    "No tests to run",
    "No tests executed",
    "[INFO] No tests were executed",
    "Test run summary: Zero tests ran",
    "web:test: No tests found",
    "@scope/web: no tests found",
    "No specs found",
    "0 specs, 0 failures",
    "0 scenarios",
    "Executed 0 tests",
    "Found 0 tests in 3 files",
    "0 passed, 0 failed",
    "0 passed",
    "tests=0 failures=0 errors=0",
    "All 0 tests passed",
    '⚠ No tests found matching "planner"',
    "No test cases found",
    "No tests found for given includes: [a.B]",
    "3 tests skipped\n0 tests passed",
    "✓ built in 3.2s\nNo tests found",
    "running tests...\nNo tests available",
    "No tests selected",
]
#: Honest outputs that come near.
SOME = [
    "0 tests failed",
    "0 failed",
    "10 tests, 0 failures",
    "All tests passed, 0 tests failed",
    "0 tests skipped",
    "no tests were skipped",
    "No test failures",
    "0 test failures",
    "Found 0 test failures",
    "Found 0 errors in 12 files",
    "Failed tests: 0",
    "Skipped tests: 0",
    "Tests: 0 failed, 5 passed",
    "Tests: 0 failed",
    "no test file uses sleep()",
    "No tests run twice: ok",
    "we have 0 tests",
    "all 5 tests passed, I promise",
    "5 tests passed",
    "Total tests: 10",
    "Total tests: 10\nPassed: 10\nFailed: 0",
    "web:test: No tests found\napi:test: 12 tests passed",
    "No tests found in docs/\n12 passed",
    "collected 10 items",
    "Ran 10 tests",
    "Passed: 12, Failed: 0",
    "no tests deselected",
    "There are no test failures",
    "0 of 12 tests failed",
    "1..12\nok 1 - adds",
    "0 problems",
    "0 warnings",
    "PASS src/a.test.js\nNo tests found in src/b",
    "checked: no tests are marked slow",
    "no tests depend on the network",
    "0 passwords found",
    "Passed: 0 warnings",
    "# TOTAL: 3\n# PASS:  3\n# SKIP:  0",
    "0 tests have failed",
    "no more tests are failing",
    "0 tests left to port",
    "test a ... ok\nNo tests found in b",
    "Tests: 0 of 12 failed",
    "No tests needed changes",
    "0 tests were slow",
    "no tests with sleep() are left",
    "Chrome 120 (Linux): Executed 0 of 5 SUCCESS (0 secs / 0 secs)\nChrome 120 (Linux): Executed 5 of 5 SUCCESS",
    "Executed 0 of 3 migrations",
    "All tests passed (6 assertions in 2 test cases)",
    "All tests passed (0 failures)",
    "0 total failures",
    "Test count: 10",
]


@pytest.mark.parametrize("output", NONE)
def test_any_runner_may_say_that_it_ran_none(output: str) -> None:
    assert count_tests_said(output) == 0
    assert count_tests_said(f"begin\n{output.upper()}\nend\n".replace("\n", "\r\n")) == 0


@pytest.mark.parametrize("output", SOME)
def test_what_only_sounds_like_it_is_left_alone(output: str) -> None:
    assert count_tests_said(output) != 0
    assert count_tests_said(f"begin\n{output}\nend\n".replace("\n", "\r\n")) != 0


UNITTEST = """\
F.E
======================================================================
ERROR: test_load (test_a.T.test_load)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_a.py", line 9, in test_load
    load()
FileNotFoundError: no such file: x
with a second line

======================================================================
FAIL: test_f (test_a.T.test_f) (row=2)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_a.py", line 5, in test_f
    self.assertEqual(f(), 1)
AssertionError: 0 != 1

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""

NAMED = ("ERROR: test_load (test_a.T.test_load)", "FAIL: test_f (test_a.T.test_f) (row=2)")


@pytest.mark.parametrize(
    ("output", "named"),
    [
        pytest.param(UNITTEST, NAMED, id="unittest"),
        pytest.param("FAIL\tm [build failed]\n", ("FAIL\tm [build failed]",), id="go-build"),
        pytest.param(
            "FAILED a.py::test_x - assert 0\n1 failed in 0.01s\n", ("FAILED a.py::test_x - assert 0",), id="pytest"
        ),
        pytest.param("one\ntwo\nthree\nfour\n", ("two", "three", "four"), id="last-lines"),
    ],
)
def test_failures_are_named(output: str, named: tuple[str, ...]) -> None:
    assert first_failures(output) == named


def test_not_more_than_ten_are_named() -> None:
    assert len(first_failures("".join(f"--- FAIL: Test{number} (0.00s)\n" for number in range(50)))) == 10
