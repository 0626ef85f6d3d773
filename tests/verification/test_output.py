"""What the output of a verify command says: how many tests ran, in the words of each runner, and what failed."""

from __future__ import annotations

import pytest

from phase_gate.verification.output import count_tests_said, first_failures

MOCHA = "  planner\n    ✔ parses\n\n\n  5 passing (12ms)\n  1 pending\n  2 failing\n"
NODE = "ℹ tests 6\nℹ suites 0\nℹ pass 4\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\n"
TAP = "1..5\n# tests 5\n# pass 5\n# fail 0\n# cancelled 0\n"
MAVEN = """\
[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in a.PlannerTest
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.OtherTest
[INFO] Results:
[INFO]
[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1
"""
CARGO = """\
running 3 tests
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s

   Doc-tests planner
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


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
        pytest.param("Tests:       1 failed, 2 skipped, 5 passed, 8 total", 6, id="jest"),
        pytest.param("No tests found, exiting with code 0", 0, id="jest-none"),
        pytest.param("Tests:       2 skipped, 2 total", 0, id="jest-skips"),
        pytest.param(" Test Files  1 passed (1)\n      Tests  1 failed | 4 passed | 2 skipped (7)", 5, id="vitest"),
        pytest.param("      Tests  5 passed (5)", 5, id="vitest-passed"),
        pytest.param("No test files found, exiting with code 0", 0, id="vitest-none"),
        pytest.param(MOCHA, 7, id="mocha"),
        pytest.param("\n  0 passing (1ms)\n", 0, id="mocha-none"),
        pytest.param(NODE, 5, id="node"),
        pytest.param(TAP, 5, id="node-tap"),
        pytest.param("--- PASS: TestA (0.00s)\n    --- PASS: TestA/b (0.00s)\nPASS\nok  \ta/b\t0.01s", 2, id="go-v"),
        pytest.param("ok  \ta/b\t0.01s [no tests to run]\n?   \ta/c\t[no test files]", 0, id="go-none"),
        pytest.param("ok  \ta/b\t0.01s\n?   \ta/c\t[no test files]", None, id="go-says-no-number"),
        pytest.param(CARGO, 3, id="cargo"),
        pytest.param("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out", 0, id="cargo-none"),
        pytest.param("     Summary [   0.010s] 5 tests run: 5 passed, 0 skipped", 5, id="nextest"),
        pytest.param("Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6", 5, id="dotnet"),
        pytest.param("No test matches the given testcase filter `x` in a.dll", 0, id="dotnet-none"),
        pytest.param(MAVEN, 4, id="maven"),
        pytest.param("[INFO] No tests to run.", 0, id="maven-none"),
        pytest.param("5 tests completed, 1 failed", 5, id="gradle"),
        pytest.param("> Task :test NO-SOURCE", 0, id="gradle-none"),
        pytest.param("BUILD SUCCESSFUL in 3s", None, id="gradle-says-nothing"),
        pytest.param("5 examples, 0 failures, 1 pending", 4, id="rspec"),
        pytest.param("0 examples, 0 failures", 0, id="rspec-none"),
        pytest.param("5 runs, 10 assertions, 0 failures, 0 errors, 2 skips", 3, id="minitest"),
        pytest.param("OK (5 tests, 10 assertions)", 5, id="phpunit"),
        pytest.param("Tests: 5, Assertions: 10, Failures: 1.", 5, id="phpunit-failed"),
        pytest.param("No tests executed!", 0, id="phpunit-none"),
        pytest.param("100% tests passed, 0 tests failed out of 5", 5, id="ctest"),
        pytest.param("No tests were found!!!", 0, id="ctest-none"),
        pytest.param("[==========] 5 tests from 2 test suites ran. (0 ms total)", 5, id="googletest"),
        pytest.param("[==========] 0 tests from 0 test suites ran. (0 ms total)", 0, id="googletest-none"),
        pytest.param("\t Executed 5 tests, with 0 failures (0 unexpected) in 0.01 seconds", 5, id="swift"),
        pytest.param("ok | 5 passed | 0 failed (10ms)", 5, id="deno"),
        pytest.param(" 5 pass\n 0 fail\nRan 5 tests across 1 files. [10.00ms]", 5, id="bun"),
        pytest.param("  5 passed (3.2s)", 5, id="playwright"),
        pytest.param("5 tests, 0 failures, 1 skipped", 4, id="exunit"),
        pytest.param("Files=1, Tests=5,  0 wallclock secs", 5, id="prove"),
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


#: By runners that nobody has told us about.
NONE = [
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
    "1..0",
    "1..0 # SKIP nothing to do",
    "0 passed, 0 failed",
    "0 passed",
    "Passed: 0",
    "Passed: 0, Failed: 0",
    "tests=0 failures=0 errors=0",
    "0/0 tests passed",
    "0 of 12 tests executed",
    "All 0 tests passed",
    "# TOTAL: 0",
    '⚠ No tests found matching "planner"',
    "No test cases found",
    "test cases: 0 | 0 passed",
    "No tests found for given includes: [a.B]",
    "3 tests skipped\n0 tests passed",
    "✓ built in 3.2s\nNo tests found",
    "running tests...\nNo tests available",
    "No tests selected",
    "Executed 0 of 0 SUCCESS (0.002 secs / 0 secs)",
    "Chrome Headless 120.0.0.0 (Linux x86_64): Executed 0 of 5 (skipped 5) SUCCESS",
    "All tests passed (0 assertions in 0 test cases)",
    "All tests passed (0 tests)",
    "0 total tests",
    "Test count: 0",
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

OLDER = UNITTEST.replace("(test_a.T.test_load)", "(test_a.T)").replace("(test_a.T.test_f)", "(test_a.T)")

GO = """\
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/negative (0.00s)
        add_test.go:8: got 3, want -3
--- FAIL: TestSub (0.01s)
    add_test.go:12: not a number
FAIL
FAIL\texample.com/m\t0.002s
FAIL
"""

NAMED = ("test_a.T.test_load: FileNotFoundError: no such file: x", "test_a.T.test_f (row=2): AssertionError: 0 != 1")


@pytest.mark.parametrize(
    ("output", "named"),
    [
        pytest.param(UNITTEST, NAMED, id="unittest"),
        pytest.param(OLDER, NAMED, id="unittest-before-3.11"),
        pytest.param(GO, ("TestAdd/negative: got 3, want -3", "TestSub: not a number"), id="go"),
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
