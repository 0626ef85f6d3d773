"""Tests as the source has them: which there are, and what changes their hash."""

from __future__ import annotations

import ast
import json
import re
import sys
import warnings
from pathlib import Path

import pytest

from pytest_phase_gate.core.source_tests import (
    HASH_LENGTH,
    duplicate_names,
    find_tests,
    hash_body,
    module_level_hash,
    parse_source,
)

DATA = Path(__file__).parents[1] / "data"


def names_in(source: str | bytes, **patterns: tuple[str, ...]) -> list[str]:
    return [test.name for test in find_tests(source, **patterns)]


# --- hashes

BODY = '''
@pytest.mark.parametrize("value", [1, 2])
def test_a(value, tmp_path, limit=3):
    """It works."""
    result = compute(value, scale=2.0)
    assert result == (value + 1) * 2, "off by one"
    assert "x" in result.name
'''


def change(old: str, new: str) -> str:
    assert old in BODY
    return BODY.replace(old, new)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("\n\n# moved down\nimport os\n" + BODY, id="moved"),
        pytest.param(BODY.replace("    ", "\t"), id="tabs"),
        pytest.param(BODY.replace("\n", "\r\n"), id="crlf"),
        pytest.param(change('"off by one"', "'off by one'  # a comment"), id="quotes-and-comment"),
        pytest.param(change('"off by one"', '"off " "by one"'), id="split-string"),
        pytest.param(change('"off by one"', 'u"off by one"'), id="old-prefix"),
        pytest.param(change('"off by one"', 'f"off by one"'), id="f-string-without-fields"),
        pytest.param(change('"off by one"', '"off\\x20by one"'), id="escape"),
        pytest.param(change("[1, 2]", "[0x1, (2),]"), id="number-format-parentheses-trailing-comma"),
        pytest.param(change("2.0", "2.00"), id="float-format"),
        pytest.param(
            change("result == (value + 1) * 2", "(\n        result\n        == ((value + 1) * 2)\n    )"), id="lines"
        ),
        pytest.param(change("It works.", "It works well."), id="docstring-changed"),
        pytest.param(change('    """It works."""\n', ""), id="docstring-gone"),
        pytest.param(BODY.replace("test_a", "test_b"), id="renamed"),
        pytest.param(change('"value", [1', '\n    "value",\n    [1'), id="decorator-over-lines"),
        pytest.param(change("\n    assert", "\n\n    # why\n    assert"), id="blank-lines"),
    ],
)
def test_looks_do_not_change_the_hash(source: str) -> None:
    assert find_tests(source)[0].body == find_tests(BODY)[0].body


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(change("+ 1", "+ 2"), id="number"),
        pytest.param(change("+ 1", "+ True"), id="true-is-not-1"),
        pytest.param(change("+ 1", "+ 1.0"), id="float-is-not-int"),
        pytest.param(change("+ 1", "+ 1j"), id="complex"),
        pytest.param(change("+ 1", '+ "1"'), id="text-is-not-number"),
        pytest.param(change("+ 1", "+ -1"), id="sign"),
        pytest.param(change('"x"', 'b"x"'), id="bytes-are-not-text"),
        pytest.param(change('"x"', "'X'"), id="case"),
        pytest.param(change('"x"', "None"), id="none"),
        pytest.param(change('"x"', "..."), id="ellipsis"),
        pytest.param(change('"x"', "x"), id="name-is-not-text"),
        pytest.param(change("==", ">="), id="comparison-loosened"),
        pytest.param(change("+ 1", "- 1"), id="operator"),
        pytest.param(change("(value + 1) * 2", "value + 1 * 2"), id="parentheses-that-mean-something"),
        pytest.param(change(', "off by one"', ""), id="message-gone"),
        pytest.param(
            change('result == (value + 1) * 2, "off by one"', '(result == (value + 1) * 2, "off by one")'),
            id="assert-on-a-tuple",
        ),
        pytest.param(change("[1, 2]", "[1]"), id="parameters-shrunk"),
        pytest.param(change("[1, 2]", "(1, 2)"), id="list-is-not-tuple"),
        pytest.param(change("@pytest", "@pytest.mark.skip\n@pytest"), id="decorator-added"),
        pytest.param(change('@pytest.mark.parametrize("value", [1, 2])\n', ""), id="decorator-gone"),
        pytest.param(change("tmp_path, ", ""), id="fixture-gone"),
        pytest.param(change("tmp_path", "tmpdir"), id="other-fixture"),
        pytest.param(change("value, tmp_path", "tmp_path, value"), id="order-of-arguments"),
        pytest.param(change("limit=3", "limit=4"), id="default"),
        pytest.param(change("limit=3", "*, limit=3"), id="keyword-only"),
        pytest.param(change("scale=2.0", "scale=2.1"), id="tolerance"),
        pytest.param(change("scale=2.0", "**{'scale': 2.0}"), id="keyword-unpacked"),
        pytest.param(change("result.name", "result.names"), id="attribute"),
        pytest.param(change(" in ", " not in "), id="negated"),
        pytest.param(change("def test_a", "async def test_a"), id="async"),
        pytest.param(change("    result = ", "    return\n    result = "), id="early-return"),
        pytest.param(change("    result = ", "    return None\n    result = "), id="early-return-of-none"),
        pytest.param(change('    assert "x"', '    if False:\n        assert "x"'), id="under-a-false-condition"),
        pytest.param(change('    assert "x" in result.name\n', ""), id="assert-gone"),
        pytest.param(change('    assert "x"', '    "a string"\n    assert "x"'), id="a-string-that-is-no-docstring"),
        pytest.param(change("(value, tmp_path, limit=3)", "(value, tmp_path, limit=3) -> None"), id="annotation"),
    ],
)
def test_meaning_changes_the_hash(source: str) -> None:
    (test,) = find_tests(source)
    assert test.body != find_tests(BODY)[0].body


