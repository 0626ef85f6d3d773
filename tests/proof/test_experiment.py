"""What runs in sandboxes say about a target: the table of outcomes, and whole proofs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.proof import negative, sandbox_runs
from phase_gate.proof.experiment import judge_rows, judge_target
from phase_gate.proof.sandbox import Kind, Sandbox
from phase_gate.proof.sandbox_runs import Report, SandboxRun, SandboxTest
from phase_gate.proof.verdicts import Proof, TargetProof, Verdict
from phase_gate.values import replace
from tests.proof.stories import ADD, TEST_ADD, WRONG, prove, verdicts

TARGET = "test_a.py::test_a"
PASSED, FAILED = Report(has_passed=True), Report(has_passed=False, message="assert 1 == 2")
SKIPPED = Report(has_passed=False, is_skipped=True)


def ran(**reports: Report) -> SandboxRun:
    """Return a run with these rows: `plain` for the test itself, `file` for its module, others as parameters."""
    rows = tuple(SandboxTest(id=f"{TARGET}[{name}]", report=report) for name, report in reports.items())
    return SandboxRun(seconds=0.1, functions={"test_a.py" if "file" in reports else TARGET: rows})


def late(**reports: Report) -> SandboxRun:
    return replace(ran(**reports), problem="it took longer than 30 s", is_cut=True, is_late=True)


BROKEN = SandboxRun(seconds=0.1, problem="it took longer than 30 s")


@pytest.mark.parametrize(
    ("controls", "treatments", "expected"),
    [
        pytest.param([ran(plain=FAILED)], [ran(plain=PASSED)], "proven", id="fails-without-passes-with"),
        pytest.param([ran(file=FAILED)], [ran(plain=PASSED)], "proven", id="its-module-can-not-be-imported-without"),
        pytest.param([ran(plain=PASSED)], [ran(plain=PASSED)], "passes-without", id="passes-without"),
        pytest.param([ran(plain=FAILED)], [ran(plain=FAILED)], "fails-with", id="fails-with"),
        pytest.param([ran(plain=FAILED)], [ran(file=FAILED)], "fails-with", id="its-module-can-not-be-imported-with"),
        pytest.param([ran(plain=PASSED)], [ran(plain=FAILED)], "fails-with", id="the-wrong-way-round"),
        pytest.param([ran(a=FAILED, b=PASSED)], [ran(a=PASSED, b=PASSED)], "proven", id="one-failing-row-is-enough"),
        pytest.param([ran(a=FAILED)], [ran(a=PASSED, b=FAILED)], "fails-with", id="one-failing-row-with-it-is-not"),
        pytest.param([ran(plain=PASSED), ran(plain=FAILED)], [ran(plain=PASSED)], "flaky", id="two-controls-differ"),
        pytest.param([ran(plain=FAILED)], [ran(plain=FAILED), ran(plain=PASSED)], "flaky", id="so-do-treatments"),
        pytest.param([], [ran(plain=PASSED)], "proven", id="without-a-control-only-the-treatment-speaks"),
        pytest.param([BROKEN], [ran(plain=PASSED)], "unknown", id="no-word-from-the-control"),
        pytest.param([ran(plain=FAILED)], [BROKEN], "unknown", id="no-word-from-the-treatment"),
        pytest.param([ran()], [ran(plain=PASSED)], "unknown", id="it-did-not-run-without"),
        pytest.param([ran(plain=FAILED)], [late(plain=PASSED)], "proven", id="it-passed-before-the-time-was-over"),
        pytest.param([late(plain=FAILED)], [ran(plain=PASSED)], "proven", id="it-failed-before-the-time-was-over"),
        pytest.param([ran(plain=FAILED)], [late()], "unknown", id="it-did-not-end"),
        pytest.param([late(plain=PASSED)], [ran(plain=PASSED)], "unknown", id="what-did-not-end-disproves-nothing"),
        pytest.param([ran(plain=FAILED)], [late(plain=FAILED)], "unknown", id="with-the-change-neither"),
        pytest.param([ran(plain=SKIPPED)], [ran(plain=SKIPPED)], "skipped", id="skipped-here"),
        pytest.param([ran(file=FAILED)], [ran(plain=SKIPPED)], "skipped", id="skipped-in-a-file-of-new-code"),
        pytest.param([ran(plain=FAILED)], [ran(plain=SKIPPED)], "fails-with", id="the-change-skips-it"),
        pytest.param([ran(plain=SKIPPED)], [ran(plain=PASSED)], "unknown", id="skipped-without"),
        pytest.param([ran(a=FAILED, b=SKIPPED)], [ran(a=PASSED, b=SKIPPED)], "proven", id="a-row-is-skipped-here"),
        pytest.param([ran(a=PASSED, b=SKIPPED)], [ran(a=PASSED, b=SKIPPED)], "passes-without", id="it-helps-none"),
    ],
)
def test_verdicts(controls: list[SandboxRun], treatments: list[SandboxRun], expected: Verdict) -> None:
    proof = judge_target(TARGET, tuple(controls), tuple(treatments), has_control=bool(controls))
    assert proof.verdict == expected
    if BROKEN in controls:
        assert proof.why == "without the change: it took longer than 30 s"


def test_a_function_that_no_target_notices(tmp_path: Path) -> None:
    idle = "\n\ndef idle():\n    return 3\n"
    code = f"def add(a, b):\n    idle()\n    return a + b\n{idle}{idle.replace('idle', 'unused')}"
    proof = prove(tmp_path, {"test_calc.py": TEST_ADD}, {"calc.py": code})
    assert [each.name for each in proof.unnoticed] == ["idle"]
    assert {each.name: each.left_out for each in proof.functions} == {"add": False, "idle": False, "unused": True}


#: Steps that look odd and are honest.
TWINS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str | None]]] = {
    "an-expected-exception": (
        {
            "test_calc.py": "import pytest\nimport calc\n\n\ndef test_add():\n"
            "    with pytest.raises(ValueError):\n        calc.add(1, None)\n",
            "calc.py": "def add(a, b):\n    return a\n",
        },
        {"calc.py": "def add(a, b):\n    if b is None:\n        raise ValueError\n    return a + b\n"},
    ),
    "a-helper-came-into-the-test-folder": (
        {"tests/test_calc.py": "def test_add():\n    from tools import add\n\n    assert add(1, 2) == 3\n"},
        {"tests/tools.py": ADD},
    ),
    "a-golden-file-came-into-the-test-folder": (
        {
            "calc.py": WRONG,
            "tests/test_calc.py": "import pathlib\n\nfrom calc import add\n\n\ndef test_add():\n"
            "    assert str(add(1, 2)) == pathlib.Path(__file__).with_name('golden.json').read_text()\n",
            "pytest.ini": "[pytest]\npythonpath = .\n",
        },
        {"calc.py": ADD, "tests/golden.json": "3"},
    ),
    "a-module-is-renamed": (
        {"test_calc.py": "def test_add():\n    from sums import add\n\n    assert add(1, 2) == 3\n", "calc.py": ADD},
        {"calc.py": None, "sums.py": ADD},
    ),
    "an-old-module-stays-where-the-new-one-is-wrapped": (
        {"test_calc.py": TEST_ADD, "calc.py": "from core import total as add\n", "core.py": "total = None\n"},
        {"core.py": "class Total:\n    def __call__(self, a, b):\n        return a + b\n\n\ntotal = Total()\n"},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_twins(name: str, tmp_path: Path) -> None:
    red, green = TWINS[name]
    file = next(path for path in red if "test_calc" in path)
    proof = prove(tmp_path, red, green, [f"{file}::test_add"])
    assert verdicts(proof) == {"test_add": "proven"}


@pytest.mark.parametrize("turn", [2, 3])
def test_a_flaky_target_is_unknown(tmp_path: Path, turn: int) -> None:
    counter = tmp_path.parent / f"{tmp_path.name}-counter"
    test = (
        f"import pathlib\n\n\ndef test_add():\n    counter = pathlib.Path({str(counter)!r})\n"
        "    runs = int(counter.read_text())\n"
        f"    counter.write_text(str(runs + 1))\n    assert runs % {turn}\n"
    )
    # It passes without the change, and with it the second time, or at once, but then not without it.
    counter.write_text("1", encoding="utf-8")
    proof = prove(tmp_path, {"test_calc.py": test, "calc.py": WRONG}, {"calc.py": ADD})
    assert verdicts(proof) == {"test_add": "flaky"}
    assert (proof.closes(required=False), proof.closes(required=True)) == (False, True)


def test_a_proof_has_a_number_of_runs_and_no_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_runs, "MOST_STARTS", 2)
    proof = prove(tmp_path, {"test_calc.py": TEST_ADD, "calc.py": WRONG}, {"calc.py": ADD})
    assert (verdicts(proof), proof.starts) == ({"test_add": "proven"}, 2)
    assert proof.functions[0].left_out


@pytest.mark.sweep
def test_a_function_without_which_a_test_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negative, "_LEAST_SECONDS", 2.0)
    read = "def parts(text):\n    left = list(text)\n    while (part := take(left)) is not None:\n        yield part\n"
    take = "\n\ndef take(left):\n    return left.pop(0) if left else None\n"
    test = "from calc import double, parts\n\n\ndef test_parts():\n    assert list(parts('ab')) == ['a', 'b']\n\n\n"
    proof = prove(
        tmp_path,
        {"test_calc.py": f"{test}def test_double():\n    assert double(2) == 4\n", "calc.py": ""},
        {"calc.py": f"{read}{take}\n\ndef double(a):\n    return 2 * a\n"},
        ("test_calc.py::test_parts", "test_calc.py::test_double"),
    )
    assert verdicts(proof) == {"test_parts": "proven", "test_double": "proven"}
    assert {each.name: (each.left_out, bool(each.noticed_by)) for each in proof.functions} == {
        "parts": (False, True),
        "take": (True, False),
        "double": (False, True),
    }


MONEY = """\
import functools


