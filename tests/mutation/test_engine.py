"""Which mutants are made of which lines."""

from __future__ import annotations

import ast
import sys

import pytest

from phase_gate.errors import UsageError
from phase_gate.mutation.engine import count_excused, make_mutants
from phase_gate.mutation.model import Mutant
from phase_gate.source.new_code import Statement, find_new


def mutants_of(source: str, *lines: int) -> list[Mutant]:
    """Return the mutants of the statements that begin in these lines; of all, where none are named."""
    statements = find_new({}, {"calc.py": source})["calc.py"].statements
    chosen = [each for each in statements if not lines or each.line in lines]
    return list(make_mutants("calc.py", source, chosen))


def changes(source: str, *lines: int) -> set[str]:
    return {f"{each.was} -> {each.text}" for each in mutants_of(source, *lines)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("x = a < b", {"a < b -> a <= b", "a < b -> a >= b"}, id="a-comparison"),
        pytest.param("x = a and b", {"a and b -> a or b"}, id="a-connector"),
        pytest.param("x = not a", {"not a -> a"}, id="a-negation"),
        pytest.param("x = a + b", {"a + b -> a - b", "a + b -> a * b"}, id="arithmetic"),
        pytest.param("x = 7", {"7 -> 6", "7 -> 8"}, id="a-number"),
        pytest.param("x = 'on'", {"'on' -> 'XXonXX'"}, id="a-string"),
        pytest.param("x = True", {"True -> False"}, id="a-constant"),
        pytest.param("x = f(a)", {"f(a) -> None"}, id="a-call"),
        pytest.param("x += a", {"x += a -> x = a", "x += a -> x -= a", "x += a -> x *= a"}, id="an-assignment-on-top"),
        pytest.param(
            "x = a < b and not c",
            {"a < b -> a <= b", "a < b -> a >= b", "not c -> c", "a < b and not c -> a < b or not c"},
            id="what-stands-in-another-expression",
        ),
        pytest.param("x = f(g(a))", {"f(g(a)) -> None", "g(a) -> None"}, id="a-call-in-a-call"),
        pytest.param("x: Literal[1] = a", set(), id="an-annotation-has-none"),
        pytest.param("x = a", set(), id="a-name-has-none"),
        pytest.param("x = 7  # pragma: no mutate", set(), id="a-comment-that-says-so"),
    ],
)
def test_a_line_has_these_mutants(line: str, expected: set[str]) -> None:
    assert changes(f"{line}\n") == expected


def test_lines_that_a_comment_excuses_are_counted() -> None:
    source = "a = 1\nb = 2  # pragma: no mutate\nc = (\n    3  # nomut\n)\n"
    statements = find_new({}, {"calc.py": source})["calc.py"].statements
    assert count_excused(source, statements) == 2
    assert changes(source) == {"1 -> 0", "1 -> 2"}


def test_only_chosen_lines_have_mutants() -> None:
    source = "a = 1\nb = 2\nc = 3\n"
    assert changes(source, 2) == {"2 -> 1", "2 -> 3"}
    assert make_mutants("calc.py", source, []) == ()


def test_the_head_of_a_block_is_not_its_body() -> None:
    source = "def f(a):\n    while a < 3:\n        a = a + 1\n    return a\n"
    assert {each.line for each in mutants_of(source, 2)} == {2}
    assert {each.line for each in mutants_of(source, 3)} == {3}


def test_what_is_decorated_has_mutants_and_keeps_its_decorator() -> None:
    source = "class A:\n    @property\n    def price(self):\n        return self.base * 2\n"
    assert changes(source, 4) >= {"self.base * 2 -> self.base / 2", "return self.base * 2 -> return None"}
    assert all("@property" in each.apply(source) for each in mutants_of(source))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = 'ä' + y\n", id="beyond-ascii"),
        pytest.param("x = (\n    a\n    + b\n)\n", id="several-lines"),
        pytest.param("x = a + b\r\ny = 1\r\n", id="other-line-ends"),
        pytest.param("x = 1\n\x0cy = a + b\n", id="a-form-feed"),
        pytest.param("x = f'{a + 1} {b!r}'\n", id="an-f-string"),
        pytest.param("x = '\\n' 'b'\n", id="strings-side-by-side"),
        pytest.param("x = a + b", id="no-end-of-line"),
        pytest.param("def f(a):\n    return g(a)\n", id="two-that-mean-the-same"),
    ],
)
def test_each_mutant_can_be_compiled_differs_and_stands_once(source: str) -> None:
    mutants = mutants_of(source)
    texts = [each.apply(source) for each in mutants]
    assert texts
    dumps = [ast.dump(ast.parse(text)) for text in texts]
    assert len({*dumps, ast.dump(ast.parse(source))}) == len(dumps) + 1
    assert len({each.id for each in mutants}) == len(mutants)
    assert all(each.diff(source).startswith("--- calc.py\n+++ calc.py\n@@ ") for each in mutants)


def test_a_source_that_is_none_has_no_mutants() -> None:
    assert make_mutants("calc.py", "def (:\n", [Statement("x", 1, 1)]) == ()


def test_what_is_missing_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "poodle.mutate", None)
    with pytest.raises(UsageError, match=r"pip install .pytest-phase-gate\[mutation\]."):
        make_mutants("calc.py", "x = 1\n", [Statement("x = 1", 1, 1)])
