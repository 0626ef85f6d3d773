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


def test_no_package_grows_past_its_budget() -> None:
    grown = over_budget(sizes(), read_budgets())
    assert not grown, "\n".join(["what mechanism could go instead?", *grown])


def test_imports_upwards_and_rings_are_found(tmp_path: Path) -> None:
    for name, imported in (
        ("gate/state", "cli.show"),
        ("cli/show", "values"),
        ("errors", "values"),
        ("values", "errors"),
    ):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"import {PACKAGE}.{imported}\n", encoding="utf-8")
    assert [str(edge) for edge in upward(edges(tmp_path))] == ["gate.state:1 imports cli.show"]
    assert sorted({*find_ring(edges(tmp_path))}) == ["errors", "values"]


def test_what_grew_is_told_and_budgets_only_go_down() -> None:
    budget, now = Size(2, 100, 500, 10, 6.0), Size(3, 101, 501, 11, 6.31)
    told = over_budget({"gate": now, "new": now}, {"gate": budget, "old": budget})
    assert [sentence.partition(", its budget")[0] for sentence in told] == [
        "new has no budget",
        *("gate has 3 modules", "gate has 101 lines", "gate has 501 tokens", "gate has 11 lines that are not Python"),
        "gate has 6.31 tokens a line",
        "old is gone: its budget goes, too",
    ]
    assert over_budget({"gate": Size(1, 90, 400, 0, 6.3)}, {"gate": budget}) == []
    assert lower({"gate": Size(1, 120, 400, 10, 7.0)}, {"gate": budget}) == {"gate": Size(1, 100, 400, 10, 6.0)}


def test_comments_and_docstrings_are_no_tokens(tmp_path: Path) -> None:
    package = tmp_path / "src" / PACKAGE / "gate"
    package.mkdir(parents=True)
    package.joinpath("order.py").write_text(
        '"""What it is for."""\n\n# Why.\ntext = "kept"\n\n\ndef f() -> None:\n    """More."""\n', encoding="utf-8"
    )
    package.joinpath("rules.yaml").write_text("a: 1\n", encoding="utf-8")
    # text, =, "kept"; def, f, (, ), ->, None, colon.
    assert sizes(tmp_path)["gate"] == Size(1, 8, 10, 1, 5.0)
