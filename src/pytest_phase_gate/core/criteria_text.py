"""Read acceptance criteria from Markdown: items of lists, headings and rows of tables that begin with an id.

Pure: text in, values out. What stands in a fence of code or in a comment is an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_phase_gate.core.criteria import Criterion

#: `AC-1`, `REQ_12`, `US-3-AC-2`, `AC-1.4`: capitals, then numbers.
ID = r"[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*[-_][0-9]+(?:\.[0-9]+)*"

_EMPHASIS = r"[*_`\[]{0,3}"
_CLOSING = r"[\]*_`]{0,3}"
_BEGINS_WITH_ID = re.compile(rf"{_EMPHASIS}({ID}){_CLOSING}(?:[:.)]|(?=\s)|$)\s*(?:[-\u2013\u2014:]\s+)?(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*")
_ROW = re.compile(r"\s*\|\s*([^|]*?)\s*\|(.*)")
_FENCE = re.compile(r"\s{0,3}(?:[-*+>]\s+)*(`{3,}|~{3,})(.*)")


def find_criteria(text: str, *, file: str) -> tuple[Criterion, ...]:
    """Return the criteria in the order of their lines, twice those that stand there twice."""
    return tuple(
        Criterion(id=found[1], text=_plain(found[2]), file=file, line=number)
        for number, line in _prose(text)
        if (found := _find_id(line)) is not None
    )


def _find_id(line: str) -> re.Match[str] | None:
    for form in (_ITEM, _HEADING):
        if (form_found := form.fullmatch(line)) is not None:
            return _BEGINS_WITH_ID.fullmatch(form_found[1])
    if (row := _ROW.fullmatch(line)) is not None:
        cells = [cell.strip() for cell in row[2].split("|")]
        return _BEGINS_WITH_ID.fullmatch(f"{row[1]} {' '.join(filter(None, cells[:1]))}".strip())
    return None


def _plain(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither in a fence nor in a comment, with their numbers."""
    fence = ""
    in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        if fence:
            stripped = line.strip(" >\t")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            continue
        if in_comment:
            in_comment = "-->" not in line
            continue
        if (opened := _FENCE.fullmatch(line)) is not None and (opened[1][0] != "`" or "`" not in opened[2]):
            fence = opened[1]
            continue
        without = re.sub(r"<!--.*?-->", "", line)
        if "<!--" in without:
            in_comment = True
            without = without.partition("<!--")[0]
        yield number, without
