"""Take what is wrong out of YAML documents, so that a reader finds what else is wrong.

Pure. A reader stops at the first fault and says where it is. Here are the documents without it: with a stand-in where
a value has to be, else without the entry, or without what is around it. Which of them lets the reader go on is for
the caller to try.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from phase_gate.rules.fields import shorten
from phase_gate.rules.yaml import YamlMapping, YamlNode, YamlScalar, YamlSequence
from phase_gate.values import Value, replace

#: From a document's number down: keys of mappings, places in lists.
Path = tuple[str | int, ...]

#: Document, section, name: phases, guards, facts and parameters stand there.
_DEPTH_OF_NAMES = 3

_MEANT = re.compile("use one of: ([^,;]+)")
_MISSING = re.compile("the key '([a-z_0-9]+)' is missing")


class Repair(Value):
    """Documents without one fault."""

    documents: tuple[YamlNode, ...]
    #: The key that was taken out, if one was.
    key: str = ""
    #: Names that the file described there: a later fault that speaks of one follows from this one.
    names: tuple[str, ...] = ()


def repairs(
    documents: Sequence[YamlNode],
    *,
    line: int,
    column: int,
    problem: str,
    remedy: str,
    stand_ins: Mapping[str, YamlNode],
) -> Iterator[Repair]:
    """Yield ways around a fault at that place, the smallest first.

    :param stand_ins: values for keys that have to be there.
    """
    places = list(_paths_at(documents, line, column))
    missing = _MISSING.search(problem)
    for path, is_key in places:
        node, last = node_at(documents, path), path[-1]
        if missing is not None and isinstance(node, YamlMapping) and missing[1] in stand_ins:
            new = YamlScalar(text=missing[1], is_plain=True, line=line, column=column)
            added = replace(node, entries=(*node.entries, (new, stand_ins[missing[1]])))
            yield Repair(documents=_changed(documents, path, added))
        elif missing is None and not is_key and isinstance(last, str) and last in stand_ins:
            yield Repair(documents=_changed(documents, path, stand_ins[last]))
        elif not is_key and isinstance(node, YamlScalar) and (meant := _find_meant(node.text, problem, remedy)):
            yield Repair(documents=_changed(documents, path, replace(node, text=meant)))
    deepest = max((len(path) for path, _ in places), default=0)
    for length in range(deepest, 1, -1):
        for path in dict.fromkeys(path[:length] for path, _ in places if len(path) >= length):
            key = path[-1] if isinstance(path[-1], str) else ""
            yield Repair(documents=_changed(documents, path, None), key=key, names=_names(documents, path))


def node_at(documents: Sequence[YamlNode], path: Path) -> YamlNode | None:
    """Return the value at a path; None if there is none."""
    node: YamlNode | None = None
    for step in path:
        if node is None:
            assert isinstance(step, int), "a path begins with a document's number"
            node = documents[step]
        elif isinstance(node, YamlMapping):
            node = next((value for key, value in node.entries if key.text == step), None)
        elif isinstance(node, YamlSequence) and isinstance(step, int):
            node = node.items[step]
        if node is None:
            return None
    return node


def key_at(documents: Sequence[YamlNode], path: Path) -> YamlScalar | None:
    """Return the key that a path ends with; None if it ends with none."""
    parent = node_at(documents, path[:-1])
    if not isinstance(parent, YamlMapping):
        return None
    return next((key for key, _ in parent.entries if key.text == path[-1]), None)


def _find_meant(text: str, problem: str, remedy: str) -> str:
    """Return the word that was probably meant, if the problem is that another one stands there."""
    import difflib

    meant = _MEANT.match(remedy)
    if meant is None or shorten(text).lower() not in problem.lower():
        return ""
    return next(iter(difflib.get_close_matches(text[:60].lower(), [meant[1].lower()])), "") and meant[1]


def _paths_at(documents: Sequence[YamlNode], line: int, column: int) -> Iterator[tuple[Path, bool]]:
    """Yield what begins at a place, from the inside out, and whether it is a key."""
    for index, document in enumerate(documents):
        yield from _inner_paths(document, (index,), (line, column))


def _inner_paths(node: YamlNode, path: Path, place: tuple[int, int]) -> Iterator[tuple[Path, bool]]:
    if isinstance(node, YamlMapping):
        for key, value in node.entries:
            yield from _inner_paths(value, (*path, key.text), place)
            if (key.line, key.column) == place:
                yield (*path, key.text), True
    elif isinstance(node, YamlSequence):
        for index, item in enumerate(node.items):
            yield from _inner_paths(item, (*path, index), place)
    if (node.line, node.column) == place:
        yield path, False


def _names(documents: Sequence[YamlNode], path: Path) -> tuple[str, ...]:
    """Return the names of what goes with a path: one of a section's entries, or all of them."""
    if len(path) == _DEPTH_OF_NAMES:
        return (str(path[-1]),)
    node = node_at(documents, path)
    if len(path) == _DEPTH_OF_NAMES - 1 and isinstance(node, YamlMapping):
        return tuple(key.text for key, _ in node.entries)
    return ()


def _changed(documents: Sequence[YamlNode], path: Path, value: YamlNode | None) -> tuple[YamlNode, ...]:
    """Return the documents with another value at a path, or without the entry."""
    first, *rest = path
    assert isinstance(first, int), "a path begins with a document's number"
    changed = _with(documents[first], tuple(rest), value)
    return tuple(
        each
        for index, document in enumerate(documents)
        if (each := changed if index == first else document) is not None
    )


def _with(node: YamlNode, path: Path, value: YamlNode | None) -> YamlNode | None:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(node, YamlMapping):
        entries = ((key, _with(old, rest, value) if key.text == step else old) for key, old in node.entries)
        return replace(node, entries=tuple((key, new) for key, new in entries if new is not None))
    if isinstance(node, YamlSequence):
        items = (_with(old, rest, value) if index == step else old for index, old in enumerate(node.items))
        return replace(node, items=tuple(new for new in items if new is not None))
    return node