def hash_of(expression: str) -> str:
    return hash_body(ast.parse(expression, mode="eval"))


def test_no_two_of_these_are_alike() -> None:
    expressions = re.findall(
        r"\S+",
        """
        0 1 -1 1.0 1e999 True False None ... "" "1" "None" b"" b"1" 1j 0j 0.0 -0.0 a "a" (a,) [a] {a} a.b a[b] a(b)
        f"{a}" f"{a!r}" f"{a:}" f"{a:b}" f"{a}b" f"b{a}" f"{a=}" "{a}" {} () [] {a:b} {**a} a<b b<a a<=b
        lambda:a lambda*a:a lambda**a:a lambda*,a:a lambda*,a=b:a a[:b] a[b:] a[::b] a[b,] a(*b) a(**b) a(b=b)
        """,
    )
    assert len({hash_of(expression) for expression in expressions}) == len(expressions)


def test_values_that_no_source_can_spell() -> None:
    values = (0.0, -0.0, float("nan"), float("inf"), complex(0.0, -0.0), complex(0.0, 0.0), complex(-0.0, 0.0))
    assert len({hash_body(ast.Constant(value)) for value in values}) == len(values)
    assert hash_body(ast.Constant(float("nan"))) == hash_body(ast.Constant(float("nan")))


def test_neighbours_do_not_run_together() -> None:
    assert hash_of("['a', 'b']") != hash_of("['a><str 1:b']") != hash_of("['ab', '']")
    assert hash_of("f(a)(b)") != hash_of("f(a(b))")


def test_large_and_deep_sources() -> None:
    assert hash_of("0x" + "f" * 10_000) != hash_of("0x" + "f" * 9_999)
    deep = "def test_a():\n    assert " + "+".join(["1"] * 800)
    assert find_tests(deep)[0].body != find_tests(deep + "+1")[0].body


def test_a_docstring_that_is_read_is_data() -> None:
    source = 'def test_a():\n    """usage: tool"""\n    assert render() == test_a.__doc__\n'
    assert find_tests(source)[0].body != find_tests(source.replace("usage", "help"))[0].body


def test_hashes_are_the_golden_ones() -> None:
    """The same under every version of Python.

    A difference means that every stored inventory is void: change the golden file only on purpose.
    """
    tree = parse_source((DATA / "body-hash-sample.py.txt").read_bytes())
    hashes = {test.name: test.body for test in find_tests(tree)}
    golden = json.loads((DATA / "body-hashes.json").read_text("utf-8"))
    assert hashes == golden["tests"]
    assert module_level_hash(tree) == golden["module"]
    assert {len(value) for value in hashes.values()} == {HASH_LENGTH}


# --- code around the tests

