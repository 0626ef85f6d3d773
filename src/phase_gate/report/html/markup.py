"""HTML as a value that can't be injected into: every text is made visible and escaped, nothing else gets in.

Pure. Test names and messages are not ours: they may contain tags, control characters, halves of surrogate pairs,
marks that turn the direction of writing, and megabytes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.visible import show_line

#: Characters of one text that are shown; the middle gives way.
SHOWN = 400
_TAIL = 80

#: Elements that have no end tag.
_VOID = frozenset({"br", "hr", "input", "link", "meta", "rect", "circle", "path", "line", "polyline", "use"})
#: Attributes whose values are made here, and may be long.
_OWN = frozenset({"d", "points", "content", "data-cells"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")


class Html(str):
    """Markup that was made here."""

    __slots__ = ()


def show(text: object, limit: int = SHOWN) -> str:
    """Return the text as it can be read: one line, everything visible, of a length that a page can bear."""
    plain = str(text)
    if len(plain) > limit:
        plain = f"{plain[: limit - _TAIL]} … {plain[-_TAIL:]} ({len(plain):,} characters)"
    return show_line(plain)


def escape(text: object) -> Html:
    """Return any text as markup."""
    return Html(html.escape(show(text)))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element. `class_` is class, `aria_label` is aria-label; None and False leave an attribute out.

    Attributes that would run something, or load something, are refused: no caller can forget to escape one.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        plain = attribute.lower()
        if not _NAME.fullmatch(attribute) or plain.startswith("on") or plain in ("style", "src", "srcdoc", "action"):
            raise ValueError(f"attribute {attribute} is not written")
        if plain == "href" and not str(value).startswith("#"):
            raise ValueError("a link leads into the page")
        text = html.escape(str(value)) if attribute in _OWN else escape(value)
        parts.append(attribute if value is True else f'{attribute}="{text}"')
    begin = f"<{' '.join(parts)}"
    if name in _VOID:
        return Html(f"{begin}/>")
    return Html(f"{begin}>{join(children)}</{name}>")


def select(label: str, options: Mapping[str, str], *, name: str) -> Html:
    """Return a labelled choice.

    :param options: what is shown for each value.
    """
    listed = (tag("option", shown, value=value) for value, shown in options.items())
    return tag("label", tag("span", label), tag("select", *listed, id=name))


def join(children: Iterable[object]) -> Html:
    """Return the children one after the other: markup as it is, all else escaped, None left out."""
    return Html("".join(_child(child) for child in children))


def _child(child: object) -> str:
    if child is None or child is False:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int | float):
        return escape(child)
    assert isinstance(child, Iterable), f"{type(child).__name__} is no markup"
    return join(child)


def embed(document: Any) -> Html:
    """Return a JSON document that may stand inside a script element: nothing in it can end that."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return Html(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
