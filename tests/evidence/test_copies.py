"""Statements of a text, one a line: whatever the wrapping, the comments and the version of Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import phase_gate
from phase_gate.evidence.quality.copies import CodeLine, code_lines


def texts(source: str) -> list[str]:
    return [" ".join(line.text.split()) for line in code_lines(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("# only a comment\n\n\n", [], id="only-a-comment"),
        pytest.param("x = 1  # one\ny = 2", ["x = 1", "y = 2"], id="comments-are-none"),
        pytest.param("x = '#'\n", ["x = '#'"], id="a-hash-in-a-string-is-no-comment"),
        pytest.param("x = 1; y = 2\n", ["x = 1", "y = 2"], id="two-on-one-line"),
        pytest.param("x = ';'\n", ["x = ';'"], id="a-semicolon-in-a-string"),
        pytest.param("f(\n    1,  # one\n    2,\n)\n", ["f( 1, 2, )"], id="wrapped-in-brackets"),
        pytest.param("x = 1 + \\\n    2\n", ["x = 1 + \\ 2"], id="joined-by-a-backslash"),
        pytest.param('"""Doc.\n\nx = 1\n"""\nx = 2\n', ["x = 2"], id="a-docstring-is-none"),
        pytest.param('def f():\n    r"""Doc."""\n    return 1\n', ["def f():", "return 1"], id="a-raw-docstring"),
        pytest.param('x = """\ny = 1\n"""\n', ['x = """ y = 1 """'], id="a-long-string-is-a-value"),
        pytest.param("x = 'it\\'s'\ny = 1\n", ["x = 'it\\'s'", "y = 1"], id="an-escaped-quote"),
        pytest.param('x = """a "quoted" word"""\n', ['x = """a "quoted" word"""'], id="quotes-inside"),
        pytest.param(
            'x = f"{d["("]}"\ny = [1]\ndef f(): pass\n',
            ['x = f"{d["("]}" y = [1]', "def f(): pass"],
            id="a-bracket-in-an-inner-string-reaches-no-further-than-the-next-def",
        ),
        pytest.param("x = 1\r\ny = 2\r\n", ["x = 1", "y = 2"], id="line-ends-of-another-system"),
        pytest.param("def f[T](x: T) -> T: ...\n", ["def f[T](x: T) -> T: ..."], id="type-parameters"),
        pytest.param(
            "try:\n    pass\nexcept* E:\n    pass\n", ["try:", "pass", "except* E:", "pass"], id="except-star"
        ),
        pytest.param('x = t"{name}"\n', ['x = t"{name}"'], id="a-template-string"),
    ],
)
def test_statements(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


def test_each_has_its_line_and_indentation() -> None:
    source = "def f():\n    # why\n    if (\n        x\n    ):\n\treturn 1\n\n\ny = 2; z = 3\n"
    found = [(line.number, line.indent) for line in code_lines(source)]
    assert found == [(1, 0), (3, 4), (6, 8), (9, 0), (9, 0)]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param("f(1, 2)", "f(\n    1,\n    2,\n)", True, id="wrapped"),
        pytest.param("x  =  1", "x = 1", True, id="spaces"),
        pytest.param("x = 1  # why", "x = 1", True, id="a-comment"),
        pytest.param("x = 1", "x = 2", False, id="another-value"),
        pytest.param("x = 'a'", "x = 'b'", False, id="another-text"),
        pytest.param("x = 1", "y = 1", False, id="another-name"),
    ],
)
def test_the_same_code_has_the_same_mark(one: str, other: str, is_same: bool) -> None:
    (first,), (second,) = code_lines(one), code_lines(other)
    assert (first.mark == second.mark) is is_same


def test_it_agrees_with_the_parser_about_our_own_sources() -> None:
    for path in sorted(Path(phase_gate.__file__).parent.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines = {line.number for line in code_lines(source)}
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
        statements = {node.lineno for node in nodes if not is_words(node)}
        assert statements <= lines, path


def is_words(node: ast.stmt) -> bool:
    """A docstring; and `...` behind a wrapped head, which has no line of its own."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str) or node.value.value is ...


def test_a_line_is_a_value() -> None:
    assert code_lines("x = 1") == [CodeLine(1, 0, "x = 1")]
