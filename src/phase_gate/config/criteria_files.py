"""Read the acceptance criteria of a task: a number, or a YAML or Markdown file with ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phase_gate.config.nodes import MAX_BYTES, Items, Node, Table, Text
from phase_gate.config.yaml import decode_text, read_bytes, read_document
from phase_gate.errors import CriteriaError, DocumentError
from phase_gate.gate.order import shorten
from phase_gate.gate.record import Criteria, Criterion
from phase_gate.storage.root import relative_id
from phase_gate.values import Value

_MARKDOWN = (".md", ".markdown", ".mdown")
_YAML = (".yaml", ".yml", ".json")

#: How to write criteria in each format.
_IN_MARKDOWN = "write one per line, as in `- [ ] AC-1 What it does`"
_IN_YAML = "write one per line, as in `AC-1: What it does`"

#: An id in YAML, where the syntax marks it as one. Markdown needs the stricter `ID`.
_ANY_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
#: Keys of an item that are not ids.
_TEXT_KEYS = ("text", "title", "description")


def read_criteria(given: int | str, *, base: Path, root: Path, if_missing: str = "check the path") -> Criteria:
    """Return the criteria from the command line or the configuration: a number, or a path.

    :param base: the folder that a path is relative to.
    :param if_missing: the remedy if there is no such file.
    """
    if isinstance(given, str) and not re.fullmatch("[-+]?[0-9]{1,9}", given):
        return _load_criteria(given, base=base, root=root, if_missing=if_missing)
    number = int(given)
    if number < 1:
        raise CriteriaError(f"{given} is not a number of criteria", "give a whole number of 1 or more, or a file")
    return Criteria(count=number)


def _load_criteria(given: str, *, base: Path, root: Path, if_missing: str) -> Criteria:
    """Return the criteria of a file. Errors name it relative to the root."""
    path = base / given
    name = relative_id(path, root)
    suffix = path.suffix.lower()
    if suffix not in (*_MARKDOWN, *_YAML):
        raise CriteriaError(
            f"{shorten(given)} is neither a number nor a file of criteria",
            f"give a whole number of 1 or more, or a file that ends in {', '.join((_MARKDOWN[0], *_YAML))}",
        )
    data = read_bytes(path, name=name, limit=MAX_BYTES, error=CriteriaError, if_missing=if_missing)
    try:
        if suffix in _MARKDOWN:
            listed, left_out = find_criteria(decode_text(data, name=name, limit=MAX_BYTES), file=name)
        else:
            listed, left_out = _from_yaml(read_document(data, name=name, limit=MAX_BYTES), name), ()
    except DocumentError as error:
        raise CriteriaError(error.problem, error.remedy) from None
    if not listed:
        raise CriteriaError(f"{name}: no criterion in it", _IN_MARKDOWN if suffix in _MARKDOWN else _IN_YAML)
    _refuse_repetition(listed, name)
    return Criteria(count=len(listed), listed=listed, file=name, left_out=left_out)


def _refuse_repetition(listed: tuple[Criterion, ...], name: str) -> None:
    first: dict[str, Criterion] = {}
    for each in listed:
        before = first.setdefault(each.id, each)
        if before is not each:
            raise CriteriaError(
                f"{name}:{each.line}: {each.id} occurs twice, first in line {before.line}",
                "give each criterion an id of its own",
            )


def _from_yaml(node: Node, name: str) -> tuple[Criterion, ...]:
    """Return the criteria of a mapping `id: text`, or of a list of `id: text`, with or without the key `criteria:`."""
    if isinstance(node, Table):
        node = node.get("criteria", node)
    if isinstance(node, Table):
        return tuple(_criterion(key, key, _text(value), name) for key, value in node.items())
    if isinstance(node, Items):
        return tuple(_from_item(item, name) for item in node)
    raise CriteriaError(f"{name}:{node.at.line}: expected a list of criteria", _IN_YAML)


def _from_item(item: Node, name: str) -> Criterion:
    if isinstance(item, Text):
        found = re.fullmatch(rf"({ID}|{_ANY_ID.pattern}(?=:))(?::\s*|\s+|$)(.*)", item, re.S)
        if found is not None:
            return _criterion(item, found[1], found[2], name)
        raise _refusal(item, name, f"{shorten(item)} has no id")
    if isinstance(item, Table):
        if isinstance(named := item.get("id"), Text):
            return _criterion(named, named, _text(item), name)
        if len(item) == 1:
            ((key, value),) = item.items()
            if key not in ("id", *_TEXT_KEYS):
                return _criterion(key, key, _text(value), name)
    raise _refusal(item, name, "this item has no id")


def _criterion(where: object, given: str, text: str, name: str) -> Criterion:
    """Return a criterion with the given id. `where` is the node that contains the id."""
    if not _ANY_ID.fullmatch(given):
        raise _refusal(where, name, f"a criterion can't be called {shorten(given)}")
    return Criterion(id=str(given), text=" ".join(text.split()), file=name, line=_line(where))


def _text(node: Node) -> str:
    if isinstance(node, Text):
        return "" if node.is_null else node
    if isinstance(node, Table):
        return next((_text(node[key]) for key in _TEXT_KEYS if key in node), "")
    return ""


def _line(where: Any) -> int:
    line: int = where.at.line
    return line


def _refusal(where: object, name: str, problem: str) -> CriteriaError:
    return CriteriaError(f"{name}:{_line(where)}: {problem}", "write `AC-1: What it does`, or `id:` and `text:`")


# --- Markdown: items of lists and headings that begin with an id


#: `AC-1`, `REQ_12`, `US-3-AC-2`, `AC-1.4`, `AC-1a`: capitals, then numbers.
ID = r"[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*[-_][0-9]+[a-z]?(?:\.[0-9]+)*"

#: Prefixes of standards' names, which look like ids.
_STANDARD = re.compile("(?:AES|ASCII|COVID|CVE|CWE|ECMA|HTTP|IEC|IEEE|ISO|PEP|RFC|RSA|SHA|UCS|UTF)[-_]")

#: An id may be bold, code, in brackets or a link, and a colon may follow it.
_BEGINS_WITH_ID = re.compile(
    rf"[*_`\[(]{{0,4}}({ID})(?:[\]*_`).]|\([^()\s]*\))*(?::[*_`]*|(?=\s)|$)\s*(?:[-\u2013\u2014:]\s+)?(.*)"
)
#: A list item with an optional checkbox, or a heading with optional closing hashes.
_LINE = re.compile(
    r"(?P<indent>\s*)(?:[-*+]|[0-9]{1,9}[.)])\s+(?P<box>\[[ xX]?\]\s+)?(?P<item>.*)"
    r"| {0,3}#{1,6}\s+(?P<heading>.*)"
)
_FENCE = re.compile(r"\s*(?:(?:[-*+>]|[0-9]{1,9}[.)])\s+)*(`{3,}|~{3,})(.*)")


class _Found(Value):
    """A line with an id, or a checkbox without one."""

    form: int
    line: int
    indent: int
    id: str
    text: str


#: The forms of a line.
_BOX, _ITEM, _HEADING = 0, 1, 2


def find_criteria(text: str, *, file: str) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
    """Return the criteria in the order of their lines, including duplicates, and the lines that were left out.

    Checkboxes with ids are the criteria. If there are none, list items with ids are; if there are none, headings.
    """
    found = [each for number, line in _prose(text) if (each := _read_line(line, number)) is not None]
    named = [each for each in found if each.id and not _STANDARD.match(each.id)]
    form = min((each.form for each in named), default=_BOX)
    counted = [each for each in named if each.form == form]
    ids = {each.id for each in counted}
    # A checkbox that is indented deeper than those with ids is a detail of one of them.
    outermost = min((each.indent for each in counted), default=-1) if form == _BOX else -1
    left_out = []
    for each in found:
        is_detail = not each.id and each.indent > outermost
        if each.id not in ids and not is_detail:
            text = f"{each.id} {each.text}".strip()
            left_out.append(Criterion(line=each.line, text=text))
    criteria = [Criterion(id=each.id, text=each.text, file=file, line=each.line) for each in counted]
    return tuple(criteria), tuple(left_out)


def _read_line(line: str, number: int) -> _Found | None:
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    form = _HEADING if parts["item"] is None else _ITEM if parts["box"] is None else _BOX
    text = _without_closing_hashes(parts["heading"]) if parts["item"] is None else parts["item"]
    begins = _BEGINS_WITH_ID.fullmatch(text)
    if begins is None and form != _BOX:
        return None
    identity, text = ("", text) if begins is None else (begins[1], begins[2])
    indent = len((parts["indent"] or "").expandtabs(4))
    return _Found(form=form, line=number, indent=indent, id=identity, text=" ".join(text.split()))


def _without_closing_hashes(heading: str) -> str:
    """Return a heading's text. A regular expression would take quadratic time on a long line of blanks."""
    text = heading.rstrip()
    opened = text.rstrip("#")
    return opened.rstrip() if opened[-1:].isspace() else text


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line outside of fences and comments."""
    fence = ""
    for number, line in enumerate(_drop_comments(text).splitlines(), 1):
        if fence:
            stripped = line.strip(" >\t")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
        elif (opened := _FENCE.fullmatch(line)) is not None and (opened[1][0] != "`" or "`" not in opened[2]):
            fence = opened[1]
        else:
            yield number, line


def _drop_comments(text: str) -> str:
    """Return the text without comments, with the same number of lines.

    A regular expression would search the rest of the text for the end of each comment: quadratic time.
    """
    kept, end = [], 0
    while (start := text.find("<!--", end)) >= 0 and (close := text.find("-->", start)) >= 0:
        kept += [text[end:start], "\n" * text.count("\n", start, close)]
        end = close + len("-->")
    return "".join([*kept, text[end:]])
