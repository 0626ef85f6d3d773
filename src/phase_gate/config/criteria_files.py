"""Read the acceptance criteria of a task: a number, or a YAML or Markdown file with ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from phase_gate.config.documents import decode_text, read_bytes, read_document
from phase_gate.config.reading import Items, Node, Reader, Table, Text, show
from phase_gate.errors import DocumentError, PhaseGateError
from phase_gate.gate.record import Criteria, Criterion
from phase_gate.storage.root import relative_id
from phase_gate.values import Value
from phase_gate.visible import cut


class CriteriaError(PhaseGateError):
    slug = "bad-criteria"


_MARKDOWN = (".md", ".markdown", ".mdown")
_YAML = (".yaml", ".yml", ".json")

#: How to write criteria in each format.
_IN_MARKDOWN = "write one per line, as in `- [ ] AC-1 What it does`"
_IN_YAML = "write one per line, as in `AC-1: What it does`"

#: An id in YAML, where the syntax marks it as one. Markdown needs the stricter `_ID`.
_ANY_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")


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
        problem = f"{cut(given)!r} is neither a number nor a file of criteria"
        remedy = f"give a whole number of 1 or more, or a file that ends in {', '.join((_MARKDOWN[0], *_YAML))}"
        raise CriteriaError(problem, remedy)
    data = read_bytes(path, name=name, error=CriteriaError, if_missing=if_missing)
    try:
        if suffix in _MARKDOWN:
            listed, left_out = find_criteria(decode_text(data, name=name), file=name)
        else:
            listed, left_out = _from_yaml(read_document(data, name=name), name), ()
    except DocumentError as error:
        raise CriteriaError(error.problem, error.remedy) from None
    if not listed:
        raise CriteriaError(f"{name}: no criterion in it", _IN_MARKDOWN if suffix in _MARKDOWN else _IN_YAML)
    first: dict[str, Criterion] = {}
    for each in listed:
        before = first.setdefault(each.id, each)
        if before is not each:
            problem = f"{name}:{each.line}: {each.id} occurs twice, first in line {before.line}"
            raise CriteriaError(problem, "give each criterion an id of its own")
    return Criteria(count=len(listed), listed=listed, file=name, left_out=left_out)


def _from_yaml(node: Node, name: str) -> tuple[Criterion, ...]:
    """Return the criteria of a mapping `id: text`, or of a list of those, with or without the key `criteria:`."""
    faults, found = Reader(CriteriaError), []
    node = node.get("criteria", node) if isinstance(node, Table) else node
    for row in node if isinstance(node, Items) else (node,):
        if not isinstance(row, Table) or (row is not node and len(row) != 1):
            faults.stop(row, f"{show(row)} is not a criterion with its id", _IN_YAML)
        for key, value in row.items():
            if not _ANY_ID.fullmatch(key):
                faults.stop(key, f"a criterion can't be called {cut(key)!r}", _IN_YAML)
            text = "" if isinstance(value, Text) and value.is_null else faults.text(value)
            found.append(Criterion(id=str(key), text=" ".join(text.split()), file=name, line=value.at.line))
    return tuple(found)


# --- Markdown: items of lists that begin with an id


#: `AC-1`, `REQ_12`, `US-3-AC-2`, `AC-1.4`, `AC-1a`: capitals, then numbers.
_ID = r"[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*[-_][0-9]+[a-z]?(?:\.[0-9]+)*"

#: Prefixes of standards' names, which look like ids.
_STANDARD = re.compile("(?:AES|ASCII|COVID|CVE|CWE|ECMA|HTTP|IEC|IEEE|ISO|PEP|RFC|RSA|SHA|UCS|UTF)[-_]")

#: An id may be bold, code, in brackets or a link, and a colon may follow it.
_BEGINS_WITH_ID = re.compile(
    rf"[*_`\[(]{{0,4}}({_ID})(?:[\]*_`).]|\([^()\s]*\))*(?::[*_`]*|(?=\s)|$)\s*(?:[-\u2013\u2014:]\s+)?(.*)"
)
#: A list item with an optional checkbox.
_LINE = re.compile(r"(?P<indent>\s*)(?:[-*+]|[0-9]{1,9}[.)])\s+(?P<box>\[[ xX]?\]\s+)?(?P<item>.*)")
_FENCE = re.compile(r"\s*(?:(?:[-*+>]|[0-9]{1,9}[.)])\s+)*(`{3,}|~{3,})(.*)")


class _Found(Value):
    """A list item with an id, or a checkbox without one."""

    is_box: bool
    line: int
    indent: int
    id: str
    text: str


def find_criteria(text: str, *, file: str) -> tuple[tuple[Criterion, ...], tuple[Criterion, ...]]:
    """Return the criteria in the order of their lines, including duplicates, and the lines that were left out.

    Checkboxes with ids are the criteria. If there are none, list items with ids are.
    """
    found = [each for number, line in _prose(text) if (each := _read_line(line, number))]
    named = [each for each in found if each.id and not _STANDARD.match(each.id)]
    counted = [each for each in named if each.is_box] or named
    ids = {each.id for each in counted}
    # A checkbox that is indented deeper than those with ids is a detail of one of them.
    outermost = min((each.indent for each in counted if each.is_box), default=-1)
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
    is_box, begins = parts["box"] is not None, _BEGINS_WITH_ID.fullmatch(parts["item"])
    if begins is None and not is_box:
        return None
    identity, text = ("", parts["item"]) if begins is None else begins.groups()
    indent = len(parts["indent"].expandtabs(4))
    return _Found(is_box=is_box, line=number, indent=indent, id=identity, text=" ".join(text.split()))


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line outside of fences and comments."""
    fence = ""
    for number, line in enumerate(_drop_comments(text).splitlines(), 1):
        if fence:
            stripped = line.strip(" >\t")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
        elif (opened := _FENCE.fullmatch(line)) and (opened[1][0] != "`" or "`" not in opened[2]):
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
