"""What changes the hash of a test, and what does not."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from phase_gate.source.body_hash import HASH_LENGTH, hash_body
from phase_gate.source.module_code import module_code
from phase_gate.source.tests import find_tests, parse_source

DATA = Path(__file__).parents[1] / "data"

# --- tests

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
        pytest.param(change('"off by one"', "'off by one'  # a comment"), id="quotes-and-comment"),
        pytest.param(change('"off by one"', 'u"off by one"'), id="old-prefix"),
        pytest.param(change('"off by one"', 'f"off by one"'), id="f-string-without-fields"),
        pytest.param(
            change("result == (value + 1) * 2", "(\n        result\n        == ((value + 1) * 2)\n    )"), id="lines"
        ),
        pytest.param(change("It works.", "It works well."), id="docstring-changed"),
        pytest.param(change('    """It works."""\n', ""), id="docstring-gone"),
        pytest.param(BODY.replace("test_a", "test_b"), id="renamed"),
    ],
)
def test_looks_do_not_change_the_hash(source: str) -> None:
    assert find_tests(source)[0].body == find_tests(BODY)[0].body


#: Rows that an older Python can't even parse.
NEW_SYNTAX = (
    [pytest.param(change("def test_a(", "def test_a[T]("), id="type-parameters")] if sys.version_info >= (3, 12) else []
)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(change("+ 1", "+ 2"), id="number"),
        pytest.param(change("+ 1", "+ True"), id="true-is-not-1"),
        pytest.param(change("==", ">="), id="comparison-loosened"),
        pytest.param(change(', "off by one"', ""), id="message-gone"),
        pytest.param(change("[1, 2]", "[1]"), id="parameters-shrunk"),
        pytest.param(change("@pytest", "@pytest.mark.skip\n@pytest"), id="decorator-added"),
        pytest.param(change("limit=3", "limit=4"), id="default"),
        pytest.param(change("scale=2.0", "scale=2.1"), id="tolerance"),
        pytest.param(change(" in ", " not in "), id="negated"),
        pytest.param(change("def test_a", "async def test_a"), id="async"),
        pytest.param(change("    result = ", "    return\n    result = "), id="early-return"),
        pytest.param(change('    assert "x"', '    if False:\n        assert "x"'), id="under-a-false-condition"),
        pytest.param(change('    assert "x" in result.name\n', ""), id="assert-gone"),
        *NEW_SYNTAX,
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
    assert [row.hash for row in module_code(tree, tests=hashes)] == golden["module"]
    assert {len(value) for value in hashes.values()} == {HASH_LENGTH}


def test_an_import_is_the_same_on_a_version_that_has_lazy_ones() -> None:
    """Python 3.15 says of each import whether it is lazy."""

    class Newer(ast.Import):
        _fields = ("names", "is_lazy")
        is_lazy: int

    Newer.__name__ = "Import"
    given: dict[str, Any] = {"names": [ast.alias(name="os")], "is_lazy": 0}
    newer = Newer(**given)
    plain = hash_body(ast.Import(names=newer.names))
    assert hash_body(newer) == plain
    newer.is_lazy = 1
    assert hash_body(newer) != plain
