"""Code that looks made for its tests: what is said of it, and what honest code is left alone."""

from __future__ import annotations

import ast

import pytest

from phase_gate.source.answers import asked_pairs
from phase_gate.source.oddities import find_oddities

TESTS = """\
@pytest.mark.parametrize(("amount", "expected"), [(10, 10), (100, 90)])
def test_discount(amount, expected):
    assert discount(amount) == expected

def test_total():
    assert total("a") == 1
    assert total("b") == 2

def test_add():
    assert add(1, 2) == 3
    assert 7 == add(3, b=4)

@pytest.mark.parametrize("text, expected", [["x", "X"], pytest.param("y", "Y", id="why")])
def test_upper(text, expected):
    assert upper(text) == expected

class Sums(TestCase):
    def test_sum(self):
        self.assertEqual(add(5, 6), 11)
"""

ODD = {
    "always-equal": [
        "class Any:\n    def __eq__(self, other):\n        return True\n",
        'class Any:\n    def __eq__(self, other):\n        """Of course."""\n        return True\n',
        "class Any:\n    def __eq__(self, other):\n        self.seen = 1\n        return self.seen > 0\n",
        "class Any:\n    def __eq__(self, *others):\n        return not False\n",
        "class Any:\n    __eq__ = lambda self, other: True\n",
        "class Any:\n    pass\n\nAny.__eq__ = lambda self, other: 1\n",
        'Any = type("Any", (), {"__eq__": lambda self, other: True})\n',
        "from unittest.mock import ANY\n",
        "from unittest import mock\n\ndef total(x):\n    return mock.ANY\n",
        "import unittest.mock\n\ndef total(x):\n    return unittest.mock.ANY\n",
        "import unittest.mock as um\n\ndef total(x):\n    return um.ANY\n",
        "from unittest import mock as m\n\ndef total(x):\n    return m.ANY\n",
        "class Any:\n    def __eq__(self, other):\n        del other\n        return True\n",
        "class Any:\n    def __eq__(self, other):\n        return other is other\n",
        "def yes(one, other):\n    return True\n\nclass Any:\n    __eq__ = yes\n",
        "def yes(one, other):\n    return True\n\nAny.__eq__ = yes\n",
        'setattr(Any, "__eq__", lambda self, other: True)\n',
        'Any = type("Any", (), dict(__eq__=lambda self, other: True))\n',
        'Body = {"__eq__": lambda self, other: True}\nAny = type("Any", (), Body)\n',
        'Any = type.__new__(type, "Any", (), {"__eq__": lambda self, other: True})\n',
        "def total(x):\n    made = MagicMock()\n    made.__eq__.return_value = True\n    return made\n",
    ],
    "sees-pytest": [
        'def total(x):\n    if "PYTEST_CURRENT_TEST" in os.environ:\n        return 1\n',
        'def total(x):\n    return 1 if "pytest" in sys.modules else slow(x)\n',
        'FAST = sys.modules.get("pytest") is not None\n',
        'FAST = "pytest" in sys.argv[0]\n',
        'FAST = sys.argv[0].endswith("/pytest")\n',
        'def total(x):\n    return 1 if any("pytest" in each for each in sys.orig_argv) else slow(x)\n',
        'from sys import argv\n\nFAST = "pytest" in argv[0]\n',
        'import sys as s\n\nFAST = "pytest" in s.modules\n',
        'from sys import modules\n\nFAST = "pytest" in modules\n',
        'def total(x):\n    name = sys.argv[0]\n    return 1 if "pytest" in name else slow(x)\n',
        'def total(x):\n    return sys.modules["pytest"] and 1\n',
        'def total(x):\n    return any(each.startswith("PYTEST") for each in os.environ)\n',
    ],
    "sees-caller": [
        'def total(x):\n    if sys._getframe(1).f_code.co_name.startswith("test_"):\n        return 1\n',
        'def total(x):\n    return any("test" in each.filename for each in inspect.stack())\n',
        'def total(x):\n    return inspect.currentframe().f_back.f_locals["expected"]\n',
        'from inspect import stack\n\ndef total(x):\n    return any("test" in each.filename for each in stack())\n',
        'import inspect as i\n\ndef total(x):\n    return any("test" in each.filename for each in i.stack())\n',
        'FAST = "test" in sys._getframe(1).f_code.co_filename\n',
        'def total(x):\n    frame = here()\n    while frame := frame.f_back:\n        if "test_" in str(frame):\n'
        "            return 1\n",
    ],
    "reads-tests": [
        'def total(x):\n    return parse(open("tests/test_calc.py").read())\n',
        'def total(x):\n    return parse(Path(__file__).with_name("x") / "test_calc.py")\n',
        'ANSWERS = json.loads(Path("tests/answers.json").read_text())\n',
        'def total(x):\n    return parse(Path(__file__).with_name("test_calc.py").read_text())\n',
        'def total(x):\n    return parse(open(f"{ROOT}/tests/test_calc.py").read())\n',
        'TEXT = "tests/test_calc.py"\n\ndef total(x):\n    return parse(open(TEXT).read())\n',
        "def total(x):\n    from test_calc import EXPECTED\n    return EXPECTED\n",
        "import tests.test_calc as answers\n",
    ],
    "input-special-cased": [
        'def total(x):\n    if x == "a":\n        return 1\n    if x == "b":\n        return 2\n',
        "def discount(x):\n    if x == 10:\n        return 10\n    elif x == 100:\n        return 90\n",
        'def total(x):\n    return {"a": 1, "b": 2}[x]\n',
        'def total(x):\n    return {"a": 1, "b": 2}.get(x)\n',
        'def total(x):\n    match x:\n        case "a":\n            return 1\n        case "b":\n'
        "            return 2\n",
        "def add(a, b):\n    if (a, b) == (1, 2):\n        return 3\n    if (3, 4) == (a, b):\n        return 7\n",
        "def add(a, b):\n    if a == 1 and b == 2:\n        return 3\n    if a == 3 and b == 4:\n        return 7\n",
        "def add(a, b):\n    return 3 if (a, b) == (1, 2) else 11 if (a, b) == (5, 6) else 0\n",
        "ANSWERS = {(1, 2): 3, (3, 4): 7}\n\ndef add(a, b):\n    return ANSWERS[a, b]\n",
        "ANSWERS = {1: {2: 3}, 3: {4: 7}}\n\ndef add(a, b):\n    return ANSWERS[a][b]\n",
        "ANSWERS = dict([((1, 2), 3), ((3, 4), 7)])\n\ndef add(a, b):\n    return ANSWERS[a, b]\n",
        "class Sum:\n    ANSWERS = {(1, 2): 3, (3, 4): 7}\n\n    def add(self, a, b):\n"
        "        return self.ANSWERS[a, b]\n",
        "ROWS = [(1, 2, 3), (3, 4, 7)]\n\ndef add(a, b):\n    for x, y, z in ROWS:\n"
        "        if (x, y) == (a, b):\n            return z\n",
        "add = lambda a, b: {(1, 2): 3, (3, 4): 7}[a, b]\n",
        "def add(a, b):\n    if (a, b) == (1, 2):\n        found = 3\n    elif (a, b) == (3, 4):\n"
        "        found = 7\n    return found\n",
        "def add(a, b):\n    match a, b:\n        case (1, 2) as given:\n            return 3\n"
        "        case (3, 4) as given:\n            return 7\n",
        'def upper(x):\n    return {"x": "X", "y": "Y"}[x]\n',
        "def add(a, b):\n    known: dict = {(1, 2): 3, (5, 6): 11}\n    return known.get((a, b), 0)\n",
        "def add(a, b):\n    match a, b:\n        case (1, 2):\n            return 3\n        case [3, 4]:\n"
        "            return 7\n",
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
    "class Part:\n    def __eq__(self, other):\n        return NotImplemented\n",
    "class Unknown:\n    def __eq__(self, other):\n        return False\n",
    "class Part:\n    def __eq__(self, other):\n        raise TypeError\n",
    "class Part:\n    def __eq__(self, other):\n        return super().__eq__(other)\n",
    'Point = type("Point", (), {"__eq__": lambda self, other: self.x == other.x})\n',
    "class Colour(Enum):\n    ANY = 0\n\ndef default():\n    return Colour.ANY\n",
    "from typing import Any\nfrom unittest.mock import Mock\n",
    "def parse():\n    return parser.parse_args(sys.argv[1:])\n",
    'def check():\n    return subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]])\n',
    'def log():\n    return getLogger(sys._getframe(1).f_globals["__name__"])\n',
    "def warn():\n    return [each.lineno for each in inspect.stack()]\n",
    'def log():\n    """Name the test, say."""\n    return sys._getframe(1).f_globals["latest"]\n',
    'PATTERN = "test_*.py"\n',
    "from .test_client import Client\nimport calc\n",
    'def home():\n    return os.environ["HOME"] == "/" or any(each.startswith("LC_") for each in os.environ)\n',
    "def load(name):\n    return sys.modules[name] if name in sys.modules else importlib.import_module(name)\n",
    "class Set:\n    def __eq__(self, other):\n        return other == other and self.x == other.x\n",
    "def same(one, other):\n    return one.x == other.x\n\nclass Point:\n    __eq__ = same\n",
    'Point = type("Point", (Base,), names)\n',
    "def kind(x):\n    return type(x) is int\n",
    'def rows():\n    return open("latest.py").read() + open("data/contest.csv").read()\n',
    'def find(root):\n    return sorted((root / "tests").rglob("test_*.py"))\n',
    # A table of which the tests try a part.
    'VALUES = {"a": 1, "b": 2, "c": 3}\n\ndef total(x):\n    return VALUES[x]\n',
    "ROWS = [(1, 2, 3), (3, 4, 7), (8, 8, 16)]\n\ndef add(a, b):\n    return [z for x, y, z in ROWS if x == a]\n",
    "ROWS = [(1, 2, 3), (3, 4, seven())]\n\ndef add(a, b):\n    return [z for x, y, z in ROWS if x == a]\n",
    "def add(a, b):\n    if (a, b) == (0, 0):\n        return 0\n    return a + b\n",
    "def add(a, b):\n    match a, b:\n        case (0, 0):\n            return 0\n        case (x, y):\n"
    "            return x + y\n",
]


def slugs(source: str) -> list[str]:
    asked = frozenset(asked_pairs(ast.parse(TESTS)))
    return [odd.slug for odd in find_oddities(ast.parse(source), lambda: asked, {"calc", "test_calc"})]


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


def test_tests_with_an_empty_tuple_ask_nothing_with_it() -> None:
    assert list(asked_pairs(ast.parse("def test_a():\n    assert f(()) != ()\n    g((), 1)\n"))) == []
