"""The code around tests, and pieces of sources: which additions may come, and which changes are found."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from phase_gate.source.module_code import find_changes, hash_piece, is_under_test, lines_of, module_code
from phase_gate.source.tests import find_tests, parse_source

MODULE = '''\
"""Tests of a."""
import os
from price import discount, total
LIMIT = 3

@pytest.fixture
def machine():
    """Builds one."""
    return LIMIT

def test_a(machine):
    assert machine

class TestB:
    """Group."""
    size = 1

    def setup_method(self):
        self.a = 1

    def test_c(self):
        assert self.a
'''


def changes(before: str, after: str) -> tuple[int, ...]:
    """Return the lines of `after` that change what was frozen in `before`."""
    tests = {test.name for source in (before, after) for test in find_tests(source)}
    frozen, now = (module_code(parse_source(source), tests=tests) for source in (before, after))
    names = {test.name.partition("::")[0] for test in find_tests(before)}
    return find_changes([row.hash for row in frozen], now, names)


def replace(old: str, new: str) -> str:
    assert MODULE.count(old) == 1
    return MODULE.replace(old, new)


def add(code: str) -> str:
    return f"{MODULE}\n{code}\n"


#: Where `add` puts the first line.
ADDED = MODULE.count("\n") + 2


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(replace("assert machine", "assert not machine"), id="the-body-of-a-test"),
        pytest.param(replace("assert self.a", "assert 1"), id="the-body-of-a-method"),
        pytest.param(replace("import os\n", "# why\nimport os  # this\n\n\n"), id="comments-and-blank-lines"),
        pytest.param(replace("Tests of a.", "All tests of a."), id="the-docstring-of-the-module"),
        pytest.param(replace('"""Tests of a."""\n', ""), id="no-docstring-of-the-module"),
        pytest.param(replace("class TestB", "def test_new():\n    assert 1\n\nclass TestB"), id="a-new-test"),
        pytest.param(replace("def test_c", "def test_new(self): ...\n\n    def test_c"), id="a-new-method"),
        pytest.param(add("class Helper:\n    pass"), id="a-new-helper-class"),
        pytest.param(
            add(
                "class Helper(Base):\n    'Doc.'\n    size: int = 1\n    def set(self):\n        setattr(self, 'a', 1)"
            ),
            id="a-new-helper-class-that-does-something-when-called",
        ),
        pytest.param(add("later = lambda: setattr(price, 'a', 1)"), id="a-new-helper-in-a-lambda"),
        pytest.param(add("def build():\n    return 1"), id="a-new-helper"),
        pytest.param(add("@pytest.fixture\ndef other():\n    return 1"), id="a-new-fixture"),
        pytest.param(add("import sys"), id="a-new-import"),
        pytest.param(add("import os as system"), id="a-module-under-a-second-name"),
        pytest.param(add("from price import vat"), id="a-new-name-from-a-module"),
        pytest.param(replace("discount, total", "total, discount"), id="names-sorted-anew"),
        pytest.param(add("MORE = 4"), id="a-new-constant"),
        pytest.param(add("if TYPE_CHECKING:\n    from price import Price"), id="an-import-for-type-checkers"),
        pytest.param(add("if sys.platform == 'x':\n    A = 1\nelse:\n    B = 2"), id="a-choice-of-constants"),
    ],
)
def test_what_may_come(after: str) -> None:
    assert changes(MODULE, after) == ()


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        pytest.param(replace("LIMIT = 3", "LIMIT = 4"), (0,), id="a-constant"),
        pytest.param(replace("return LIMIT", "return 0"), (0,), id="a-fixture"),
        pytest.param(replace("def machine", "def machine_two"), (0,), id="the-name-of-a-fixture"),
        pytest.param(replace("@pytest.fixture", "@pytest.fixture(autouse=True)"), (7,), id="a-fixture-for-all"),
        pytest.param(replace("self.a = 1", "self.a = 2"), (14,), id="a-setup-method"),
    ],
)
def test_a_change_to_what_was_there_is_found(after: str, lines: tuple[int, ...]) -> None:
    assert changes(MODULE, after) == lines


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("LIMIT = 4", id="a-constant-given-anew"),
        pytest.param("LIMIT: int = 4", id="a-constant-given-anew-with-a-type"),
        pytest.param("def machine(): ...", id="a-second-fixture-of-the-name"),
        pytest.param("from fakes import total", id="an-import-in-the-place-of-the-code-under-test"),
        pytest.param("@pytest.fixture(autouse=True)\ndef other(): ...", id="a-fixture-for-all"),
        pytest.param("pytestmark = pytest.mark.skip", id="a-mark-for-all"),
        pytest.param("if True:\n    pytestmark = pytest.mark.skip", id="a-mark-for-all-under-a-condition"),
        pytest.param("pytest_plugins = ['fakes']", id="plugins"),
        pytest.param("collect_ignore = ['test_a.py']", id="files-left-out"),
        pytest.param("__test__ = False", id="no-tests-here"),
        pytest.param("def setup_module(): ...", id="a-setup-for-all"),
        pytest.param("def teardown_function(function): ...", id="a-teardown-for-each"),
        pytest.param("def pytest_runtest_makereport(item, call): ...", id="a-hook"),
        pytest.param("os.environ.clear()", id="a-call"),
        pytest.param("if FAKE:\n    price.total = None", id="an-attribute-under-a-condition"),
        pytest.param("_ = setattr(price, 'total', None)", id="a-change-in-passing"),
        pytest.param("_ = globals().update(test_a=print)", id="a-test-replaced-in-passing"),
        pytest.param("_ = [price.__setattr__('total', None)]", id="a-change-inside-a-value"),
        pytest.param("def helper(a=setattr(price, 'total', None)): ...", id="a-change-in-a-default"),
    ],
)
def test_an_addition_that_changes_what_was_there_is_found(code: str) -> None:
    decorators = code.startswith("@")
    assert changes(MODULE, add(code)) == (ADDED + decorators,), "the line is that of the definition itself"


def test_the_same_statement_twice_has_to_be_there_twice() -> None:
    twice = add("os.environ.clear()\nos.environ.clear()")
    assert changes(twice, add("os.environ.clear()")) == (0,)
    assert changes(add("os.environ.clear()"), twice) == (ADDED + 1,)


def test_a_helper_without_tests_is_read_whole() -> None:
    before = parse_source("def check(x):\n    assert x\n")
    after = parse_source("def check(x):\n    pass\n")
    frozen, now = module_code(before, tests=()), module_code(after, tests=())
    assert find_changes([row.hash for row in frozen], now) == (0,)
    assert [row.binds for row in now] == [{"check"}]


def test_a_test_that_became_a_helper_is_code_now() -> None:
    assert changes(MODULE, replace("def test_a", "def helper_a")) == (), "that it is gone as a test is found elsewhere"


PURE = "class TestB:\n    def test_c(self):\n        assert 1\n"


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(f"{PURE}\n    def setup_method(self): ...\n", id="a-setup"),
        pytest.param(f"{PURE}\n    test_c = None\n", id="another-value-for-a-test"),
        pytest.param(PURE.replace("TestB", "TestB(Base)"), id="a-base"),
        pytest.param(f"@pytest.mark.skip\n{PURE}", id="a-mark"),
    ],
)
def test_a_class_of_nothing_but_tests_gets_more(after: str) -> None:
    assert changes(PURE, after) != ()


def test_a_class_of_nothing_but_tests_gets_one_more_test() -> None:
    assert changes(PURE, f"{PURE}\n    def test_d(self): ...\n") == ()


def test_an_empty_module() -> None:
    assert module_code(parse_source(""), tests=()) == ()
    assert changes("", "") == ()
    assert changes(MODULE, "")[0] == 0


# --- pieces of a source

SOURCE = """\
RATE = 10


