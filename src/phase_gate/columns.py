"""How many columns a text takes on a terminal, where that is not one for each character.

Pure. Imported only for a text that is not ASCII: letters of Chinese, Japanese and Korean take two columns, marks that
combine with the letter before them take none.
"""

from __future__ import annotations

import unicodedata

#: Joins parts of one emoji, and chooses between two looks of a sign.
_NO_COLUMN = "\u200d\ufe0e\ufe0f"


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    columns, joins = 0, False
    for character in text:
        if not joins:
            columns += _columns(character)
        joins = character == "\u200d"
    return columns


def _columns(character: str) -> int:
    if character in _NO_COLUMN or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    """Return the text with blanks behind it, as `str.ljust` gives it where each character takes one column."""
    return text + " " * max(0, width - width_of(text))


def keep_end(text: str, width: int) -> str:
    """Return as much of the end of a text as fits."""
    start = len(text)
    while start and width_of(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]


def wrap(text: str, width: int) -> list[str]:
    """Return the text in rows of at most so many columns; no word is broken."""
    rows: list[str] = []
    for word in text.split():
        if rows and width_of(rows[-1]) + 1 + width_of(word) <= width:
            rows[-1] = f"{rows[-1]} {word}"
        else:
            rows.append(word)
    return rows
