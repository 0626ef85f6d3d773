"""What a run of the verify command is worth: how many tests ran, what failed, what became of older tests."""

from __future__ import annotations

import pytest

from phase_gate.tasks.verify_run import count_tests_in, first_failures


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
    assert count_tests_in(output) == count
    assert count_tests_in(f"before\n{output}\nafter\n".replace("\n", "\r\n")) == count


#: By any other runner.
NONE = [
    "Tests:       0 total",
    "No tests found, exiting with code 0",
    "No test files found in src/",
    "  0 passing (1ms)",
    "0 examples, 0 failures",
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 7 filtered out",
    "0 tests passed, 0 failed",
    "collected 0 items / 3 deselected",
    "Total tests: 0",
    "Tests run: 0, failures 0",
    "There are no tests to run",
    "[INFO] No tests were executed",
    "@scope/web: no tests found",
    "tests=0 failures=0 errors=0",
    "3 tests skipped\n0 tests passed",
]
#: Honest outputs that come near.
SOME = [
    "0 tests failed",
    "10 tests, 0 failures",
    "no tests were skipped",
    "No test failures",
    "Found 0 errors in 12 files",
    "Tests: 0 failed, 5 passed",
    "we have 0 tests",
    "web:test: No tests found\napi:test: 12 tests passed",
    "1..12\nok 1 - adds",
    "PASS src/a.test.js\nNo tests found in src/b",
    "no tests depend on the network",
    "test a ... ok\nNo tests found in b",
    "All tests passed (0 failures)",
]


@pytest.mark.parametrize("output", NONE)
def test_any_runner_may_say_that_it_ran_none(output: str) -> None:
    assert count_tests_in(output) == 0
    assert count_tests_in(f"begin\n{output.upper()}\nend\n".replace("\n", "\r\n")) == 0


@pytest.mark.parametrize("output", SOME)
def test_what_only_sounds_like_it_is_left_alone(output: str) -> None:
    assert count_tests_in(output) != 0
    assert count_tests_in(f"begin\n{output}\nend\n".replace("\n", "\r\n")) != 0


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
