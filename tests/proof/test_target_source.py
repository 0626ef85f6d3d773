"""What a test expects may come out of the sources: rows under the same ids, and answers that it compares with."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.proof.sandbox import Kind
from phase_gate.proof.target_source import Taken, TargetSource, name_references, read_target
from phase_gate.proof.verdicts import Proof
from tests.proof.stories import prove, verdicts

pytestmark = pytest.mark.processes

_TEST = """\
import time

import pytest
from calc import ROWS, double, reference


@pytest.mark.parametrize(("number", "expected"), {rows})
def test_double(number, expected):
    assert {check}
"""
_CODE = """\
ROWS = {rows}


def double(number):
    return {answer}


def reference(number):
    {reference}
"""
#: The rows of a source, with an id that stands in the test.
_NAMED = "ROWS, ids=['one']"
_SINGLE = "[pytest.param(*ROWS[0], id='one')]"
_CHECK, _COMPARED = "double(number) == expected", "double(number) == reference(number)"
_MENDED = {"rows": "[(1, 2)]", "answer": "2 * number"}


def step(
    folder: Path,
    table: str,
    check: str = _CHECK,
    red_rows: str = "[(1, 2)]",
    before: str = "return 2 * number",
    **now: str,
) -> Proof:
    """Prove a step in which something changes: in RED `double` returns 0, and the reference is right."""
    then = {"rows": red_rows, "answer": "0", "reference": before}
    red = {"test_calc.py": _TEST.format(rows=table, check=check), "calc.py": _CODE.format(**then)}
    return prove(folder, red, {"calc.py": _CODE.format(**{**then, **now})}, ["test_calc.py::test_double"])


OTHER = "a row has another value with the change: test_calc.py::test_double[{}"
_TIMED = "[(1, (time.time_ns(), 2))], ids=['one']"
_STUB = {"check": _COMPARED, "before": "raise NotImplementedError", "reference": "return 2 * number"}


@pytest.mark.parametrize(
    ("table", "given", "verdict", "message"),
    [
        pytest.param("ROWS", {"rows": "[(1, 2), (3, 6)]"}, "proven", "", id="a-registry-that-grows"),
        pytest.param(_NAMED, {}, "proven", "", id="a-row-that-stays"),
        pytest.param(_TIMED, {"check": "double(number) == expected[1]"}, "proven", "", id="another-one-in-every-run"),
        pytest.param(
            _NAMED,
            {"red_rows": "[(1, None)]"},
            "proven",
            OTHER.format("one] expected was None"),
            id="was-missing",
        ),
        *(
            pytest.param(
                table,
                {"rows": "[(1, 0)]", "answer": "0"},
                "row-changed",
                "[one] expected was 2 in RED, and is 0 now; write it into the test, or put it back",
                id=f"under-its-written-id-{number}",
            )
            for number, table in enumerate([_NAMED, _SINGLE])
        ),
        pytest.param(
            "ROWS",
            {"check": "[double(number)] == expected", "red_rows": "[(1, [2])]", "rows": "[(1, [0])]", "answer": "0"},
            "cannot-be-proven",
            OTHER.format("1-expected0]"),
            id="under-an-id-that-pytest-made",
        ),
        pytest.param("[(1, 2)]", {"check": _COMPARED}, "proven", "", id="a-reference-that-stays"),
        pytest.param("[(1, 2)]", _STUB, "proven", "", id="a-reference-that-was-a-stub"),
        pytest.param(
            "[(1, 2)]",
            {"check": _COMPARED, "reference": "return 0", "answer": "0"},
            "proven",
            "test_calc.py:9 compares with calc.py:8 reference, which has changed since RED",
            id="a-reference-that-changes",
        ),
    ],
)
def test_what_a_source_gives_a_test(
    tmp_path: Path, table: str, given: dict[str, str], verdict: str, message: str
) -> None:
    proof = step(tmp_path, table, **{**_MENDED, **given})
    if verdict == "cannot-be-proven":
        assert verdicts(proof)["test_double"] != "row-changed"
    else:
        assert verdicts(proof) == {"test_double": verdict}
    assert message in " ".join((proof.targets[0].why, *proof.notes))
    assert bool(proof.notes or proof.targets[0].is_disproven) is bool(message)


def test_the_path_of_a_sandbox_is_no_other_value(tmp_path: Path, kind: Kind) -> None:
    table = "[(1, (__file__, 2))], ids=['one']"
    proof = step(tmp_path, table, check="double(number) == expected[1]", **_MENDED)
    assert (verdicts(proof), proof.notes) == ({"test_double": "proven"}, ())


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("abs(double(1) - 2) < LIMIT", "compares with calc.py:1 LIMIT"),
        ("double(1) == pytest.approx(2, abs=LIMIT)", "compares with calc.py:1 LIMIT"),
        ("near(double(1), 2)", "compares with calc.py:8 near"),
    ],
)
def test_a_tolerance_and_a_comparison_that_change_are_named(tmp_path: Path, check: str, message: str) -> None:
    code = "LIMIT = {0}\n\n\ndef double(a):\n    return 0\n\n\ndef near(a, b):\n    return abs(a - b) < {0}\n"
    test = f"import pytest\nfrom calc import LIMIT, double, near\n\n\ndef test_double():\n    assert {check}\n"
    red = {"test_calc.py": test, "calc.py": code.format(1)}
    proof = prove(tmp_path, red, {"calc.py": code.format(9)}, ["test_calc.py::test_double"])
    assert proof.notes == (f"test_calc.py:6 {message}, which has changed since RED",)


@pytest.mark.parametrize(
    ("before", "now", "is_named"),
    [
        ("def two(): return 1", "def two(): return 2", True),
        ("two = 1", "two: int = 2", True),
        ("class two: pass", "class two:\n    def more(self): return 1", False),
        ("from a import two", "from a import one, two", False),
        ("", "two = 2", False),
    ],
)
def test_functions_and_values_that_were_there_are_named(before: str, now: str, is_named: bool) -> None:
    written = {"test_a.py::test_a": TargetSource(compared=((3, frozenset({Taken(module="calc", name="two")})),))}
    found = name_references(written, {"calc.py": before.encode()}, {"calc.py": now.encode()})
    message = ["test_a.py:3 compares with calc.py:1 two, which has changed since RED"]
    assert list(found) == (message if is_named else [])


@pytest.mark.parametrize("imports", ["from shop import calc", "import shop.calc as calc"])
def test_a_name_is_taken_from_its_module(imports: str) -> None:
    source = f"{imports}\n\n\ndef test_a():\n    check()\n\n\ndef check():\n    assert calc.two() == 2\n"
    assert read_target("test_a.py::test_a", lambda path: source.encode()).taken == (
        Taken(module="shop.calc", name="two"),
    )


_PROPERTY = """\
import pytest
from calc import double
from hypothesis import given, settings, strategies