def helper(value):
    return value


def check(value):
    def inner():
        assert value

    inner()


class Base:
    rate = RATE

    def setUp(self):
        self.price = 1

    def test_total(self):
        assert self.price
"""


def exchange(old: str, new: str) -> str:
    assert old in SOURCE
    return SOURCE.replace(old, new)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("check", f"{SOURCE}check = print\n", id="the-name-is-bound-again"),
        pytest.param("Base", exchange("rate =", "def assertEqual(*args): ...\n\n    rate ="), id="one-more-method"),
        pytest.param("Base.test_total", f"{SOURCE}Base = object\n", id="the-class-is-bound-again"),
        pytest.param("Base.test_total", exchange("test_total", "test_other"), id="gone"),
    ],
)
def test_what_changes_a_piece(name: str, changed: str) -> None:
    assert hash_piece(parse_source(changed), name) != hash_piece(parse_source(SOURCE), name) != ""


def test_a_test_is_no_part_of_its_class() -> None:
    changed = exchange("assert self.price", "pass")
    assert hash_piece(parse_source(changed), "Base") == hash_piece(parse_source(SOURCE), "Base") != ""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("helper", {4, 5}, id="a-function"),
        pytest.param("Base", {16, 18, 19}, id="a-class-without-its-tests"),
        pytest.param("Base.test_total", {21, 22}, id="a-test"),
    ],
)
def test_lines(name: str, lines: set[int]) -> None:
    assert {line for each in lines_of(parse_source(SOURCE), name) for line in each} == lines


@pytest.mark.parametrize(
    ("file", "raised", "expected"),
    [
        pytest.param("shop/testing.py", {5}, True, id="it-raised"),
        pytest.param("shop/testing.py", {1, 7}, False, id="something-beside-it-raised"),
        pytest.param("shop/calc.py", (), True, id="a-file-of-tests-is-named-after-it"),
    ],
)
def test_what_may_be_under_test(file: str, raised: Collection[int], expected: bool) -> None:
    lines = lines_of(parse_source(SOURCE), "helper")
    assert is_under_test(file, lines, tests=["tests/test_calc.py"], raised=raised) is expected
