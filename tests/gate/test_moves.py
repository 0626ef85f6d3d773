"""Which tests have moved: one row an honest move, one row a reason to doubt it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.gate.inventory import Inventory, TestFile
from phase_gate.gate.moves import Place, find_moves, move_tests, renamed
from phase_gate.recording.inventory import take_inventory
from phase_gate.recording.parsing import take_reach
from phase_gate.source.tests import find_tests

TEST = "def test_one():\n    assert total([LIMIT]) == 3\n"
AROUND = "from price import total\n\nLIMIT = 3\n\n\n"
A = {"tests/test_a.py": AROUND + TEST}
MOVED = {"tests/test_a.py::test_one": "tests/test_b.py::test_one"}

HELPED = "def check(got):\n    assert got == 3\n\n\ndef test_one():\n    check(3)\n"
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return [3]\n\n\n"
ASKS = "def test_one(cart):\n    assert cart == [3]\n"
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
    tmp_path: Path,
    before: Sources,
    now: Sources,
    *,
    rows: Mapping[str, tuple[str, ...]] | None = None,
    support: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> Mapping[str, str]:
    then = take(tmp_path / "then", before, rows or {})
    here = take(tmp_path / "now", now, rows or {})
    place = Place(
        before=then,
        now=here,
        reach=take_reach(here, then, root=tmp_path / "now"),
        support_before=support[0],
        support=support[1],
    )
    return find_moves(
        then, here, set(then.ids()) | {each.partition("[")[0] for each in then.ids()}, place.means_the_same
    )


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(A, {"tests/test_b.py": AROUND + TEST}, MOVED, id="the file is renamed"),
        pytest.param(
            A,
            {"tests/test_b.py": f"import os\n{AROUND}{TEST}\n\ndef test_more():\n    pass\n"},
            MOVED,
            id="and something is added that the test does not use",
        ),
        pytest.param(
            A,
            {"tests/test_a.py": AROUND + TEST.replace("test_one", "test_sum")},
            {"tests/test_a.py::test_one": "tests/test_a.py::test_sum"},
            id="the function is renamed",
        ),
        pytest.param(
            {**A, "tests/test_b.py": "def test_two():\n    pass\n"},
            {"tests/test_b.py": f"{AROUND}def test_two():\n    pass\n\n\n{TEST}"},
            MOVED,
            id="the function moves into a file that was there",
        ),
        pytest.param(
            {"test_a.py": AROUND + TEST},
            {"tests/test_a.py": AROUND + TEST},
            {"test_a.py::test_one": "tests/test_a.py::test_one"},
            id="the file moves into a folder",
        ),
        pytest.param(
            {"tests/test_a.py": f"{AROUND}{TEST}\n\n{TEST.replace('one', 'two')}"},
            {"tests/test_b.py": f"{AROUND}{TEST}\n\n{TEST.replace('one', 'two')}"},
            {**MOVED, "tests/test_a.py::test_two": "tests/test_b.py::test_two"},
            id="two of the same body move under their names",
        ),
        pytest.param(
            {"tests/test_a.py": CLASS + METHOD},
            {"tests/test_b.py": CLASS + METHOD},
            {"tests/test_a.py::TestSum::test_one": "tests/test_b.py::TestSum::test_one"},
            id="a class moves",
        ),
        pytest.param(
            {"tests/test_a.py": PURE},
            {"tests/test_a.py": PURE.replace("TestSum", "TestTotal")},
            {"tests/test_a.py::TestSum::test_one": "tests/test_a.py::TestTotal::test_one"},
            id="a class with nothing but tests is renamed",
        ),
        pytest.param(
            {"docs/a.txt": ">>> 1\n1\n"},
            {"docs/b.txt": ">>> 1\n1\n"},
            {"docs/a.txt::a.txt": "docs/b.txt::b.txt"},
            id="a text with examples is renamed",
        ),
        # --- doubt
        pytest.param(A, {"tests/test_b.py": AROUND + TEST.replace("3", "4")}, {}, id="another body"),
        pytest.param(A, {"tests/test_b.py": AROUND.replace("3", "4") + TEST}, {}, id="another constant"),
        pytest.param(A, {"tests/test_b.py": AROUND.replace("price", "fake") + TEST}, {}, id="another import"),
        pytest.param(A, {"tests/test_b.py": f"{AROUND}LIMIT = 4\n\n\n{TEST}"}, {}, id="a second binding"),
        pytest.param(
            A,
            {"tests/test_b.py": f"import pytest\n{AROUND}pytestmark = pytest.mark.xfail\n\n\n{TEST}"},
            {},
            id="a mark for all",
        ),
        pytest.param(
            {"tests/test_a.py": HELPED},
            {"tests/test_b.py": HELPED.replace("assert got == 3", "pass")},
            {},
            id="another helper",
        ),
        pytest.param(
            {"tests/test_a.py": FIXTURE + ASKS},
            {"tests/test_b.py": FIXTURE.replace("[3]", "[4]") + ASKS},
            {},
            id="another fixture",
        ),
        pytest.param(
            {"tests/test_a.py": ASKS}, {"tests/test_b.py": FIXTURE + ASKS}, {}, id="a fixture that was not there"
        ),
        pytest.param(
            {"tests/test_a.py": CLASS + METHOD},
            {"tests/test_b.py": CLASS.replace("3", "4") + METHOD},
            {},
            id="another class around it",
        ),
        pytest.param(
            A,
            {"tests/test_b.py": AROUND + TEST, "tests/test_c.py": AROUND + TEST},
            {},
            id="two places where it may be",
        ),
        pytest.param(
            {**A, "tests/test_c.py": AROUND + TEST},
            {"tests/test_b.py": AROUND + TEST},
            {},
            id="two tests that may have gone there",
        ),
        pytest.param(A, {**A, "tests/test_b.py": AROUND + TEST}, {}, id="a copy, and the original is there"),
        pytest.param(
            A,
            {"tests/test_a.py": "def test_one():\n    pass\n", "tests/test_b.py": AROUND + TEST},
            {},
            id="an emptied one under the old name",
        ),
        pytest.param({"docs/a.txt": ">>> 1\n1\n"}, {"docs/b.txt": ">>> 1\n2\n"}, {}, id="a text with other examples"),
        pytest.param(
            {"tests/a/test_a.py": "from .help import check\n\n\ndef test_one():\n    check()\n"},
            {"tests/b/test_a.py": "from .help import check\n\n\ndef test_one():\n    check()\n"},
            {},
            id="a relative import elsewhere",
        ),
    ],
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


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ((), (), True),
        (("conftest.py",), ("conftest.py",), True),
        (("tests/conftest.py",), ("tests/conftest.py",), False),
        ((), ("tests/conftest.py",), False),
        (("other/conftest.py",), ("other/conftest.py",), True),
        # What it imports may be another one there.
        (("tests/price.py",), ("tests/price.py",), False),
    ],
)
def test_the_same_files_reach_it(tmp_path: Path, before: tuple[str, ...], now: tuple[str, ...], moved: bool) -> None:
    found = moves_between(
        tmp_path, {"test_a.py": AROUND + TEST}, {"tests/test_a.py": AROUND + TEST}, support=(before, now)
    )
    assert bool(found) == moved


def test_an_inventory_that_says_nothing_about_names_moves_nothing(tmp_path: Path) -> None:
    then = Inventory({"a.py": TestFile(content="1", ids=("test_one",), bodies={"test_one": "b"}, statements=("s",))})
    now = Inventory({"b.py": TestFile(content="2", ids=("test_one",), bodies={"test_one": "b"}, statements=("s",))})
    place = Place(before=then, now=now, reach={}, support_before=(), support=())
    assert find_moves(then, now, {"a.py::test_one"}, place.means_the_same) == {}


def test_history_goes_with_a_test() -> None:
    file = TestFile(
        content="1", ids=("test_one[1]", "test_one[2]", "test_two"), bodies={"test_one": "1", "test_two": "2"}
    )
    moved = move_tests(Inventory({"a.py": file}), {"a.py::test_one": "b.py::test_first"})
    assert list(moved.ids()) == ["a.py::test_two", "b.py::test_first[1]", "b.py::test_first[2]"]
    assert moved.body("b.py::test_first[1]") == "1"
    assert moved.body("a.py::test_one") == ""
    assert renamed("a.py::test_one[x::y]", {"a.py::test_one": "b.py::test_first"}) == "b.py::test_first[x::y]"
