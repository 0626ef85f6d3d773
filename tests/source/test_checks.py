"""What the source of a test says: does it check anything, what does a line do, and who decides that it runs?"""

from __future__ import annotations

import ast
import textwrap

import pytest

from phase_gate.source.checks import (
    asserts_constant,
    fails_anyway,
    find_function,
    has_check,
)
from phase_gate.source.syntax_names import FunctionNode
from phase_gate.source.tests import parse_source


def one_test(body: str) -> str:
    """Return a module with one test of that body, which begins in the second line."""
    return "def test_it(given):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


# --- does it check anything?


def function_in(tree: ast.Module) -> FunctionNode:
    function = find_function(tree, "test_it")
    assert function is not None
    return function


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("assert total([1]) == 1", id="an-assertion"),
        pytest.param("mock.assertEqual(1, 2)", id="a-check-by-something-else"),
        pytest.param("self.assertTotal(1, 2)", id="a-check-of-its-own"),
        pytest.param("with pytest.raises(ValueError):\n    total()", id="raises"),
        pytest.param("with pytest.warns(UserWarning):\n    total()", id="warns"),
        pytest.param("self.assertEqual(total(), 1)", id="unittest"),
        pytest.param("mock.assert_called_once_with(1)", id="a-mock"),
        pytest.param("check_total(1)", id="a-helper-that-checks-by-its-name"),
        pytest.param("expectThat(total()).isOne()", id="a-fluent-check"),
        pytest.param("total().should.equal(1)\nshould_be(1)", id="should"),
        pytest.param("if total() != 1:\n    pytest.fail('no')", id="a-failure-under-a-condition"),
        pytest.param("try:\n    total()\nexcept KeyError:\n    fail('no')", id="a-failure-for-an-error"),
        pytest.param("def inner():\n    assert total()\ninner()", id="in-a-function-inside"),
    ],
)
def test_a_check(body: str) -> None:
    tree = parse_source(one_test(body))
    assert has_check(function_in(tree), tree)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("pass", id="nothing"),
        pytest.param("total([1])", id="a-call"),
        pytest.param("assert True", id="true"),
        pytest.param("self.assertEqual(1, 2)", id="a-check-of-unittest-on-constants"),
    ],
)
def test_no_check(body: str) -> None:
    tree = parse_source(one_test(body))
    assert not has_check(function_in(tree), tree)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("raise NotImplementedError", True, id="an-exception"),
        pytest.param("total()\npytest.fail('todo')", True, id="a-failure-after-a-call"),
        pytest.param("assert False, 'todo'", True, id="false"),
        pytest.param("assert total() == 1\nassert 0", True, id="a-check-and-a-stub"),
        pytest.param("total()", False, id="a-call"),
        pytest.param("assert True", False, id="true"),
        pytest.param("with pytest.raises(OSError):\n    raise OSError", False, id="what-is-waited-for"),
    ],
)
def test_a_stub(body: str, expected: bool) -> None:
    assert fails_anyway(function_in(parse_source(one_test(body)))) is expected


@pytest.mark.parametrize(
    ("helper", "expected"),
    [
        pytest.param("def compare(one, two):\n    assert one == two\n", True, id="that-asserts"),
        pytest.param("def compare(one, two):\n    print(one, two)\n", False, id="that-prints"),
        pytest.param(
            "def compare(one, two):\n    deeper(one)\ndef deeper(one):\n    assert one\n", True, id="deep-down"
        ),
        pytest.param("def compare(one, two):\n    compare(two, one)\n", False, id="that-calls-itself"),
    ],
)
def test_a_helper_in_the_same_file(helper: str, expected: bool) -> None:
    tree = parse_source(helper + one_test("compare(total(), 1)"))
    assert has_check(function_in(tree), tree) is expected


# --- what a line does

LINES = """\
def test_it(given):
    if given:
        assert given == (
            1
        )
    done = False
    assert not 1
    raise ValueError(
        given
    )


assert True
raise SystemExit


class TestC:
    def test_in(self):
        def inner():
            raise KeyError
        total(
            inner
        )
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(3, False, id="an-assertion"),
        pytest.param(7, True, id="a-constant-assertion"),
        pytest.param(8, False, id="a-raise"),
        pytest.param(13, True, id="outside-of-functions"),
        pytest.param(22, False, id="a-call"),
        pytest.param(99, False, id="after-the-end"),
    ],
)
def test_asserts_constant(line: int, expected: bool) -> None:
    assert asserts_constant(parse_source(LINES), line) is expected


# --- who decides that it runs?


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("if total():\n    HERE", True, id="if"),
        pytest.param("with given:\n    HERE", True, id="a-with"),
        pytest.param("try:\n    total()\nexcept ValueError:\n    return\nHERE", True, id="after-a-return"),
        pytest.param("if total():\n    return\nHERE", True, id="after-a-return-under-a-condition"),
        pytest.param("def inner():\n    if total():\n        return\nHERE", False, id="after-a-return-of-another"),
    ],
)
def test_a_failure_under_a_condition_is_a_check(body: str, expected: bool) -> None:
    function = find_function(parse_source(one_test(body.replace("HERE", "raise KeyError"))), "test_it")
    assert function is not None
    assert fails_anyway(function) is not expected


# --- which function

NAMES = """\
def test_a():
    pass


if WINDOWS:
    def test_b():
        pass
else:
    def test_b():
        assert total()


class TestC:
    def test_d(self):
        pass

    class TestE:
        async def test_f(self):
            pass


def test_a():
    assert total()


try:
    pass
except ImportError:
    def test_g():
        pass
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param("test_a", 22, id="the-last-of-two"),
        pytest.param("TestC::test_d", 14, id="a-method"),
        pytest.param("TestC::TestE::test_f", 18, id="a-nested-class"),
        pytest.param("test_d", None, id="a-method-without-its-class"),
    ],
)
def test_find_function(name: str, line: int | None) -> None:
    found = find_function(parse_source(NAMES), name)
    assert (None if found is None else found.lineno) == line
