"""Mutants from the mutators of poodle, as far as they stand in chosen statements. Pure, beside the import.

The mutators take a parsed module and say which text stands for which place. They do not look into a node that they
have changed (in `a < b and c`, only the `and`): so each expression is handed to them by itself as well.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from phase_gate.errors import UsageError
from phase_gate.mutation.model import Mutant, split_lines
from phase_gate.source.new_code import Statement

#: These rewrite a whole function for a change in its first line: a diff of it says nothing.
_LEFT_OUT = frozenset({"Decorator"})


def make_mutants(file: str, source: str, statements: Iterable[Statement]) -> tuple[Mutant, ...]:
    """Return the mutants of these statements, in the order of the source, each once. Raises UsageError without poodle.

    A source that can't be parsed has none.
    """
    mutators, read_filters, is_filtered = _load_engine()
    spans = [(each.line, each.end) for each in statements]
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    lines = [line.rstrip("\r\n") for line in split_lines(source)]
    original = ast.dump(tree)
    filters = read_filters(lines)
    found: dict[str, Mutant] = {}
    seen = {original}
    for place in _places(mutators, tree, lines, spans):
        span = next(
            ((first, last) for first, last in spans if first <= place.lineno and place.end_lineno <= last), None
        )
        if span is None or is_filtered(filters, place):
            continue
        mutant = _mutant(file, lines, place, span)
        changed = _dump(mutant.apply(source))
        # Not the same as the source, nor as another one, and Python can read it.
        if changed is not None and changed not in seen:
            seen.add(changed)
            found[mutant.id] = mutant
    return tuple(sorted(found.values(), key=lambda each: (each.line, each.column, each.end_column, each.text)))


def engine_version() -> str:
    """Return which engine makes the mutants, for people and for what is kept. Raises UsageError without it."""
    from importlib import metadata

    _load_engine()
    return f"poodle {metadata.version('poodle')}"


def count_excused(source: str, statements: Iterable[Statement]) -> int:
    """Return how many of these statements have a comment that keeps mutants away. Raises UsageError without poodle."""
    _, read_filters, _ = _load_engine()
    excused = read_filters([line.rstrip("\r\n") for line in split_lines(source)])
    return sum(any(line in excused for line in range(each.line, each.end + 1)) for each in statements)


def _load_engine() -> tuple[list[Any], Any, Any]:
    """Return the mutators, what reads comments that keep them away, and what tells whether a place has one."""
    try:
        from poodle.mutate import builtin_mutators, is_filtered, parse_filters
    except ImportError:
        raise UsageError(
            "what makes mutants is not installed here", remedy="pip install 'pytest-phase-gate[mutation]'"
        ) from None
    settings = SimpleNamespace(mutator_opts={})
    mutators = [make(settings, print) for name, make in builtin_mutators.items() if name not in _LEFT_OUT]
    return mutators, parse_filters, is_filtered


def _places(mutators: list[Any], tree: ast.Module, lines: list[str], spans: list[tuple[int, int]]) -> Iterator[Any]:
    """Yield what the mutators would change: in the whole module, then in each expression of the spans by itself."""
    annotations = set(_annotations(tree))
    for mutator in mutators:
        for place in mutator.create_mutations(parsed_ast=copy.deepcopy(tree), file_lines=list(lines)):
            if not _lies_in(place, annotations):
                yield place
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or not any(first <= node.lineno <= last for first, last in spans):
            continue
        if isinstance(node, ast.Constant | ast.Name) or _position(node) in annotations:
            continue  # these have nothing in them
        for mutator in mutators:
            # A fresh copy each: mutators change what they are given.
            alone = ast.Assign(targets=[], value=copy.deepcopy(node))
            module = ast.Module(body=[ast.copy_location(alone, node)], type_ignores=[])
            for place in mutator.create_mutations(parsed_ast=module, file_lines=list(lines)):
                if not _lies_in(place, annotations):
                    yield place


_Position = tuple[int, int, int, int]


def _position(node: Any) -> _Position:
    return (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _annotations(tree: ast.Module) -> Iterator[_Position]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.expr):
                yield from (_position(each) for each in ast.walk(part) if isinstance(each, ast.expr))


def _lies_in(place: Any, positions: set[_Position]) -> bool:
    return (place.lineno, place.col_offset, place.end_lineno, place.end_col_offset) in positions


def _mutant(file: str, lines: list[str], place: Any, span: tuple[int, int]) -> Mutant:
    column = _column(lines[place.lineno - 1], place.col_offset)
    end_column = _column(lines[place.end_lineno - 1], place.end_col_offset)
    rows = lines[place.lineno - 1 : place.end_lineno]
    rows[-1] = rows[-1][:end_column]
    rows[0] = rows[0][column:]
    return Mutant(
        file=file,
        line=place.lineno,
        column=column,
        end_line=place.end_lineno,
        end_column=end_column,
        was="\n".join(rows),
        text=place.text,
        first=span[0],
        last=span[1],
    )


def _column(line: str, offset: int) -> int:
    """Return the place in the text of a place in its UTF-8."""
    return len(line.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def _dump(source: str) -> str | None:
    try:
        tree = ast.parse(source)
        compile(tree, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return ast.dump(tree)
