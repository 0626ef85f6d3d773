"""The shape of a JSON document: which field has which type. A field may be added; none may go, or change its type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Shape = dict[str, list[str]]

_TYPES = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    type(None): "null",
    dict: "object",
    list: "list",
}

#: Maps whose names belong to the features that measured something, not to the document.
_FREE = frozenset({"remembered"})


def _walk(document: Any, place: str) -> Iterator[tuple[str, str]]:
    yield place, _TYPES[type(document)]
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in _FREE:
                yield from _walk(value, f"{place}.{name}")
    elif isinstance(document, list):
        for value in document:
            yield from _walk(value, f"{place}[]")


def shape_of(documents: Iterable[Any]) -> Shape:
    """Return every field that these documents have, with the types that it has in them."""
    found: dict[str, set[str]] = {}
    for document in documents:
        for place, kind in _walk(document, "$"):
            found.setdefault(place, set()).add(kind)
    return {place: sorted(found[place]) for place in sorted(found)}


def find_broken(released: Shape, now: Shape) -> list[str]:
    """Return what a reader of the released documents would miss in those of now."""
    broken = []
    for place, kinds in released.items():
        if place not in now:
            broken.append(f"{place} is gone")
        elif not set(now[place]) & set(kinds) and kinds != ["null"]:
            broken.append(f"{place} was {' or '.join(kinds)}, and is {' or '.join(now[place])}")
    return broken
