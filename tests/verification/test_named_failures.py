"""What failed, by name, in the words of several runners."""

from __future__ import annotations

import pytest

from phase_gate.verification.named_failures import first_failures

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
