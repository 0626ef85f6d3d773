"""Imports point downwards: a package imports from its own layer and from those below."""

from __future__ import annotations

import ast
import re

import pytest

from tests.house import Edge, edges, find_ring, modules, over_budget, read_budgets, sizes, upward


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
            message = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            assert "\n\n" in message, f"{name} says what it is for, then what it may touch"
            begin = re.findall(r"Begin with `(\w+)`", message)
            assert begin, f"{name} does not say where to begin reading"
            assert f"{name}.{begin[0]}" in modules(), f"{name} begins with {begin[0]}, which is not there"


def test_no_package_grows_past_its_budget() -> None:
    grown = over_budget(sizes(), read_budgets())
    assert not grown, "\n".join(["what mechanism could go instead?", *grown])


def test_processes_of_ours_load_nothing_of_the_project() -> None:
    # With `-m`, and with `-P` where PYTHONPATH names it, Python imports from the folder that it starts in: only pytest,
    # which runs the project's code anyway, starts there like that.
    for name, path in modules().items():
        source = path.read_text(encoding="utf-8")
        code = ast.parse(source if "executable" in source else "")
        commands = [[*map(ast.unparse, each.elts)] for each in ast.walk(code) if isinstance(each, ast.List | ast.Tuple)]
        for _, *words in (each for each in commands if each[:1] == ["sys.executable"]):
            options = [word for word in words if word != "*flags"][:2]
            assert options in (["'-I'", "'-S'"], ["'-m'", "'pytest'"], ["script"]), f"{name} starts Python with {words}"
        named = sum(ast.unparse(each) == "sys.executable" for each in ast.walk(code))
        inside_commands = sum(each.count("sys.executable") for each in commands)
        assert named == inside_commands, f"{name} starts Python in a way that is not seen here"
