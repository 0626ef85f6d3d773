"""Tests that expect something else: what they show, from how they ended and from the lines that they ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.gate.inventory import bare_id
from phase_gate.proof.sandbox import Limits, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, Report, SandboxRun, SandboxTest
from phase_gate.proof.unfailing import AlteredProof, try_altered
from phase_gate.values import replace
from tests.proof.stories import ADD, WRONG, prove, verdicts
from tests.support import Project


class Played(Laboratory):
    """Plays the runs of a suite: which tests pass although they expect something else, and which lines they run.

    :param alone: those that pass alone, where they are others; `killing` end pytest.
    """

    def __init__(
        self,
        tests: Iterable[SandboxTest],
        passing: Collection[str] = (),
        *,
        alone: Collection[str] | None = None,
        lines: Collection[int] = (),
        killing_alone: Collection[str] = (),
    ) -> None:
        super().__init__((), Limits(processor=1, clock=1))
        self._tests, self._lines, self._killing_alone = tuple(tests), frozenset(lines), killing_alone
        self._passing = {False: passing, True: passing if alone is None else alone}
        self.asked: list[tuple[str, ...]] = []
        self.contents: Mapping[str, bytes] = {}

    def run(self, sandbox: Sandbox, wanted: Collection[str] = (), *, is_traced: bool = False, **_: Any) -> SandboxRun:
        self.asked.append(tuple(wanted))
        self.contents = sandbox.contents
        functions: dict[str, tuple[SandboxTest, ...]] = {}
        at_work = ""
        for test in (each for each in self._tests if bare_id(each.id) in wanted):
            at_work = test.id if is_traced and test.id in self._killing_alone else at_work
            report = Report(has_passed=test.id in self._passing[is_traced])
            ran = replace(test, report=report, lines=self._lines if is_traced else frozenset())
            functions[bare_id(test.id)] = (*functions.get(bare_id(test.id), ()), ran)
        return SandboxRun(seconds=0.1, functions=functions, at_work=at_work)


def an_item(name: str = "test_it", line: int = 1, **rows: int) -> SandboxTest:
    row = f"[{'-'.join(map(str, rows.values()))}]" if rows else ""
    return SandboxTest(id=f"test_calc.py::{name}{row}", file="test_calc.py", line=line, rows=rows)


def show(source: str, laboratory: Laboratory, tests: Iterable[SandboxTest]) -> list[AlteredProof]:
    there = Sandbox(root=Path(__file__).parent, contents={"test_calc.py": source.encode()})
    return list(try_altered(tests, there, laboratory))


HONEST = "def test_it():\n    assert sub(5, 3) == 2\n"
BEHIND = "def test_it():\n    with pytest.raises(ValueError):\n        fail()\n        assert calls == 2\n"
TABLE = (
    "@pytest.mark.parametrize('n, expected', [(1, 2), (2, 3), (3, other)])\n"
    "def test_it(n, expected):\n    assert after(n) == expected\n"
)
ONE = [an_item()]
ID = "test_calc.py::test_it"


@pytest.mark.parametrize(
    ("source", "lines", "text"),
    [
        pytest.param(
            "def test_it():\n    for n in ():\n        assert n == 2\n",
            {2},
            "test_calc.py:3 is never run: test_it passes whatever n is; nothing leads there",
            id="never-reached",
        ),
        pytest.param(
            "def test_it():\n    assert sub(5, 3) == 'two' or True\n",
            {2},
            "test_calc.py:2 can't fail: expecting 'two~altered' instead of 'two' passes as well; look at an `or` in it,"
            " the with or try around it, and `__eq__` of the left side",
            id="or-true",
        ),
        pytest.param(
            "def test_it():\n    assert sub(5, 3) == [\n        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]\n",
            {3},
            "test_calc.py:2 can't fail: expecting [1000006, 1000009, 1000012, 1000015, 10… instead of [ 1, 2, 3, 4, 5,"
            " 6, 7, 8, 9, 10, 11, 12… passes as well; look at an `or` in it, the with or try around it, and"
            " `__eq__` of the left side",
            id="long-values-are-cut",
        ),
        pytest.param(
            "def test_it():\n    for n in ():\n        with raises(ValueError, match='no'):\n            f(n)\n",
            {2},
            "test_calc.py:3 is never run: test_it passes whatever the message is; nothing leads there",
            id="pattern",
        ),
    ],
)
def test_still_passes(source: str, lines: set[int], text: str) -> None:
    (proof,) = show(source, Played(ONE, {ID}, lines=lines), ONE)
    assert (proof.shown, proof.text, proof.ids) == ("still-passes", text, (ID,))
    assert text.startswith(f"{proof.file}:{proof.line} ")


def test_honest_test_fails_in_one_run() -> None:
    sandbox = Played(ONE)
    (proof,) = show(HONEST, sandbox, ONE)
    assert (proof.shown, proof.text) == ("fails", "")
    assert sandbox.asked == [(ID,)]
    assert sandbox.contents == {"test_calc.py": HONEST.replace("2", "1000009").encode()}


def test_what_fails_alone_fails() -> None:
    sandbox = Played(ONE, {ID}, alone=())
    (proof,) = show(HONEST, sandbox, ONE)
    assert proof.shown == "fails"
    assert sandbox.asked == [(ID,), (ID,)]


def test_assert_that_raises_what_is_waited_for_says_nothing() -> None:
    (proof,) = show(BEHIND, Played(ONE, {ID}, lines={2, 3, 4}), ONE)
    assert proof.shown == "fails"


@pytest.mark.parametrize(
    ("passing", "shown"),
    [
        pytest.param([], "fails", id="none"),
        pytest.param([0], "some-rows", id="one"),
        pytest.param([0, 1], "still-passes", id="all-that-are-altered"),
        pytest.param([2], "fails", id="only-one-that-is-not-altered"),
    ],
)
def test_rows_count_that_are_altered(passing: list[int], shown: str) -> None:
    items = [an_item(n=row, expected=row) for row in range(3)]
    sandbox = Played(items, [items[row].id for row in passing], lines={3})
    (proof,) = show(TABLE, sandbox, items)
    assert proof.shown == shown
    if shown == "some-rows":
        assert proof.text == "test_calc.py:3 can't fail in 1 of 2 rows of test_it: 0-0"


def test_rows_are_found_under_other_ids() -> None:
    items = [an_item(n=row, expected=row) for row in range(3)]
    altered = [
        SandboxTest(id=f"{ID}[altered{row}]", file="test_calc.py", line=1, rows=items[row].rows) for row in range(3)
    ]
    (proof,) = show(TABLE, Played(altered, [each.id for each in altered], lines={3}), items)
    assert proof.shown == "still-passes"


def test_function_that_two_classes_inherit_is_one() -> None:
    source = "class Base:\n    def test_it(self):\n        assert self.answer == 2\n"
    items = [
        SandboxTest(id=f"test_calc.py::{name}::test_it", file="test_calc.py", line=2) for name in ("TestA", "TestB")
    ]
    ids = tuple(item.id for item in items)
    (proof,) = show(source, Played(items, ids, lines={3}), items)
    assert (proof.shown, proof.ids) == ("still-passes", ids)
    (proof,) = show(source, Played(items, ids[:1], lines={3}), items)
    assert proof.shown == "some-rows"


def test_what_is_not_collected_is_not_tried() -> None:
    (proof,) = show(HONEST, Played(()), ONE)
    assert proof.shown == "not-tried"


def test_what_kills_pytest_alone_is_not_tried() -> None:
    (proof,) = show(HONEST, Played(ONE, {ID}, killing_alone={ID}), ONE)
    assert proof.shown == "not-tried"


def test_a_test_outside_of_the_project_is_never_written() -> None:
    sandbox = Played(ONE)
    there = Sandbox(root=Path(__file__).parent, contents={"../test_calc.py": HONEST.encode()})
    assert try_altered([replace(an_item(), file="../test_calc.py")], there, sandbox) == ()
    assert sandbox.asked == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def test_it():\n    print(sub(5, 3))\n", id="nothing-to-alter"),
        pytest.param("def test_it(:\n", id="not-readable"),
    ],
)
def test_nothing_is_run_for_nothing(source: str) -> None:
    sandbox = Played(ONE)
    assert show(source, sandbox, ONE) == []
    assert sandbox.asked == []


#: The most ordinary RED: it makes every test fail that merely calls the function.
STUB = "def add(a, b):\n    raise NotImplementedError\n"

HEAD = "import contextlib\n\nimport pytest\n\nfrom calc import add\n\n\ndef test_add():\n"


def test_one_start_for_all_targets_and_advice_for_some(tmp_path: Path) -> None:
    tests = (
        f"{HEAD}    assert add(1, 2) == 3\n\n\ndef test_dead():\n    assert add(2, 2) > 3\n"
        "    with pytest.raises(TypeError):\n        add(1)\n        assert add(1, 2) == 4\n\n\n"
        "@pytest.mark.parametrize('a, expected', [(1, 3), (2, 4)])\ndef test_rows(a, expected):\n"
        "    with contextlib.suppress(AssertionError if a == 1 else TypeError):\n"
        "        assert add(a, 2) == expected\n\n\ndef test_kills():\n"
        "    with Strict():\n        assert add(1, 2) == 3\n\n\n"
        "class Strict:\n    def __enter__(self):\n        pass\n\n    def __exit__(self, kind, value, *rest):\n"
        "        if '1000012' in str(value):\n            __import__('os')._exit(3)\n"
    )
    names = ("add", "dead", "rows", "kills")
    proof = prove(
        tmp_path,
        {"test_calc.py": tests, "calc.py": WRONG},
        {"calc.py": ADD},
        [f"test_calc.py::test_{name}" for name in names],
    )
    assert verdicts(proof) == {f"test_{name}": "proven" for name in names}
    assert [(each.altered, bool(each.advice)) for each in proof.targets] == [
        ("fails", False),
        ("dead-assert", True),
        ("some-rows", True),
        ("not-tried", False),
    ]


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
    explained = project.gate("explain", "targets-proven").text
    assert "test_calc.py::test_add fails passes still passes not tried" in explained
    assert message in explained
