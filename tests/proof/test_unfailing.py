"""Tests that expect something else, as targets: what is shown of them, and what the gate has to say."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, Report, SandboxRun, SandboxTest
from phase_gate.proof.unfailing import find_unfailing
from phase_gate.proof.verdicts import TargetProof
from tests.proof.stories import ADD, WRONG, prove, verdicts
from tests.support import Project


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


def test_one_row_that_fails_is_enough_and_one_that_ends_pytest_is_not_tried(tmp_path: Path) -> None:
    tests = (
        f"{HEAD}    assert add(1, 2) == 3\n\n\n"
        "@pytest.mark.parametrize('a, expected', [(1, 3), (2, 4)])\ndef test_rows(a, expected):\n"
        "    with contextlib.suppress(AssertionError if a == 1 else TypeError):\n"
        "        assert add(a, 2) == expected\n\n\ndef test_kills():\n"
        "    with Strict():\n        assert add(1, 2) == 3\n\n\n"
        "class Strict:\n    def __enter__(self):\n        pass\n\n    def __exit__(self, kind, value, *rest):\n"
        "        if '1000012' in str(value):\n            __import__('os')._exit(3)\n"
    )
    names = ("add", "rows", "kills")
    proof = prove(
        tmp_path,
        {"test_calc.py": tests, "calc.py": WRONG},
        {"calc.py": ADD},
        [f"test_calc.py::test_{name}" for name in names],
    )
    assert verdicts(proof) == {f"test_{name}": "proven" for name in names}
    assert [each.altered for each in proof.targets] == ["fails", "fails", "not-tried"]


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
