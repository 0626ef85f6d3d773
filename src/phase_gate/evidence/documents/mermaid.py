"""Ask a real parser whether Mermaid diagrams are valid: merman, which is Mermaid's grammar without a browser."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from phase_gate.evidence.documents.diagrams import Checked, Diagram, Flaw, blank_noise

if TYPE_CHECKING:
    from merman import Merman

#: What to do about diagrams that could not be parsed.
MISSING = "no parser for Mermaid is installed (pip install 'pytest-phase-gate[mermaid]')"

#: What Mermaid takes by default (`maxTextSize`).
MAX_CHARACTERS = 50_000


def check_mermaid(diagrams: Iterable[Diagram]) -> Iterator[Checked]:
    """Yield what the parser says about each."""
    try:
        from merman import Merman
    except (ImportError, OSError):  # it is not there, or its library does not fit this system
        yield from (Checked(diagram=diagram, unknown=MISSING) for diagram in diagrams)
        return
    parser = Merman()
    for diagram in diagrams:
        try:
            yield Checked(diagram=diagram, flaw=_find_flaw(parser, diagram))
        except Exception as error:  # a fault of the parser says nothing about the diagram
            yield Checked(diagram=diagram, unknown=f"merman: {type(error).__name__}: {error}")


def _find_flaw(parser: Merman, diagram: Diagram) -> Flaw | None:
    # Front matter has to be on the first line, for this parser.
    text = diagram.text.lstrip("\n")
    if len(text) > MAX_CHARACTERS:
        return Flaw(f"it has more than {MAX_CHARACTERS:,} characters, which Mermaid does not draw", diagram.line)
    first = diagram.line + len(diagram.text) - len(text)
    doubt = find_doubt(text)
    if not parser.validate(text, None).valid and not _accepts(parser, spread(text)):
        return _explain(json.loads(parser.analyze_json(text, None)), first)
    return None if doubt is None else Flaw(doubt.why, first + doubt.line - 1)


def _accepts(parser: Merman, text: str | None) -> bool:
    return text is not None and bool(parser.validate(text, None).valid)


def _explain(analysis: dict[str, list[dict[str, object]]], first: int) -> Flaw:
    for row in analysis["diagnostics"]:
        if row["severity"] == "error":
            span = row.get("span")
            line = span.get("line") if isinstance(span, dict) else None
            return Flaw(" ".join(str(row["message"]).split()), first + (line - 1 if isinstance(line, int) else 0))
    return Flaw("the parser refuses it, and does not say why", first)


# --- where the parser that we ask and Mermaid itself disagree, as far as comparing the two has shown it


_KEYWORD = re.compile(r"\s*([\w-]+)")
_TEXT = re.compile(r'"[^"]*"|`[^`\n]*`', re.S)

Rule = Callable[[str], Iterator[Flaw]]


def find_doubt(text: str) -> Flaw | None:
    """Return the first thing that Mermaid would not accept."""
    body = blank_noise(text.replace("\r\n", "\n"))
    found = _KEYWORD.match(body)
    rule = _RULES.get(found[1]) if found is not None else None
    return next(rule(body), None) if rule is not None else None


def spread(text: str) -> str | None:
    """Return the same diagram as the parser wants it, where it is stricter than Mermaid: a brace ends its line."""
    found = _KEYWORD.match(blank_noise(text))
    if found is None or not found[1].startswith(("classDiagram", "C4")):
        return None
    opened = _OPENS.sub(r"\1\n\2", text) if found[1].startswith("class") else text
    return _CLOSES.sub(r"\1\n}", opened)


_OPENS = re.compile(r"^([ \t]*class\b[^{\n]*\{)[ \t]*([^\s}].*)$", re.M)
_CLOSES = re.compile(r"^(.*[^\s{])[ \t]*\}[ \t]*$", re.M)


def _stand_in(text: re.Match[str]) -> str:
    """Return something as many lines long as a text, which may have any words in it."""
    return "x" + "\n" * text[0].count("\n")


def _lines(body: str) -> Iterator[tuple[int, str]]:
    yield from enumerate(_TEXT.sub(_stand_in, body).split("\n"), 1)


# --- flowcharts

_HEAD = re.compile(r"\s*(?:graph|flowchart|flowchart-elk)(?:\s+(?:TB|TD|BT|RL|LR|[<>^v])(?:;.*|[ \t]*)|[ \t]*)")
_STYLE = re.compile(r"\s*(style|classDef|linkStyle)\s+(.*)")
_EMPTY = re.compile(r"\[\]|\(\)|\{\}|\|\|")
#: Texts of nodes and links may have anything in them.
_LABEL = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}|\|[^|]*\|")
_REMARK = re.compile(r"\s%%|%%\s")
_LINK = re.compile(r"--|==|-\.|~~~")
_MAY_HAVE_REMARK = re.compile(r"\s*(?:subgraph|direction|click|end)\b")


def _flowchart(body: str) -> Iterator[Flaw]:
    lines = body.split("\n")
    head = next(number for number, line in enumerate(lines) if line.strip())
    if not _HEAD.fullmatch(lines[head]):
        yield Flaw("it has to begin with a line like: flowchart TD (or TB, BT, RL, LR)", head + 1)
    for number, line in _lines(body):
        if style := _STYLE.fullmatch(line):
            words = style[2].partition(";")[0].split(None, 1)
            if len(words) < 2 or re.search(r"[\[\](){}]", words[1]):
                yield Flaw(f"{style[1]} wants a name, and styles without brackets", number)
        elif not line.lstrip().startswith("click"):
            if empty := _EMPTY.search(line):
                yield Flaw(f"there is nothing in {empty[0]}", number)
            if not _MAY_HAVE_REMARK.match(line) and _has_remark(_LABEL.sub("x", line)):
                yield Flaw("a %% comment needs a line of its own", number)


def _has_remark(line: str) -> bool:
    """Tell whether a remark stands in a line with no link behind it."""
    last_link = max((found.start() for found in _LINK.finditer(line)), default=-1)
    # Three characters long: one that begins here ends behind the beginning of that link.
    return _REMARK.search(line, max(0, last_link - 2)) is not None


# --- class diagrams

_BODY = re.compile(r"\s*(class|namespace)\b[^{]*\{(.*)")
_CLASS_REMARK = re.compile(r"\s*class\b[^{]*\s%%")


def _class_diagram(body: str) -> Iterator[Flaw]:
    open_at: list[tuple[str, int]] = []
    for number, line in _lines(body):
        if open_at and open_at[-1][0] == "class":
            if "{" in line:
                yield Flaw(f"the class of line {open_at[-1][1]} is not closed before this brace", number)
            if "}" in line:
                open_at.pop()
        elif _CLASS_REMARK.match(line):
            yield Flaw("a %% comment needs a line of its own", number)
        elif found := _BODY.match(line):
            if found[1] == "class" and "{" in found[2]:
                yield Flaw("a brace is opened in the class before it is closed", number)
            open_at.append((found[1], number))
            if "}" in found[2]:
                open_at.pop()
        elif line.strip() == "}":
            if not open_at:
                yield Flaw("a brace is closed that was never opened", number)
            else:
                open_at.pop()


# --- C4, entities, flows

_CALL = re.compile(r"\s*[A-Z]\w*(\s*)\(")
#: Arguments in quotes, or without any quotes; the last one in quotes, right before the bracket.
_ARGUMENTS = re.compile(r'(?:(?:\s*(?:\$\w+=)?"[^"]*"\s*|[^",]*),)*\s*(?:\$\w+=)?"[^"]*"\)')


def _c4(body: str) -> Iterator[Flaw]:
    lines = body.rstrip().split("\n")
    for number, line in enumerate(lines, 1):
        call = _CALL.match(line)
        if call is not None and call[1]:
            yield Flaw("no blank may stand before the bracket", number)
        if call is not None and not _ARGUMENTS.match(line, call.end()):
            yield Flaw('the last argument wants quotes, right before the bracket: "..."', number)
        if number < len(lines) and re.search(r"[){}]\s*%%", _TEXT.sub("x", line)):
            yield Flaw("a %% comment needs a line of its own", number)


def _entities(body: str) -> Iterator[Flaw]:
    for number, line in _lines(body):
        if re.search(r"\s%%", line.lstrip()):
            yield Flaw("a %% comment needs a line of its own", number)


def _sankey(body: str) -> Iterator[Flaw]:
    _, *rows = [(number, line) for number, line in enumerate(body.split("\n"), 1) if line.strip()]
    for number, line in rows:
        cells = next(csv.reader([line.strip()]), [])
        if len(cells) < 3 or not all(cells[:3]):
            yield Flaw("a row has a source, a target and a value", number)


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("graph", "flowchart", "flowchart-elk"), _flowchart),
    **dict.fromkeys(("classDiagram", "classDiagram-v2"), _class_diagram),
    **dict.fromkeys(("C4Context", "C4Container", "C4Component", "C4Dynamic", "C4Deployment"), _c4),
    **dict.fromkeys(("sankey", "sankey-beta"), _sankey),
    "erDiagram": _entities,
}