MODULE = '''
"""Tests of a."""
import os
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


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param("assert machine", "assert not machine", False, id="body-of-a-test"),
        pytest.param("assert self.a", "assert 1", False, id="body-of-a-method"),
        pytest.param("class TestB", "def test_new():\n    assert 1\n\nclass TestB", False, id="new-test"),
        pytest.param("def test_c", "def test_new(self): ...\n\n    def test_c", False, id="new-method"),
        pytest.param("class TestB", "class TestNew:\n    def test_a(self): ...\n\nclass TestB", False, id="new-class"),
        pytest.param(
            "class TestB",
            'class TestNew:\n    "Doc."\n    class TestIn:\n        def test_a(self): ...\n\nclass TestB',
            False,
            id="new-nested-class-with-docstring",
        ),
        pytest.param(
            "class TestB", "class TestNew(Base):\n    def test_a(self): ...\n\nclass TestB", True, id="new-derived"
        ),
        pytest.param("class TestB", "class Helper:\n    pass\n\nclass TestB", True, id="new-empty-helper"),
        pytest.param(
            "class TestB", 'class Helper:\n    "Doc."\n\nclass TestB', True, id="new-helper-with-a-docstring-only"
        ),
        pytest.param(
            "class TestB", "class TestNew:\n    def setup_method(self): ...\n\nclass TestB", True, id="new-setup"
        ),
        pytest.param("import os\n", "# why\nimport os  # this\n\n\n", False, id="comments-and-blank-lines"),
        pytest.param("Tests of a.", "All tests of a.", False, id="docstring-of-the-module"),
        pytest.param("Builds one.", "Builds two.", False, id="docstring-of-a-fixture"),
        pytest.param("Group.", "Other group.", False, id="docstring-of-a-class"),
        pytest.param("import os", "import sys", True, id="import"),
        pytest.param("LIMIT = 3", "LIMIT = 4", True, id="constant"),
        pytest.param("return LIMIT", "return 0", True, id="fixture"),
        pytest.param("def machine", "def machine_two", True, id="name-of-a-fixture"),
        pytest.param("@pytest.fixture", "@pytest.fixture(autouse=True)", True, id="scope-of-a-fixture"),
        pytest.param("self.a = 1", "self.a = 2", True, id="setup-method"),
        pytest.param("size = 1", "size = 2", True, id="attribute-of-a-class"),
        pytest.param("class TestB", "@pytest.mark.skip\nclass TestB", True, id="mark-of-a-class"),
        pytest.param("class TestB", "class TestB(Base)", True, id="base-of-a-class"),
        pytest.param("def test_a", "def helper_a", True, id="test-turned-into-a-helper"),
    ],
)
def test_module_level_hash(old: str, new: str, changes: bool) -> None:
    assert MODULE.count(old) == 1
    before, after = (module_level_hash(parse_source(source)) for source in (MODULE, MODULE.replace(old, new)))
    assert (before != after) is changes


# --- which tests there are

#: Each of these is given to pytest itself, too, which has the last word.
COLLECTED = {
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
    "if": """
if True:
    def test_a(): ...
else:
    def test_a(): ...
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
    "base-with-a-dot": """
class Outer:
    class Inner:
        def test_a(self): ...
class TestA(Outer.Inner): ...
class TestB(Outer): ...
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
    "function-deleted": """
def test_a(): ...
def test_b(): ...
del test_a
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
    ("source", "expected"),
    [
        pytest.param("def test_a(): ...\ndef test_b(): ...", (), id="none"),
        pytest.param("def test_b(): ...\ndef test_a(): ...\n" * 2, ("test_a", "test_b"), id="functions"),
        pytest.param("def helper(): ...\ndef helper(): ...", (), id="helpers-do-not-matter"),
        pytest.param(
            "class TestA:\n    def test_a(self): ...\n    def test_a(self): ...", ("TestA::test_a",), id="methods"
        ),
        pytest.param(
            "class TestA:\n    def test_a(self): ...\nclass TestA:\n    def test_b(self): ...",
            ("TestA::test_a",),
            id="tests-of-a-hidden-class",
        ),
        pytest.param("def test_a(): ...\nclass test_a: ...", ("test_a",), id="hidden-by-a-class"),
        pytest.param("if x:\n    def test_a(): ...\nelse:\n    def test_a(): ...", (), id="if-and-else"),
        pytest.param("if x:\n    def test_a(): ...\nelif y:\n    def test_a(): ...", (), id="if-and-elif"),
        pytest.param("try:\n    def test_a(): ...\nexcept E:\n    def test_a(): ...", (), id="try-and-except"),
        pytest.param("try:\n    def test_a(): ...\nfinally:\n    def test_a(): ...", ("test_a",), id="try-and-finally"),
        pytest.param(
            "match x:\n    case 1:\n        def test_a(): ...\n    case 2:\n        def test_a(): ...", (), id="cases"
        ),
        pytest.param("if x:\n    def test_a(): ...\nif y:\n    def test_a(): ...", ("test_a",), id="two-ifs"),
        pytest.param("def test_a(): ...\nif x:\n    def test_a(): ...", ("test_a",), id="maybe-hidden"),
        pytest.param("if x:\n    def test_a(): ...\n    def test_a(): ...", ("test_a",), id="twice-in-a-branch"),
        pytest.param("def test_a(): ...\ndel test_a\ndef test_b(): ...", (), id="deleted-is-not-hidden"),
        pytest.param(
            "class A:\n    def test_a(self): ...\nclass TestB(A):\n    def test_a(self): ...", (), id="overridden"
        ),
    ],
)
def test_duplicate_names(source: str, expected: tuple[str, ...]) -> None:
    assert duplicate_names(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def test_a(:\n", id="syntax"),
        pytest.param("def test_a():\nassert 1\n", id="indentation"),
        pytest.param("a = 1\0", id="nul"),
        pytest.param(b"a = 1\0", id="nul-in-bytes"),
        pytest.param("a = '\ud800'", id="lone-surrogate"),
        pytest.param(b"a = '\xff'", id="not-utf-8"),
        pytest.param(b"# coding: klingon\n", id="unknown-coding"),
        pytest.param("(" * 10_000, id="too-many-parentheses"),
        pytest.param("a = " + "-" * 200_000 + "1", id="too-deep"),
        pytest.param("print 1", id="python-2"),
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


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax")
def test_type_parameters_change_the_hash() -> None:
    one, two = (find_tests(f"def test_a{params}(x): ...")[0].body for params in ("", "[T]"))
    assert one != two