@given(strategies.integers())
def test_double(number):
    assert double(number) == 2 * number
"""
_DOUBLE = "def double(number):\n    return number + number\n"
_PROFILE = """\
from hypothesis import HealthCheck, Phase, settings

settings.register_profile("other", {})
settings.load_profile("other")
"""


def try_profile(folder: Path, profile: str) -> Proof:
    red = {
        # In CI hypothesis has another one.
        "conftest.py": "from hypothesis import settings\n\nsettings.load_profile('default')\n",
        "test_calc.py": _PROPERTY,
        "calc.py": "def double(number):\n    return number\n",
    }
    green = {"calc.py": f"{_PROFILE.format(profile)}\n\n{_DOUBLE}" if profile else _DOUBLE}
    return prove(folder, red, green, ["test_calc.py::test_double"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("profile", ["", "max_examples=200", "deadline=None"])
def test_hypothesis_that_tries_as_hard_as_before_is_no_other_test(tmp_path: Path, profile: str) -> None:
    assert verdicts(try_profile(tmp_path, profile)) == {"test_double": "proven"}


def test_hypothesis_is_not_compared_with_a_test_that_could_not_be_imported(tmp_path: Path) -> None:
    proof = prove(tmp_path, {"test_calc.py": _PROPERTY}, {"calc.py": _DOUBLE}, ["test_calc.py::test_double"])
    assert verdicts(proof) == {"test_double": "proven"}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("max_examples=1", "max_examples was 100 in RED, and is 1 now"),
        ("derandomize=True", "derandomize was False in RED, and is True now"),
        ("phases=[Phase.generate]", "phases was explain, explicit, generate, reuse, shrink, target in RED"),
        ("suppress_health_check=[HealthCheck.too_slow]", "suppress_health_check was empty in RED, and is too_slow now"),
    ],
)
def test_hypothesis_that_tries_less_hard_is_another_test(tmp_path: Path, profile: str, message: str) -> None:
    proof = try_profile(tmp_path, profile)
    assert verdicts(proof) == {"test_double": "row-changed"}
    assert message in proof.targets[0].why
