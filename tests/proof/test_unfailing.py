"""Tests that expect something else, as targets and in a whole suite: what is shown of them, and what the gate says."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from phase_gate.proof.proof_text import render_suite
from phase_gate.proof.sandbox import Kind, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, Report, SandboxRun, SandboxTest
from phase_gate.proof.unfailing import find_unfailing, prove_suite
from phase_gate.proof.verdicts import TargetProof
from tests.proof.stories import ADD, TEST_ADD, WRONG, prove, write
from tests.support import Project

pytestmark = pytest.mark.processes


class Idle(Laboratory):
    """Has nothing to run."""

    def run(self, sandbox: Sandbox, wanted: Collection[str] = (), **more: Any) -> SandboxRun:
        raise AssertionError("nothing is to be run")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        pytest.param("../test_calc.py", "def test_it():\n    assert sub(5, 3) == 2\n", id="outside-of-the-project"),
        pytest.param("test_calc.py", "def test_it():\n    print(sub(5, 3))\n", id="nothing-to-alter"),
        pytest.param("test_calc.py", "def test_it(:\n", id="not-readable"),
    ],
)
def test_nothing_is_written_or_run_for_nothing(file: str, source: str) -> None:
    there = Sandbox(root=Path(__file__).parent, contents={file: source.encode()})
    test = SandboxTest(id="test_calc.py::test_it", file=file, line=1, report=Report(has_passed=True))
    targets = (TargetProof(id=test.id, verdict="proven", treatment="passes"),)
    treatment = SandboxRun(seconds=0.1, functions={test.id: (test,)})
    assert find_unfailing(targets, treatment, there, Idle((), 1)) == targets


#: The most ordinary RED: it makes every test fail that merely calls the function.
STUB = "def add(a, b):\n    raise NotImplementedError\n"

HEAD = "import contextlib\n\nimport pytest\n\nfrom calc import add\n\n\ndef test_add():\n"


def test_a_target_that_ends_pytest_is_not_tried(tmp_path: Path) -> None:
    tests = (
        f"{HEAD}    with Strict():\n        assert add(1, 2) == 3\n\n\n"
        "class Strict:\n    def __enter__(self):\n        pass\n\n    def __exit__(self, kind, value, *rest):\n"
        "        if '1000012' in str(value):\n            __import__('os')._exit(3)\n"
    )
    (target,) = prove(tmp_path, {"test_calc.py": tests, "calc.py": WRONG}, {"calc.py": ADD}).targets
    assert (target.verdict, target.altered) == ("proven", "not-tried")


@pytest.mark.usefixtures("with_proof")
def test_gate_names_the_check_and_the_waiver(project: Project) -> None:
    project.write(test_calc=HEAD + "    assert add(1, 2) == 3 or True\n", calc=STUB)
    assert project.run("--phase=red", "--exit-signal=red").code == 0
    project.write(calc=ADD)
    project.run("--phase=green")
    project.run("--phase=green")
    ran = project.gate("signal", "--reason", "done", "--json")
    assert ran.code == 10
    message = "test_calc.py:9 can't fail: expecting 1000012 instead of 3 passes as well"
    (finding,) = ran.document["findings"]
    assert (finding["slug"], finding["tier"], finding["line"]) == ("targets-proven", "hard", 9)
    assert message in finding["detail"]
    assert 'phase-gate waive targets-proven --reason "..." --by NAME' in ran.document["next_hint"]
    assert message in project.gate("explain", "targets-proven").text


# --- a whole suite: phase-gate prove --suite

CALC = "def sub(a, b):\n    return a - b\n"
TESTS = """\
import contextlib
import os

import pytest

from calc import sub


@contextlib.contextmanager
def careful(ends):
    try:
        yield
    except AssertionError:
        ends()


def test_honest():
    assert sub(5, 3) == 2


def test_swallowed():
    with contextlib.suppress(AssertionError):
        assert sub(5, 3) == 2


def test_never_called():
    def check():
        assert sub(5, 3) == 2


@pytest.mark.parametrize("a, expected", [(5, 2), (6, 3)])
def test_rows(a, expected):
    with contextlib.suppress(AssertionError if a == 5 else TypeError):
        assert sub(a, 3) == expected


def test_kills():
    with careful(lambda: os._exit(3)):
        assert sub(5, 3) == 2


def test_behind_it():
    with contextlib.suppress(AssertionError):
        assert sub(5, 3) == 2


def test_fails_already():
    assert sub(5, 3) == 3


def test_nothing_to_alter():
    assert sub(5, 3)
"""
CANT = (
    "can't fail: expecting 1000009 instead of 2 passes as well; look at an `or` in it, the with or try around it,"
    " and at `__eq__` of the left side"
)
FOUND = f"""\
- test_calc.py::test_swallowed
    passes whatever it expects: test_calc.py:23 {CANT}
- test_calc.py::test_never_called
    passes whatever it expects: test_calc.py:28 can't fail: expecting 1000009 instead of 2 passes as well; look \
whether check() is called, and at `__eq__` of the left side
- test_calc.py::test_behind_it
    passes whatever it expects: test_calc.py:44 {CANT}
? test_calc.py::test_kills
    could not be tried: it does not end, or ends pytest, if it expects something else
3 tests can't fail; 6 of 7 passing tests had something to alter"""