def retry(function):
    @functools.wraps(function)
    def again(*given):
        return function(*given)

    return again


class Money:
    def __init__(self, cents):
        self.cents = cents

    def __repr__(self):
        return f"Money({self.cents})"

    def __hash__(self):
        return hash(self.cents)

    def __eq__(self, other):
        return self.cents == other.cents

    def parts(self):
        for part in range(self.cents):
            yield part

    @retry
    def doubled(self):
        return Money(2 * self.cents)
"""


@pytest.mark.sweep
def test_tests_of_what_python_itself_calls_and_of_nothing_check_something(tmp_path: Path) -> None:
    checks = {
        "repr": "repr(Money(1)) == 'Money(1)'",
        "hash": "len({Money(1), Money(1)}) == 1",
        "nothing": "list(Money(0).parts()) == []",
        "doubled": "Money(2).doubled().cents == 4",
    }
    tests = [f"def test_{name}():\n    assert {check}\n" for name, check in checks.items()]
    proof = prove(
        tmp_path,
        {"test_calc.py": "\n\n".join(["from calc import Money\n", *tests])},
        {"calc.py": MONEY},
        [f"test_calc.py::test_{name}" for name in checks],
    )
    # Without its attributes an object can't be hashed: that is no check of the test.
    assert verdicts(proof) == {**{f"test_{name}": "proven" for name in checks}, "test_hash": "unknown"}
    left_out = {each.name for each in proof.functions if each.left_out}
    assert left_out == {"retry", "Money.__repr__", "Money.__hash__", "Money.__eq__"}
    assert proof.unnoticed == ()


def test_what_imports_a_module_does_not_call_the_function_in_its_first_line(tmp_path: Path) -> None:
    tests = "def test_{0}():\n    from calc import {0}\n\n    assert {0}(1) == 2\n"
    code = "def {0}(a):\n    return a + 1\n"
    names = ("one", "two", "three")
    proof = prove(
        tmp_path,
        {"test_calc.py": "\n\n".join(map(tests.format, names)), "calc.py": ""},
        {"calc.py": "\n\n".join(map(code.format, names))},
        [f"test_calc.py::test_{name}" for name in names],
    )
    assert {each.id.rpartition("_")[2]: each.notices for each in proof.targets} == {
        name: (f"calc.py::{name}",) for name in names
    }
    assert proof.starts == 4, "without the change, with it, expecting something else, emptied"


# --- what a source gives its tests

_TEST = """\
import time

