"""Read acceptance criteria from Markdown: items of lists, headings, rows of tables and lines that begin with an id.

Pure: text in, values out. What stands in a fence of code, in a quote or in a comment is not the document's own word.

A document has other words that look like ids. So, where an id stands behind a checkbox, only ids of such a kind count
(`AC-7` if there is a box for `AC-1`, and neither the story `US-1` nor `UTF-8`); and names of standards never do. What
is passed over is returned as well, for nobody may lose a criterion without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from phase_gate.gate.criteria import Criterion, LeftOut
from phase_gate.values import Value

#: `AC-1`, `REQ_12`, `US-3-AC-2`, `AC-1.4`, `AC-1a`: capitals, then numbers.
ID = r"[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*[-_][0-9]+[a-z]?(?:\.[0-9]+)*"

#: What the names of standards begin with; nobody numbers criteria like that.
_STANDARD = re.compile("(?:AES|ASCII|COVID|CVE|CWE|ECMA|HTTP|IEC|IEEE|ISO|PEP|RFC|RSA|SHA|UCS|UTF)[-_]")

#: Bold, code, brackets and a link's target may be around an id, and a colon behind it.
_CLOSING = r"(?:[\]*_`).]|\([^()\s]*\))*"
_BEGINS_WITH_ID = re.compile(rf"[*_`\[(]{{0,4}}({ID}){_CLOSING}(?:(:)[*_`]*|(?=\s)|$)\s*(?:[-\u2013\u2014:]\s+)?(.*)")
_ITEM = re.compile(r"(\s*)(?:[-*+]|[0-9]{1,9}[.)])\s+(\[[ xX]?\]\s+)?(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*)")
_FENCE = re.compile(r"\s*(?:(?:[-*+>]|[0-9]{1,9}[.)])\s+)*(`{3,}|~{3,})(.*)")
_CODE = re.compile(r"`[^`]*`")


class _Form(IntEnum):
    """How a line gives an id; where several lines give the same one, the first of these is the criterion."""

    CHECKBOX = 0
    HEADING = 1
    ITEM = 2
    ROW = 3
    LINE = 4


class _Found(Value):
    form: _Form
    line: int
    indent: int
    #: Empty for a checkbox without one.
    id: str
    text: str

    @property
    def kind(self) -> str:
        """Return the id without its numbers: ids of one kind belong together."""
        return re.sub(r"[0-9]+[a-z]?(?:\.[0-9]+)*", "#", self.id)

    @property
    def is_standard(self) -> bool:
        return _STANDARD.match(self.id) is not None


def find_criteria(text: str, *, file: str) -> tuple[tuple[Criterion, ...], tuple[LeftOut, ...]]:
    """Return the criteria in the order of their lines, twice those that stand there twice; and what is passed over."""
    found = [each for number, line in _prose(text) if (each := _read_line(line, number)) is not None]
    named = [each for each in found if each.id and not each.is_standard]
    boxes = [each for each in named if each.form is _Form.CHECKBOX]
    kinds = {each.kind for each in boxes or named}
    counted = [each for each in named if each.kind in kinds]
    lines = {each.line for each in counted}
    best = {each.id: each.form for each in sorted(counted, key=lambda each: -each.form)}
    criteria = tuple(
        Criterion(id=each.id, text=each.text, file=file, line=each.line)
        for each in counted
        if each.form is best[each.id]
    )
    # A box that is deeper than those with ids is a detail of one of them.
    outermost = min((each.indent for each in boxes), default=-1)
    left_out = tuple(
        LeftOut(line=each.line, text=f"{each.id} {each.text}".strip())
        for each in found
        if each.line not in lines and (each.id or each.indent <= outermost)
    )
    return criteria, left_out


def _read_line(line: str, number: int) -> _Found | None:
    form, indent = _Form.LINE, 0
    if (item := _ITEM.fullmatch(line)) is not None:
        form = _Form.ITEM if item[2] is None else _Form.CHECKBOX
        indent, line = len(item[1].expandtabs(4)), item[3]
    elif (heading := _HEADING.fullmatch(line)) is not None:
        form, line = _Form.HEADING, heading[1].rstrip()
        without_closing = line.rstrip("#")
        line = without_closing if without_closing[-1:].isspace() else line
    elif len(cells := line.strip().split("|", 3)) > 2 and not cells[0]:
        form, line = _Form.ROW, f"{cells[1].strip()} {cells[2].strip()}"
    begins = _BEGINS_WITH_ID.fullmatch(line)
    if begins is None:
        text = " ".join(line.split())
        return _Found(form=form, line=number, indent=indent, id="", text=text) if form is _Form.CHECKBOX else None
    if form is _Form.LINE and begins[2] is None:
        return None  # a sentence that happens to begin with it
    return _Found(form=form, line=number, indent=indent, id=begins[1], text=" ".join(begins[3].split()))


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither in a fence nor in a comment, with their numbers."""
    lines = text.splitlines()
    last_end = max((number for number, line in enumerate(lines, 1) if "-->" in line), default=0)
    fence = ""
    in_comment = False
    for number, line in enumerate(lines, 1):
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
        without = _without_comments(line)
        # One that never ends, or stands in code, is no comment.
        if "<!--" in _CODE.sub("", without) and number < last_end:
            in_comment = True
            without = without.partition("<!--")[0]
        yield number, without


def _without_comments(line: str) -> str:
    """Return the line without the comments that end in it. By hand: a pattern would look for each end anew."""
    kept = ""
    while "<!--" in line and "-->" in line:
        before, _, comment = line.partition("<!--")
        _, end, after = comment.partition("-->")
        if not end:
            break
        kept, line = kept + before, after
    return kept + line
