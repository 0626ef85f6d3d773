"""What a module's source says about criteria: its marks, and which of its tests are copies of each other."""

from __future__ import annotations

import ast

import pytest

from phase_gate.source.criterion_marks import criteria_in_source, likeness_in_source, skips_in_source


@pytest.mark.parametrize(
    ("source", "is_skipped"),
    [
        pytest.param("@pytest.mark.skip\ndef test_a(): ...", True, id="without-a-reason"),
        pytest.param('@unittest.skip("later")\ndef test_a(): ...', True, id="of-unittest"),
        pytest.param('pytestmark = [pytest.mark.skip("later")]\ndef test_a(): ...', True, id="the-whole-module"),
        pytest.param("@pytest.mark.skip\nclass TestA:\n    def test_a(self): ...", True, id="a-class"),
        pytest.param("LATER = pytest.mark.skip\n@LATER\ndef test_a(): ...", True, id="with-a-short-name"),
        pytest.param('@pytest.mark.skipif(WINDOWS, reason="")\ndef test_a(): ...', False, id="under-a-condition"),
        pytest.param("@pytest.mark.slow\ndef test_a(): ...", False, id="another-mark"),
        pytest.param("@pytest.mark.skip\ndef test_b(): ...\ndef test_a(): ...", False, id="another-test"),
    ],
)
def test_which_tests_are_always_skipped(source: str, is_skipped: bool) -> None:
    names = {name.rpartition("::")[2] for name in skips_in_source(ast.parse(source))}
    assert ("test_a" in names) is is_skipped


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('@pytest.mark.criterion("AC-1")\ndef test_a(): ...', {"test_a": ("AC-1",)}, id="a-function"),
        pytest.param('@mark.criterion("AC-1")\nasync def test_a(): ...', {"test_a": ("AC-1",)}, id="a-coroutine"),
        pytest.param(
            '@pytest.mark.criterion("AC-1", "AC-2")\ndef test_a(): ...',
            {"test_a": ("AC-1", "AC-2")},
            id="two-in-a-mark",
        ),
        pytest.param(
            '@pytest.mark.criterion("AC-1")\n@pytest.mark.slow\n@pytest.mark.criterion("AC-2")\ndef test_a(): ...',
            {"test_a": ("AC-1", "AC-2")},
            id="two-marks",
        ),
        pytest.param(
            '@pytest.mark.criterion("AC-1")\nclass TestA:\n    def test_a(self): ...',
            {"TestA::test_a": ("AC-1",)},
            id="a-class",
        ),
        pytest.param(
            'class TestA:\n    pytestmark = pytest.mark.criterion("AC-1")\n    def test_a(self): ...',
            {"TestA::test_a": ("AC-1",)},
            id="pytestmark-of-a-class",
        ),
        pytest.param(
            '@pytest.mark.criterion("AC-1")\nclass TestA:\n    class TestB:\n        @pytest.mark.criterion("AC-2")\n'
            "        def test_a(self): ...\n    def test_b(self): ...",
            {"TestA::TestB::test_a": ("AC-2", "AC-1"), "TestA::test_b": ("AC-1",)},
            id="a-class-in-a-class",
        ),
        pytest.param(
            'pytestmark = pytest.mark.criterion("AC-1")\ndef test_a(): ...', {"test_a": ("AC-1",)}, id="a-module"
        ),
        pytest.param(
            'pytestmark: list = [pytest.mark.slow, pytest.mark.criterion("AC-1")]\ndef test_a(): ...',
            {"test_a": ("AC-1",)},
            id="a-module-with-several-marks",
        ),
        pytest.param(
            'def test_a(): ...\npytestmark = (pytest.mark.criterion("AC-1"),)', {"test_a": ("AC-1",)}, id="at-the-end"
        ),
        pytest.param(
            'criterion = pytest.mark.criterion\n@criterion("AC-1")\ndef test_a(): ...',
            {"test_a": ("AC-1",)},
            id="a-mark-with-a-short-name",
        ),
        pytest.param(
            'ADDS = pytest.mark.criterion("AC-1")\n@ADDS\ndef test_a(): ...',
            {"test_a": ("AC-1",)},
            id="a-mark-in-a-name",
        ),
        pytest.param(
            'ADDS = "AC-1"\n@pytest.mark.criterion(ADDS)\ndef test_a(): ...',
            {"test_a": ("AC-1",)},
            id="an-id-in-a-name",
        ),
        pytest.param(
            '@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.criterion("AC-1")),\n'
            '    pytest.param(2, marks=[pytest.mark.criterion("AC-2")]), 3])\ndef test_a(n): ...',
            {"test_a": ("AC-1", "AC-2")},
            id="parameters",
        ),
        pytest.param(
            'if True:\n    @pytest.mark.criterion("AC-1")\n    def test_a(): ...\nelse:\n    def test_b(): ...',
            {"test_a": ("AC-1",)},
            id="under-a-condition",
        ),
        pytest.param("@pytest.mark.criterion(1)\ndef test_a(): ...", {}, id="no-text"),
        pytest.param("@pytest.mark.criterion(next_id())\ndef test_a(): ...", {}, id="made-at-run-time"),
        pytest.param('@pytest.mark.criteria("AC-1")\ndef test_a(): ...', {}, id="another-mark"),
        pytest.param("def test_a(): ...", {}, id="no-mark"),
    ],
)
def test_marks(source: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert criteria_in_source(ast.parse(source)) == expected


def test_a_long_chain_of_conditions_is_no_trouble() -> None:
    # `elif` nests: a walk that calls itself would end here.
    inner: list[ast.stmt] = [*ast.parse('@pytest.mark.criterion("AC-1")\ndef test_a(): ...').body]
    for _ in range(5000):
        inner = [ast.If(test=ast.Name("a"), body=[ast.Pass()], orelse=inner)]
    assert criteria_in_source(ast.Module(body=inner, type_ignores=[])) == {"test_a": ("AC-1",)}


CHECK = "assert total([1]) == 1"
IMPORT = "from price import total\n"


def are_alike(first: str, second: str | None = None) -> bool:
    """Tell whether the test `a` of one module is a copy of `b`, of the same or another one."""
    one = likeness_in_source(ast.parse(first))
    other = one if second is None else likeness_in_source(ast.parse(second))
    (found,) = [value for name, value in one.items() if name.endswith("test_a")]
    (copy,) = [value for name, value in other.items() if name.endswith("test_b")]
    return found == copy


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(f"def test_a():\n    {CHECK}", f"def test_b():\n    {CHECK}", id="the-same-words"),
        pytest.param(
            f"def test_a():\n    {CHECK}",
            "def test_b():  # b\n    assert (total( [ 1 ] )\n        ==  1)",
            id="formatted",
        ),
        pytest.param(
            f"def test_a():\n    {CHECK}", f'def test_b():\n    """Nothing."""\n    {CHECK}', id="a-docstring"
        ),
        pytest.param(
            f'@pytest.mark.criterion("AC-1")\ndef test_a():\n    {CHECK}',
            f'@pytest.mark.criterion("AC-2")\ndef test_b():\n    {CHECK}',
            id="under-two-ids",
        ),
        pytest.param(
            f"class TestA:\n    def test_a(self):\n        {CHECK}",
            f"class TestB:\n    def test_b(self):\n        {CHECK}",
            id="in-two-classes",
        ),
        pytest.param(
            f'class TestA:\n    pytestmark = pytest.mark.criterion("AC-1")\n    def test_a(self):\n        {CHECK}',
            f'@pytest.mark.criterion("AC-2")\nclass TestB:\n    def test_b(self):\n        {CHECK}\n'
            "    def test_more(self):\n        assert total([]) == 0",
            id="in-two-classes-with-marks-and-other-tests",
        ),
        pytest.param(
            f'pytestmark = pytest.mark.criterion("AC-1")\ndef test_a():\n    {CHECK}',
            f'pytestmark = [pytest.mark.criterion("AC-2")]\ndef test_b():\n    {CHECK}',
            id="in-two-modules-with-marks",
        ),
    ],
)
def test_copies(first: str, second: str) -> None:
    assert are_alike(first, second)


