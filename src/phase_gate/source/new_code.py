"""Which statements of a project are new: compared with what they were by content, not by where they stand.

Pure: texts in, statements out. Code that was moved, within a file or to another one, or laid out anew, is not new.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator, Mapping

from phase_gate.source.names import blocks
from phase_gate.values import Value


class Statement(Value, kw_only=False):
    """One statement; of one with a body, its head."""

    #: As it is written when all layout is taken away.
    text: str
    line: int
    #: The last line of it, or of its head.
    end: int


def find_new(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[Statement, ...]]:
    """Return the new statements, by file; files without any are left out.

    :param before: the texts that files had, those too that are gone by now.
    :param after: the texts that they have; files that are as they were may be left out.
    """
    added: dict[str, list[Statement]] = {}
    gone: Counter[str] = Counter()
    for path in sorted({*before, *after}):
        old, new = (list(_statements(texts.get(path, ""))) for texts in (before, after))
        matcher = difflib.SequenceMatcher(None, [each.text for each in old], [each.text for each in new], False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                gone.update(each.text for each in old[a:b])
                added.setdefault(path, []).extend(new[c:d])
    found = {path: tuple(each for each in rows if not _was_moved(each, gone)) for path, rows in added.items()}
    return {path: rows for path, rows in found.items() if rows}


def _was_moved(statement: Statement, gone: Counter[str]) -> bool:
    if not gone[statement.text]:
        return False
    gone[statement.text] -= 1
    return True


def _statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a source in their order; none of what can't be parsed, for nothing of it runs."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from _in_order(body)


def _in_order(body: list[ast.stmt]) -> Iterator[Statement]:
    for node in body:
        inner = list(blocks(node))
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        end = node.end_lineno or first
        if inner:
            end = max(first, min(block[0].lineno for block in inner) - 1)
        yield Statement(ast.unparse(_head(node) if inner else node), first, end)
        for block in inner:
            yield from _in_order(block)


def _head(node: ast.stmt) -> ast.stmt:
    """Return a copy of a statement without the blocks in it."""
    blank: list[ast.stmt] = [ast.Pass()]
    others = {"orelse": [], "handlers": [], "cases": [], "finalbody": blank if hasattr(node, "handlers") else []}
    fields = dict(ast.iter_fields(node))
    fields |= {name: value for name, value in {"body": blank, **others}.items() if name in fields}
    return ast.copy_location(type(node)(**fields), node)
