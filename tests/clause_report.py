"""Which test shows which clause: `python -m tests.clause_report`. `pytest -m criterion` runs them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

TESTS = Path(__file__).parent
CRITERIA = TESTS / "criteria.yaml"


def load_criteria() -> dict[str, str]:
    """Return the clauses, ids with their texts, in the order of the file."""
    found = yaml.safe_load(CRITERIA.read_text(encoding="utf-8"))
    return {str(clause): str(text) for clause, text in found.items()}


def find_tests() -> Mapping[str, list[str]]:
    """Return the tests that are marked with each clause."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.glob("*/test_*.py")):
        for node in ast.parse(path.read_bytes()).body:
            for clause in _marks_of(node, path):
                found[clause].append(f"{path.relative_to(TESTS.parent)}::{getattr(node, 'name', '')}")
    return found


def _marks_of(part: ast.AST, path: Path) -> Iterator[str]:
    for node in ast.walk(part):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "criterion":
            assert node.args, f"{path.name}:{node.lineno}: a mark without a clause"
            for argument in node.args:
                # A computed id can't be checked here, and nobody would find it by searching.
                assert isinstance(argument, ast.Constant), f"{path.name}:{node.lineno}: write the id out"
                yield str(argument.value)


if __name__ == "__main__":
    tests = find_tests()
    for clause, text in load_criteria().items():
        print(f"{clause}: {text}", *(f"  {test}" for test in tests[clause]), sep="\n")
