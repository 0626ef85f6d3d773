"""Imports point downwards: a package imports from its own layer and from those below."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house import PACKAGE, Edge, Size, edges, find_ring, lower, modules, over_budget, read_budgets, sizes, upward


@pytest.fixture(scope="module")
def found() -> list[Edge]:
    """Every import of every module."""
    return edges()


def test_imports_point_downwards(found: list[Edge]) -> None:
    offending = [str(edge) for edge in upward(found)]
    assert not offending, "\n".join(["imports that point upwards:", *offending])


def test_no_modules_import_each_other(found: list[Edge]) -> None:
    assert find_ring(found) == []


def test_every_package_says_what_it_is_for() -> None:
    for name, path in modules().items():
        if path.name == "__init__.py" and name != "__init__":
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            assert "\n\n" in said, f"{name} says what it is for, then what it may touch"
            begin = re.findall(r"Begin with `(\w+)`", said)
            assert begin, f"{name} does not say where to begin reading"
            assert f"{name}.{begin[0]}" in modules(), f"{name} begins with {begin[0]}, which is not there"


def test_an_import_upwards_is_found(tmp_path: Path) -> None:
    for folder in ("gate", "cli"):
        (tmp_path / folder).mkdir()
    (tmp_path / "cli" / "show.py").write_text("", encoding="utf-8")
    (tmp_path / "gate" / "state.py").write_text(
        f"def late() -> None:\n    from {PACKAGE}.cli import show\n", encoding="utf-8"
    )
    assert [str(edge) for edge in upward(edges(tmp_path))] == ["gate.state:2 imports cli.show (in a function)"]


def test_a_ring_of_imports_is_found(tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text(f"import {PACKAGE}.values\n", encoding="utf-8")
    (tmp_path / "values.py").write_text(f"import {PACKAGE}.errors\n", encoding="utf-8")
    assert sorted({*find_ring(edges(tmp_path))}) == ["errors", "values"]


def test_no_package_grows_past_its_budget() -> None:
    grown = over_budget(sizes(), read_budgets())
    assert not grown, "\n".join(["what mechanism could go instead?", *grown])


@pytest.mark.parametrize(
    ("now", "grown"),
    [
        pytest.param(Size(2, 100, 500, 10, 6.0), [], id="as-it-was"),
        pytest.param(Size(1, 90, 400, 0, 6.3), [], id="smaller-and-hardly-denser"),
        pytest.param(Size(3, 100, 500, 10, 6.0), ["gate has 3 modules, its budget is 2"], id="one-more-module"),
        pytest.param(Size(2, 101, 500, 10, 6.0), ["gate has 101 lines, its budget is 100"], id="one-more-line"),
        pytest.param(Size(2, 100, 501, 10, 6.0), ["gate has 501 tokens, its budget is 500"], id="one-more-token"),
        pytest.param(
            Size(2, 100, 500, 11, 6.0),
            ["gate has 11 lines that are not Python, its budget is 10"],
            id="one-more-line-of-data",
        ),
        pytest.param(
            Size(2, 70, 500, 10, 6.31), ["gate has 6.31 tokens a line, its budget is 6.0: squeezed"], id="squeezed"
        ),
    ],
)
def test_over_budget(now: Size, grown: list[str]) -> None:
    assert over_budget({"gate": now}, {"gate": Size(2, 100, 500, 10, 6.0)}) == grown


def test_budgets_come_and_go_with_their_packages() -> None:
    size = Size(1, 1, 1, 0, 1.0)
    assert over_budget({"new": size}, {"old": size}) == ["new has no budget", "old is gone: its budget goes, too"]


def test_budgets_only_go_down() -> None:
    lowered = lower({"gate": Size(1, 120, 400, 10, 7.0)}, {"gate": Size(2, 100, 500, 10, 6.0)})
    assert lowered == {"gate": Size(1, 100, 400, 10, 6.0)}


def test_comments_and_docstrings_are_no_tokens(tmp_path: Path) -> None:
    package = tmp_path / "src" / PACKAGE / "gate"
    package.mkdir(parents=True)
    package.joinpath("order.py").write_text(
        '"""What it is for."""\n\n# Why.\ntext = "kept"\n\n\ndef f() -> None:\n    """More."""\n', encoding="utf-8"
    )
    package.joinpath("rules.yaml").write_text("a: 1\n", encoding="utf-8")
    # text, =, "kept"; def, f, (, ), ->, None, colon.
    assert sizes(tmp_path)["gate"] == Size(1, 8, 10, 1, 5.0)
