"""Describe how an exception came out of the sources that a test called, to tell whether a helper checked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import CodeType, FrameType

from phase_gate.gate.failures import Place
from phase_gate.gate.pieces import outer_name
from phase_gate.source.check_helpers import Called, Raised
from phase_gate.source.checks import innermost, is_conditional_at, statement_at

#: A frame with the line that it stands at.
At = tuple[FrameType, int]


def describe_raised(
    frames: Sequence[At],
    *,
    test_file: str,
    place_of: Callable[[str], Place],
    source_of: Callable[[object], str],
    parse: Callable[[str], ast.Module | None],
    shown: Callable[[str], str],
) -> Raised:
    """Return how an assertion came out of the sources.

    :param frames: from the outermost inwards.
    :param source_of: returns the source of the project's that a value comes from; empty if it comes from none.
    :param shown: returns a file's path from the root.
    """
    own = [each for each in frames if place_of(each[0].f_code.co_filename) != "foreign"]
    places = [place_of(frame.f_code.co_filename) for frame, _ in own]
    if "test" not in places:
        return Raised(chain=(), is_check=False, looks_at_others=False, test_file=test_file)
    last_test = len(places) - 1 - places[::-1].index("test")
    way = own[last_test:]
    chain = tuple(_called(caller, frame.f_code, parse, shown) for caller, (frame, _) in pairwise(way))
    if not chain:
        return Raised(chain=(), is_check=False, looks_at_others=False, test_file=test_file)
    first = way[1][0].f_code.co_filename
    used = (source_of(value) for frame, _ in way[:2] for value in _used(frame))
    return Raised(
        chain=chain,
        is_check=_is_check(own[-1], parse),
        looks_at_others=any(file not in ("", first) for file in used),
        test_file=test_file,
    )


def _called(
    caller: At, code: CodeType, parse: Callable[[str], ast.Module | None], shown: Callable[[str], str]
) -> Called:
    frame, line = caller
    tree = parse(frame.f_code.co_filename)
    statement = None if tree is None else innermost(tree, line)
    is_statement, arguments = False, 0
    match statement:
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            # In `check(total([]))` the value of `total` is used, and that of `check` is not.
            is_statement = getattr(call.func, "attr", getattr(call.func, "id", "")) == code.co_name
            arguments = len(call.args) + len(call.keywords)
    return Called(
        name=outer_name(code.co_qualname), file=shown(code.co_filename), is_statement=is_statement, arguments=arguments
    )


def _is_check(raising: At, parse: Callable[[str], ast.Module | None]) -> bool:
    frame, line = raising
    tree = parse(frame.f_code.co_filename)
    if tree is None:
        return False
    kind = statement_at(tree, line)
    # What is called there and is not the project's, unittest's `assertEqual` for one, has raised it.
    return kind in ("assert", "other") or (kind == "raise" and is_conditional_at(tree, line))


def _used(frame: FrameType) -> Iterator[object]:
    """Yield what the code of a frame works with."""
    names, known = frame.f_code.co_names, frame.f_globals
    yield from (known[name] for name in names if name in known)
    yield from frame.f_locals.values()
