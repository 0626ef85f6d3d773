"""Does a target fail by its own check? What was red only by a stub, or could not be emptied, shows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.proof.model import Proof
from tests.proof.stories import prove

pytestmark = [pytest.mark.processes, pytest.mark.sampled(6)]

STUB = "def sub(a, b):\n    raise NotImplementedError\n"
SUB = "def sub(a, b):\n    return a - b\n"
TARGET = "test_calc.py::test_sub"


def tried(root: Path, body: str, code: str = SUB, *, stub: str = STUB, files: Mapping[str, str] | None = None) -> Proof:
    """Return the proof of a test with this body, red by a stub."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    test = f"import pytest\n\nimport calc\n\n\ndef test_sub():\n{lines}"
    return prove(root, {"test_calc.py": test, "calc.py": stub, **(files or {})}, {"calc.py": code}, [TARGET])


#: Tests whose check holds for any answer; where they expect a value, test_expectations has them.
VACUOUS = {
    "any-answer": "assert [calc.sub(5, 3)]",
    "its-text": "assert str(calc.sub(5, 3))",
}


@pytest.mark.parametrize("name", VACUOUS)
def test_a_stub_that_raised_is_no_check(name: str, tmp_path: Path) -> None:
    (target,) = tried(tmp_path, VACUOUS[name]).targets
    assert (target.verdict, target.closes(required=False)) == ("checks-nothing", True)


#: Honest ones, red by the same stub.
HONEST = {
    "compares": "assert calc.sub(5, 3) == 2",
    "unpacks": "low, high = calc.sub(5, 3), calc.sub(3, 5)\nassert low > high",
    "a-type": "assert isinstance(calc.sub(5, 3), int)",
    "parses": "assert int(calc.sub(5, 3)) == 2",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_test_fails_by_its_check(name: str, tmp_path: Path) -> None:
    proof = tried(tmp_path, HONEST[name])
    (target,) = proof.targets
    assert (target.verdict, target.notices) == ("proven", ("calc.py::sub",))
    assert proof.starts == (4 if "==" in HONEST[name] else 3), "there may be nothing to alter"


SORT_STUB = "def tidy(rows):\n    raise NotImplementedError\n"
SORT = "def tidy(rows):\n    rows.sort()\n"


def test_a_test_that_nothing_happens_here_notices_when_something_does(tmp_path: Path) -> None:
    body = "rows = [1, 2]\nbefore = list(rows)\ncalc.tidy(rows)\nassert rows == before"
    (target,) = tried(tmp_path, body, SORT, stub=SORT_STUB).targets
    assert (target.verdict, target.notices) == ("proven", ("calc.py::tidy",))


@pytest.mark.parametrize("body", ["calc.sub(5, 3)", "print(calc.sub(5, 3))", "calc.sub(5, 3)\nassert True"])
def test_without_any_check_it_shows_only_that_nothing_is_raised(body: str, tmp_path: Path) -> None:
    proof = tried(tmp_path, body)
    (target,) = proof.targets
    assert (target.verdict, proof.unnoticed, proof.starts) == ("nothing-raised", (), 3)
    assert (target.closes(required=False), target.closes(required=True)) == (False, True)


def test_a_unit_that_is_called_like_a_check_is_none(tmp_path: Path) -> None:
    code = "def verify(a):\n    if a is None:\n        raise ValueError\n"
    stub = "def verify(a):\n    raise NotImplementedError\n"
    (target,) = tried(tmp_path, "calc.verify(1)", code, stub=stub).targets
    assert target.verdict == "nothing-raised"


def test_a_check_in_a_helper_of_the_tests_is_one(tmp_path: Path) -> None:
    helper = {"test_help.py": "def same(a, b):\n    assert a == b\n"}
    (target,) = tried(tmp_path, "import test_help\ntest_help.same(calc.sub(5, 3), 2)", files=helper).targets
    assert target.verdict == "proven"


#: What can't be emptied, and what stands in for it.
UNITS = {
    "a-lambda": "sub = lambda a, b: a - b\n",
    "of-a-library": "from operator import sub\n",
    "made-in-a-function": "def _make():\n    def sub(a, b):\n        return a - b\n    return sub\n\n\nsub = _make()\n",
    "made-by-exec": 'exec("def sub(a, b):\\n    return a - b")\n',
    "a-class": "class sub(int):\n    def __new__(cls, a, b):\n        return int.__new__(cls, a - b)\n",
    "a-mock": "from unittest.mock import Mock\n\nsub = Mock(return_value=2)\n",
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(
    ("body", "verdict"), [("assert calc.sub(5, 3) == 2", "proven"), ("assert [calc.sub(5, 3)]", "checks-nothing")]
)
def test_what_can_not_be_emptied_has_a_stand_in(name: str, body: str, verdict: str, tmp_path: Path) -> None:
    (target,) = tried(tmp_path, body, UNITS[name]).targets
    assert target.verdict == verdict
    assert target.notices == (("calc.py::sub",) if verdict == "proven" else ())


#: Code that nothing can stand in for, and a test of it.
LEFT_ALONE = {
    "a-constant": ("LIMIT = 3\n", "assert calc.LIMIT == 3"),
    "an-exception": (
        "class Wrong(ValueError):\n    pass\n",
        "with pytest.raises(calc.Wrong):\n    raise calc.Wrong(1)",
    ),
    "a-type": ("class Point:\n    x = 1\n", "assert isinstance(calc.Point(), calc.Point)"),
    "only-looked-at": ("sub = lambda a, b: a - b\n", "assert callable(calc.sub)"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_was_not_tried_is_unknown(name: str, tmp_path: Path) -> None:
    code, body = LEFT_ALONE[name]
    (target,) = tried(tmp_path, body, code, stub="\n").targets
    assert (target.verdict, target.why) == ("unknown", "nothing of the new code could be emptied for it")
    assert (target.closes(required=False), target.closes(required=True)) == (False, True)


def test_what_failed_by_its_check_before_the_change_needs_nothing_more(tmp_path: Path) -> None:
    proof = tried(tmp_path, "assert calc.LIMIT == 3", "LIMIT = 3\n", stub="LIMIT = 2\n")
    assert (proof.targets[0].verdict, proof.starts) == ("proven", 3)


def test_what_a_test_puts_in_the_place_of_the_unit_says_nothing_of_it(tmp_path: Path) -> None:
    body = "from unittest import mock\nwith mock.patch('calc.sub', return_value=2):\n    assert calc.sub(5, 3) == 2"
    (target,) = tried(tmp_path, body, "import operator\n\nsub = operator.sub\n", stub="\n").targets
    # Its check can fail, so that is advice.
    assert (target.verdict, target.closes(required=False)) == ("checks-nothing", False)
