"""Tests as the source has them: which there are, and where."""

from __future__ import annotations

import warnings

import pytest

from phase_gate.source.tests import find_tests


def names_in(source: str | bytes, **patterns: tuple[str, ...]) -> list[str]:
    return [test.name for test in find_tests(source, **patterns)]


#: Each of these is given to pytest itself, too, which has the last word.
COLLECTED = {
    "annotated": """
class TestA:
    __test__: bool = False
    def test_a(self): ...
class TestB:
    def test_a(self): ...
    test_a: None = None
    def test_b(self): ...
""",
    "functions": """
def test_a(): ...
async def test_b(): ...
def helper(): ...
def testing(): ...
""",
    "classes": """
class TestA:
    def test_a(self): ...
    def other(self): ...
class Other:
    def test_a(self): ...
""",
    "nested": """
class TestA:
    class TestB:
        class TestC:
            def test_a(self): ...
    class Other:
        def test_b(self): ...
""",
    "inside-a-function": """
def outer():
    def test_a(): ...
    class TestB:
        def test_b(self): ...
""",
    "try": """
try:
    import nothing_at_all
except ImportError:
    def test_a(): ...
else:
    pass
finally:
    def test_b(): ...
""",
    "with-and-loops": """
import contextlib
with contextlib.nullcontext():
    def test_a(): ...
for i in [1]:
    def test_b(): ...
while True:
    def test_c(): ...
    break
""",
    "match": """
match 1:
    case 1:
        def test_a(): ...
""",
    "if-in-a-class": """
class TestA:
    if True:
        def test_a(self): ...
""",
    "fixtures": """
import pytest
@pytest.fixture
def test_a(): ...
@pytest.fixture(scope='module')
def test_b(): ...
def test_c(test_a): ...
""",
    "kinds-of-methods": """
class TestA:
    @staticmethod
    def test_a(): ...
    @classmethod
    def test_b(cls): ...
    @property
    def test_c(self): ...
""",
    "constructors": """
class TestA:
    def __init__(self): ...
    def test_a(self): ...
class TestB:
    def __new__(cls): ...
    def test_a(self): ...
""",
    "inherited-constructor": """
class Base:
    def __init__(self): ...
class TestA(Base):
    def test_a(self): ...
""",
    "dunder-test": """
class TestA:
    __test__ = False
    def test_a(self): ...
class Other:
    __test__ = True
    def test_a(self): ...
""",
    "inherited-dunder-test": """
class TestA:
    __test__ = False
    def test_a(self): ...
class TestB(TestA): ...
class TestC(TestA):
    __test__ = True
""",
    "dunder-test-of-a-module": """
__test__ = False
def test_a(): ...
""",
    "dunder-test-of-a-function": """
def test_a(): ...
def test_b(): ...
test_a.__test__ = False
""",
    "inherited": """
class Base:
    def test_a(self): ...
class TestA(Base):
    def test_b(self): ...
class TestB(TestA):
    def test_a(self): ...
""",
    "inherited-and-dropped": """
class Base:
    def test_a(self): ...
    def test_b(self): ...
class TestA(Base):
    test_a = None
""",
    "nested-class-inherited": """
class Base:
    class TestIn:
        def test_a(self): ...
class TestA(Base): ...
""",
    "base-in-the-class": """
class TestA:
    class Base:
        def test_a(self): ...
    class TestIn(Base): ...
""",
    "generic-base": """
from typing import Generic, TypeVar
T = TypeVar('T')
class Base(Generic[T]):
    def test_a(self): ...
class TestA(Base[int]): ...
""",
    "base-deleted": """
class TestBase:
    def test_a(self): ...
class TestA(TestBase): ...
del TestBase
""",
    "class-derived-from-its-namesake": """
class TestA:
    def test_a(self): ...
class TestA(TestA):
    def test_b(self): ...
""",
    "unittest": """
import unittest
class A(unittest.TestCase):
    def test_a(self): ...
    def testB(self): ...
    def other(self): ...
    def __init__(self, *a): super().__init__(*a)
""",
    "unittest-by-way-of-a-base": """
from unittest import IsolatedAsyncioTestCase
class A(IsolatedAsyncioTestCase):
    async def test_a(self): ...
class B(A):
    def test_b(self): ...
""",
    "class-in-a-unittest-class": """
import unittest
class A(unittest.TestCase):
    class TestIn:
        def test_a(self): ...
    def test_b(self): ...
""",
    "unittest-turned-off": """
import unittest
class A(unittest.TestCase):
    __test__ = False
    def test_b(self): ...
""",
    "test-case-by-name-only": """
class BaseTestCase:
    def test_a(self): ...
class A(BaseTestCase): ...
class TestB(BaseTestCase): ...
""",
    "defined-twice": """
def test_a(): ...
def test_a(): ...
class TestA:
    def test_a(self): ...
class TestA:
    def test_b(self): ...
""",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", COLLECTED.values(), ids=COLLECTED.keys())
@pytest.mark.parametrize(
    ("functions", "classes"),
    [
        pytest.param("test", "Test", id="default"),
        pytest.param("other *b", "Other ?ase*", id="patterns"),
    ],
)
def test_the_same_tests_that_pytest_collects(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, source: str, functions: str, classes: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # whatever plugins there are do not matter here
    pytester.makeini(f"[pytest]\npython_functions = {functions}\npython_classes = {classes}\n")
    path = pytester.makepyfile(test_sample=source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items, _ = pytester.inline_genitems(path, "-Wignore")
    collected = sorted(item.nodeid.partition("::")[2] for item in items)
    found = names_in(source, functions=tuple(functions.split()), classes=tuple(classes.split()))
    assert sorted(found) == collected


def test_lines_and_order() -> None:
    source = "class TestB:\n    def test_b(self): ...\n\n@mark\ndef test_a(): ...\n"
    assert [(test.name, test.line) for test in find_tests(source)] == [("TestB::test_b", 2), ("test_a", 5)]


def test_the_nearest_base_gives_the_body() -> None:
    source = """
class A:
    def test_x(self): assert "a"
class B(A): ...
class C(A):
    def test_x(self): assert "c"
class TestD(B, C): ...
class TestE(B): ...
"""
    assert [(test.name, test.line) for test in find_tests(source)] == [("TestE::test_x", 3), ("TestD::test_x", 6)]


def test_the_last_definition_wins() -> None:
    twice = "def test_a():\n    assert 1\ndef test_a():\n    assert 2\n"
    assert find_tests(twice)[0].body == find_tests("def test_a():\n    assert 2\n")[0].body


@pytest.mark.parametrize("which", ["assert 1", "assert 2"])
def test_a_change_in_either_branch_is_a_change(which: str) -> None:
    source = "if x:\n    def test_a():\n        assert 1\nelse:\n    def test_a():\n        assert 2\n"
    before, after = find_tests(source), find_tests(source.replace(which, "assert 3"))
    assert before[0].body != after[0].body


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def test_a(:\n", id="syntax"),
        pytest.param("a = 1\0", id="nul"),
        pytest.param("a = '\ud800'", id="lone-surrogate"),
        pytest.param(b"a = '\xff'", id="not-utf-8"),
        pytest.param(b"# coding: klingon\n", id="unknown-coding"),
        pytest.param("a = " + "-" * 200_000 + "1", id="too-deep"),
    ],
)
def test_what_cant_be_parsed_is_a_syntax_error(source: str | bytes) -> None:
    with pytest.raises(SyntaxError):
        find_tests(source)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"\xef\xbb\xbfdef test_a(): ...", id="byte-order-mark"),
        pytest.param("# coding: latin-1\ndef test_a(): 'gr\xfcn'".encode("latin-1"), id="coding-line"),
        pytest.param(b"def test_a(): ...\r\n\x0c\r\n", id="form-feed"),
    ],
)
def test_sources_are_read_as_python_reads_them(source: bytes) -> None:
    assert names_in(source) == ["test_a"]


def test_a_warning_in_the_source_is_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names_in('def test_a():\n    assert "\\d" is "x"\n') == ["test_a"]