import pytest
from calc import ROWS, double


@pytest.mark.parametrize(("number", "expected"), {rows})
def test_double(number, expected):
    assert {check}
"""
_CODE = """\
ROWS = {rows}


def double(number):
    return {answer}
"""
#: The rows of a source, with an id that stands in the test.
_NAMED = "ROWS, ids=['one']"
_SINGLE = "[pytest.param(*ROWS[0], id='one')]"
_CHECK = "double(number) == expected"
_MENDED = {"rows": "[(1, 2)]", "answer": "2 * number"}


def step(
    folder: Path,
    table: str,
    check: str = _CHECK,
    red_rows: str = "[(1, 2)]",
    **now: str,
) -> Proof:
    """Prove a step in which something changes: in RED `double` returns 0."""
    then = {"rows": red_rows, "answer": "0"}
    red = {"test_calc.py": _TEST.format(rows=table, check=check), "calc.py": _CODE.format(**then)}
    return prove(folder, red, {"calc.py": _CODE.format(**{**then, **now})}, ["test_calc.py::test_double"])


OTHER = "a row has another value with the change: test_calc.py::test_double[{}"
_TIMED = "[(1, (time.time_ns(), 2))], ids=['one']"


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


def test_rows_of_a_file_that_only_a_special_loader_reads_are_named() -> None:
    before, after = (
        SandboxRun(
            seconds=0.1,
            functions={TARGET: (SandboxTest(id=f"{TARGET}[1]", values={"x": value}, report=PASSED),)},
        )
        for value in ("1", "2")
    )
    there = Sandbox(root=Path(__file__).parent, contents={"test_a.py": b"(deftest a [x])"})
    targets = (TargetProof(id=TARGET, verdict="proven"),)
    assert judge_rows(targets, (before, before), after, there) == (
        targets,
        [f"a row has another value with the change: {TARGET}[1] x was 1 in RED, and is 2 now"],
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
        ("max_examples=1", "100 examples in RED, and 1 now;"),
        ("derandomize=True", "and 100 now, derandomized;"),
        ("phases=list(Phase)[:5]", "without phase explain;"),
        ("suppress_health_check=[HealthCheck.too_slow]", "without check too_slow;"),
    ],
)
def test_hypothesis_that_tries_less_hard_is_another_test(tmp_path: Path, profile: str, message: str) -> None:
    proof = try_profile(tmp_path, profile)
    assert verdicts(proof) == {"test_double": "row-changed"}
    assert message in proof.targets[0].why
