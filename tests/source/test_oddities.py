"""Code that looks made for its tests: what is said of it, and what honest code is left alone."""

from __future__ import annotations

import ast

import pytest

from phase_gate.source.oddities import asked_pairs, find_oddities

TESTS = """\
@pytest.mark.parametrize(("amount", "expected"), [(10, 10), (100, 90)])
def test_discount(amount, expected):
    assert discount(amount) == expected

def test_total():
    assert total("a") == 1
    assert total("b") == 2
"""

ODD = {
    "always-equal": [
        "class Any:\n    def __eq__(self, other):\n        return True\n",
        'class Any:\n    def __eq__(self, other):\n        """Of course."""\n        return True\n',
    ],
    "sees-pytest": [
        'def total(x):\n    if "PYTEST_CURRENT_TEST" in os.environ:\n        return 1\n',
        'def total(x):\n    return 1 if "pytest" in sys.modules else slow(x)\n',
        'FAST = sys.modules.get("pytest") is not None\n',
    ],
    "input-special-cased": [
        'def total(x):\n    if x == "a":\n        return 1\n    if x == "b":\n        return 2\n',
        "def discount(x):\n    if x == 10:\n        return 10\n    elif x == 100:\n        return 90\n",
        'def total(x):\n    return {"a": 1, "b": 2}[x]\n',
        'def total(x):\n    return {"a": 1, "b": 2}.get(x)\n',
        'def total(x):\n    match x:\n        case "a":\n            return 1\n        case "b":\n'
        "            return 2\n",
    ],
}

HONEST = [
    "class Point:\n    def __eq__(self, other):\n        return isinstance(other, Point) and self.x == other.x\n",
    'def total(x):\n    if x == "":\n        return 0\n    return ord(x) - 96\n',
    'def total(x):\n    if x == "a":\n        return 1\n    return ord(x) - 96\n',
    'def name(code):\n    return {"de": "German", "fr": "French"}[code]\n',
    'def roman(n):\n    if n == 1:\n        return "I"\n    if n == 5:\n        return "V"\n',
    'HELP = "run pytest to see"\n',
    "import sys\nWORDS = sys.modules.get(name)\n",
]


def slugs(source: str) -> list[str]:
    asked = frozenset(asked_pairs(ast.parse(TESTS)))
    return [odd.slug for odd in find_oddities(ast.parse(source), lambda: asked)]


@pytest.mark.parametrize(("slug", "source"), [(slug, source) for slug, sources in ODD.items() for source in sources])
def test_says_what_looks_odd(slug: str, source: str) -> None:
    assert slugs(source) == [slug]


@pytest.mark.parametrize("source", HONEST)
def test_leaves_honest_code_alone(source: str) -> None:
    assert slugs(source) == []


def test_reads_the_tests_only_where_something_is_answered() -> None:
    asked = 0

    def ask() -> frozenset[tuple[str, str]]:
        nonlocal asked
        asked += 1
        return frozenset()

    assert list(find_oddities(ast.parse(HONEST[1]), ask)) == []
    assert asked == 0


def test_names_the_line() -> None:
    (odd,) = find_oddities(ast.parse("\n\n" + ODD["sees-pytest"][0]))
    assert (odd.line, odd.detail) == (4, "asks for PYTEST_CURRENT_TEST: it can tell that a test runs")
