"""Which tests have moved: one row an honest move, one row a reason to doubt it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.gate.inventory import Inventory, TestFile, bare_id
from phase_gate.gate.renames import find_moves, move_tests, renamed
from phase_gate.runs.meaning import take_inventory
from phase_gate.source.tests import find_tests
from tests.tables import named

TEST = "def test_one():\n    assert total([LIMIT]) == 3\n"
AROUND = "from price import total\n\nLIMIT = 3\n\n\n"
A = {"tests/test_a.py": AROUND + TEST}
MOVED = {"tests/test_a.py::test_one": "tests/test_b.py::test_one"}

CLASS = "class TestSum:\n    def setup_method(self):\n        self.limit = 3\n\n"
METHOD = "    def test_one(self):\n        assert self.limit == 3\n"
PURE = "class TestSum:\n    def test_one(self):\n        assert sum([3]) == 3\n"
ROWS = 'import pytest\n\n\n@pytest.mark.parametrize("n", ROWS)\ndef test_one(n):\n    assert n\n'

Sources = Mapping[str, str]


def take(root: Path, sources: Sources, rows: Mapping[str, tuple[str, ...]]) -> Inventory:
    """Return the tests of these files.

    :param rows: parameters of the tests of a file.
    """
    ids = []
    for path, text in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        names = [test.name for test in find_tests(text)] if path.endswith(".py") else [path.rpartition("/")[2]]
        ids += [f"{path}::{name}{row}" for name in names for row in rows.get(path, ("",))]
    return take_inventory(ids, root=root, contents={}, known=None)


def moves_between(
    tmp_path: Path, before: Sources, now: Sources, *, rows: Mapping[str, tuple[str, ...]] | None = None
) -> Mapping[str, str]:
    then = take(tmp_path / "then", before, rows or {})
    here = take(tmp_path / "now", now, rows or {})
    return find_moves(then, here, set(map(bare_id, then.ids())))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    named(
        {
            "the file is renamed": (A, {"tests/test_b.py": AROUND + TEST}, MOVED),
            "the function is renamed": (
                A,
                {"tests/test_a.py": AROUND + TEST.replace("test_one", "test_sum")},
                {"tests/test_a.py::test_one": "tests/test_a.py::test_sum"},
            ),
            "the file moves into a folder": (
                {"test_a.py": AROUND + TEST},
                {"tests/test_a.py": AROUND + TEST},
                {"test_a.py::test_one": "tests/test_a.py::test_one"},
            ),
            "two of the same body move under their names": (
                {"tests/test_a.py": f"{AROUND}{TEST}\n\n{TEST.replace('one', 'two')}"},
                {"tests/test_b.py": f"{AROUND}{TEST}\n\n{TEST.replace('one', 'two')}"},
                {**MOVED, "tests/test_a.py::test_two": "tests/test_b.py::test_two"},
            ),
            "a class with nothing but tests is renamed": (
                {"tests/test_a.py": PURE},
                {"tests/test_a.py": PURE.replace("TestSum", "TestTotal")},
                {"tests/test_a.py::TestSum::test_one": "tests/test_a.py::TestTotal::test_one"},
            ),
            "a text with examples is renamed": (
                {"docs/a.txt": ">>> 1\n1\n"},
                {"docs/b.txt": ">>> 1\n1\n"},
                {"docs/a.txt::a.txt": "docs/b.txt::b.txt"},
            ),
            "the code around it is another: for the experiment to show": (
                A,
                {"tests/test_b.py": AROUND.replace("3", "4") + TEST},
                MOVED,
            ),
            # --- doubt
            "another body": (A, {"tests/test_b.py": AROUND + TEST.replace("3", "4")}, {}),
            "two places where it may be": (A, {"tests/test_b.py": AROUND + TEST, "tests/test_c.py": AROUND + TEST}, {}),
            "a copy, and the original is there": (A, {**A, "tests/test_b.py": AROUND + TEST}, {}),
            "an emptied one under the old name": (
                A,
                {"tests/test_a.py": "def test_one():\n    pass\n", "tests/test_b.py": AROUND + TEST},
                {},
            ),
        }
    ),
)
def test_tells_where_a_test_went(tmp_path: Path, before: Sources, now: Sources, expected: Mapping[str, str]) -> None:
    assert moves_between(tmp_path, before, now) == expected


@pytest.mark.parametrize(
    ("then", "now", "moved"),
    [
        (("[1]", "[2]"), ("[1]", "[2]"), True),
        (("[1]", "[2]"), ("[1]",), False),
        (("[1]",), ("[1]", "[2]"), False),
        # While its module could not be imported nobody knew its rows.
        (("",), ("[1]", "[2]"), True),
    ],
)
def test_the_parameters_go_with_it(tmp_path: Path, then: tuple[str, ...], now: tuple[str, ...], moved: bool) -> None:
    found = moves_between(
        tmp_path,
        {"tests/test_a.py": ROWS},
        {"tests/test_b.py": ROWS},
        rows={"tests/test_a.py": then, "tests/test_b.py": now},
    )
    assert found == (MOVED if moved else {})


def test_history_goes_with_a_test() -> None:
    file = TestFile(
        content="1", ids=("test_one[1]", "test_one[2]", "test_two"), bodies={"test_one": "1", "test_two": "2"}
    )
    moved = move_tests(Inventory({"a.py": file}), {"a.py::test_one": "b.py::test_first"})
    assert list(moved.ids()) == ["a.py::test_two", "b.py::test_first[1]", "b.py::test_first[2]"]
    assert moved.body("b.py::test_first[1]") == "1"
    assert moved.body("a.py::test_one") == ""
    assert renamed("a.py::test_one[x::y]", {"a.py::test_one": "b.py::test_first"}) == "b.py::test_first[x::y]"
