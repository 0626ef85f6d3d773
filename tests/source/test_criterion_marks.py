"""What a module's source says about criteria: its marks, and which of its tests are copies of each other."""

from __future__ import annotations

import ast

import pytest

from phase_gate.source.criterion_marks import criteria_in_source, likeness_in_source, skips_in_source


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('pytestmark = [pytest.mark.skip("later")]\ndef test_a(): ...', id="the-whole-module"),
        pytest.param("@pytest.mark.skip\nclass TestA:\n    def test_a(self): ...", id="a-class"),
        pytest.param("LATER = pytest.mark.skip\n@LATER\ndef test_a(): ...", id="with-a-short-name"),
    ],
)
def test_which_tests_are_always_skipped(source: str) -> None:
    assert {name.rpartition("::")[2] for name in skips_in_source(ast.parse(source))} == {"test_a"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
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
            'pytestmark = pytest.mark.criterion("AC-1")\ndef test_a(): ...', {"test_a": ("AC-1",)}, id="a-module"
        ),
        pytest.param(
            'pytestmark: list = [pytest.mark.slow, pytest.mark.criterion("AC-1")]\ndef test_a(): ...',
            {"test_a": ("AC-1",)},
            id="a-module-with-several-marks",
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
        pytest.param("@pytest.mark.criterion(1)\ndef test_a(): ...", {}, id="no-text"),
        pytest.param("@pytest.mark.criterion(next_id())\ndef test_a(): ...", {}, id="made-at-run-time"),
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
        pytest.param(
            f"def test_a():\n    {CHECK}",
            "def test_b():  # b\n    assert (total( [ 1 ] )\n        ==  1)",
            id="formatted",
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
            "@pytest.fixture\ndef total():\n    return 1\ndef test_a(total):\n    assert total",
            "@pytest.fixture\ndef total():\n    return 2\ndef test_b(total):\n    assert total",
            id="another-fixture",
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
    ],
)
def test_no_copies(first: str, second: str) -> None:
    assert not are_alike(first, second)