def test_each_kind_of_finding(tmp_path: Path, kind: Kind) -> None:
    write(tmp_path, {"calc.py": CALC, "test_calc.py": TESTS})
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*"))}
    proof = prove_suite(tmp_path)
    assert not proof.problem
    output = render_suite(proof)
    assert [each.line for each in output.places if each.is_error] == [23, 28, 44]
    assert [each.line for each in output.places if not each.is_error] == [1]
    text, _, spent = output.text.rpartition(" (")
    assert text == FOUND
    # As it is, altered, behind the one that ends pytest, and three that still pass.
    assert spent == f"6 runs of pytest in {proof.seconds:g} s)"
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*"))} == before


#: Tests in which each check can fail, though it looks otherwise; and those in which one can't, for other reasons.
MORE = """\
import contextlib

import pytest

from calc import sub

THREE, seen = 3, []


@pytest.mark.parametrize("a, expected", [(5, 2), (6, THREE)])
def test_row_of_a_name(a, expected):
    assert sub(a, 3) == expected


def test_comes_first():
    seen.append(1)
    assert sub(5, 3) == 2


def test_fails_alone():
    with contextlib.suppress(AssertionError if seen else TypeError):
        assert sub(5, 3) == 2


def test_pattern():
    for n in ():
        with pytest.raises(ValueError, match="no"):
            sub(n, n)


def test_long_values():
    with contextlib.suppress(AssertionError):
        assert sub(5, 3) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]


class Shared:
    def test_shared(self):
        with contextlib.suppress(self.swallowed):
            assert sub(5, 3) == 2


class TestOne(Shared):
    swallowed = AssertionError


class TestTwo(Shared):
    swallowed = TypeError


@contextlib.contextmanager
def leaving():
    try:
        yield
    except AssertionError:
        seen or __import__("os")._exit(3)


def test_kills_alone():
    with leaving():
        assert sub(5, 3) == 2
"""


def test_what_looks_otherwise_and_other_reasons(tmp_path: Path) -> None:
    write(tmp_path, {"calc.py": CALC, "test_calc.py": MORE})
    targets = {each.id.partition("::")[2]: each for each in prove_suite(tmp_path).targets}
    assert {name: (each.altered, each.line) for name, each in targets.items() if each.altered != "fails"} == {
        "test_pattern": ("still-passes", 27),
        "test_long_values": ("still-passes", 33),
        "test_kills_alone": ("not-tried", 0),
    }
    assert "expecting [1000006, 1000009, 1000012, 1000015, 10… instead of [1, 2, 3" in targets["test_long_values"].why


def test_a_suite_that_ends_too_early_is_named(tmp_path: Path) -> None:
    ends = "\n\ndef test_ends():\n    import os\n\n    os._exit(3)\n"
    write(tmp_path, {"calc.py": ADD, "test_calc.py": f"{TEST_ADD}{ends}"})
    proof = prove_suite(tmp_path)
    assert "note: pytest ended too early in test_calc.py::test_ends" in render_suite(proof).text


def test_one_that_hangs_is_not_tried(tmp_path: Path) -> None:
    hangs = TESTS.partition("\n\ndef test_swallowed")[0].replace(
        "assert", "with careful(lambda: time.sleep(600)):\n        assert"
    )
    write(tmp_path, {"calc.py": CALC, "test_calc.py": f"import time\n{hangs}"})
    assert [each.altered for each in prove_suite(tmp_path, seconds=2.0).targets] == ["not-tried"]


def test_chosen_paths_and_the_projects_own_choice_count(project: Project) -> None:
    """A test that the project's settings leave out is left out here, too."""
    swallowed = TESTS.partition("\n\ndef test_never_called")[0]
    slow = swallowed.replace("def test_swallowed", "@pytest.mark.slow\ndef test_swallowed")
    project.write(
        {
            "calc.py": CALC,
            "tests/test_calc.py": slow,
            "other/test_other.py": swallowed,
            "other/test_broken.py": "import nothing_here\n",
            "pytest.ini": "[pytest]\naddopts = -m 'not slow'\nmarkers = slow\npythonpath = .\n",
        }
    )
    assert project.gate("prove", "--suite", "tests").code == 0
    assert project.gate("prove", "--suite", "other/test_other.py").code == 10
    document = json.loads(project.gate("prove", "--suite", "--json").out)
    assert {each["id"]: each["verdict"] for each in document["targets"]} == {
        "other/test_other.py::test_honest": "no-change",
        "other/test_other.py::test_swallowed": "cannot-fail",
        "tests/test_calc.py::test_honest": "no-change",
    }


@pytest.mark.parametrize(
    ("files", "message"),
    [
        pytest.param({"calc.py": CALC}, "nothing tried: pytest collected no test", id="no-tests"),
        pytest.param(
            {"conftest.py": "import nothing_here"},
            "nothing tried: conftest.py can't be imported: ModuleNotFoundError: No module named 'nothing_here'",
            id="broken",
        ),
        pytest.param(
            {"test_broken.py": "import nothing_here\n\n\ndef test_one():\n    assert nothing_here.one == 1\n"},
            "nothing tried: test_broken.py can't be imported: ModuleNotFoundError: No module named 'nothing_here';"
            " fix that first: pytest test_broken.py",
            id="broken-test",
        ),
    ],
)
def test_nothing_to_try_is_11(project: Project, files: dict[str, str], message: str) -> None:
    ran = project.write(files).gate("prove", "--suite")
    assert (ran.code, ran.out.strip()) == (11, message)


def test_other_options_are_refused(project: Project) -> None:
    ran = project.gate("prove", "--suite", "--base", "main")
    assert ran.code == 13
    assert "--suite goes with" in ran.err