def test_copies_in_one_module() -> None:
    assert are_alike(f"{IMPORT}def test_a():\n    {CHECK}\ndef test_b():\n    {CHECK}")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(f"def test_a():\n    {CHECK}", "def test_b():\n    assert total([2]) == 2", id="other-words"),
        pytest.param(
            f"{IMPORT}def test_a():\n    {CHECK}",
            f"from cost import total\ndef test_b():\n    {CHECK}",
            id="another-import",
        ),
        pytest.param(
            f"import price as total\ndef test_a():\n    {CHECK}",
            f"import cost as total\ndef test_b():\n    {CHECK}",
            id="another-module-under-the-same-name",
        ),
        pytest.param(
            f"from price import *\ndef test_a():\n    {CHECK}",
            f"from cost import *\ndef test_b():\n    {CHECK}",
            id="a-star",
        ),
        pytest.param(
            f"try:\n    from price import total\nexcept ImportError:\n    pass\ndef test_a():\n    {CHECK}",
            f"try:\n    from cost import total\nexcept ImportError:\n    pass\ndef test_b():\n    {CHECK}",
            id="another-import-in-a-try",
        ),
        pytest.param(
            "PRICES = [1]\ndef test_a():\n    assert total(PRICES) == 1",
            "PRICES = [2]\ndef test_b():\n    assert total(PRICES) == 1",
            id="another-constant",
        ),
        pytest.param(
            f"{IMPORT}def check():\n    {CHECK}\ndef test_a():\n    check()",
            f"from cost import total\ndef check():\n    {CHECK}\ndef test_b():\n    check()",
            id="a-helper-that-uses-another-import",
        ),
        pytest.param(
            "@pytest.fixture\ndef total():\n    return 1\ndef test_a(total):\n    assert total",
            "@pytest.fixture\ndef total():\n    return 2\ndef test_b(total):\n    assert total",
            id="another-fixture",
        ),
        pytest.param(
            '@pytest.fixture(name="total")\ndef one():\n    return 1\ndef test_a(total): ...',
            '@pytest.fixture(name="total")\ndef two():\n    return 2\ndef test_b(total): ...',
            id="another-fixture-by-a-given-name",
        ),
        pytest.param(
            '@pytest.fixture\ndef shop():\n    return 1\n@pytest.mark.usefixtures("shop")\ndef test_a(): ...',
            '@pytest.fixture\ndef shop():\n    return 2\n@pytest.mark.usefixtures("shop")\ndef test_b(): ...',
            id="another-fixture-by-a-mark",
        ),
        pytest.param(
            f"@pytest.fixture(autouse=True)\ndef shop():\n    open_one()\ndef test_a():\n    {CHECK}",
            f"@pytest.fixture(autouse=True)\ndef shop():\n    open_two()\ndef test_b():\n    {CHECK}",
            id="another-automatic-fixture",
        ),
        pytest.param(
            f'pytestmark = pytest.mark.usefixtures("one")\ndef test_a():\n    {CHECK}',
            f'pytestmark = pytest.mark.usefixtures("two")\ndef test_b():\n    {CHECK}',
            id="another-mark-of-the-module",
        ),
        pytest.param(
            f"@pytest.mark.parametrize('n', [1])\ndef test_a(n):\n    {CHECK}",
            f"@pytest.mark.parametrize('n', [2])\ndef test_b(n):\n    {CHECK}",
            id="other-parameters",
        ),
        pytest.param("def test_a(one): ...", "def test_b(two): ...", id="other-arguments"),
        pytest.param(
            "class TestA:\n    prices = [1]\n    def test_a(self):\n        assert total(self.prices)",
            "class TestB:\n    prices = [2]\n    def test_b(self):\n        assert total(self.prices)",
            id="other-code-in-the-class",
        ),
        pytest.param(
            "class TestA(One):\n    def test_a(self):\n        assert self.total()",
            "class TestB(Two):\n    def test_b(self):\n        assert self.total()",
            id="another-base",
        ),
        pytest.param(
            "class Base:\n    n = 1\nclass TestA(Base):\n    def test_a(self):\n        assert self.total()",
            "class Base:\n    n = 2\nclass TestB(Base):\n    def test_b(self):\n        assert self.total()",
            id="another-base-of-the-same-name",
        ),
    ],
)
def test_no_copies(first: str, second: str) -> None:
    assert not are_alike(first, second)
