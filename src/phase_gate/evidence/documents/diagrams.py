"""Find diagrams, recognize C4 diagrams and empty ones, and validate them.

Diagrams are validated by their own parsers: merman, which is Mermaid's grammar without a browser, and PlantUML
itself, if it is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.evidence.documents.library import DIAGRAM_SUFFIXES, Language, Page
from phase_gate.evidence.process.tree import end_children
from phase_gate.values import Value

if TYPE_CHECKING:
    from merman import Merman

_LANGUAGES: Mapping[str, Language] = {
    "mermaid": "Mermaid",
    "plantuml": "PlantUML",
    "puml": "PlantUML",
    "uml": "PlantUML",
    "c4plantuml": "PlantUML",
}
#: A document without any of these words, in lower case, has no diagram.
WORDS = ("mermaid", "uml")


class Diagram(Value):
    file: str
    #: The number of its first line in the file.
    line: int
    language: Language
    text: str


class Checked(Value):
    """The result for a diagram: what is wrong and in which line of the file, or why the result is unknown."""

    diagram: Diagram
    flaw: str = ""
    line: int = 0
    unknown: str = ""


def find_on_page(page: Page, file: str) -> Iterator[Diagram]:
    """Yield the diagrams of a document."""
    for block in page.blocks:
        language = _LANGUAGES.get(block.language)
        if language is not None:
            yield Diagram(file=file, line=block.line, language=language, text=block.text)


def find_in_file(text: str, file: str) -> Iterator[Diagram]:
    """Yield the diagram of a diagram file. Its suffix determines the language."""
    language = DIAGRAM_SUFFIXES[file[file.rindex(".") :].lower()]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Without a start, it is a file for other diagrams to include.
    if language != "PlantUML" or _START.search(text):
        yield Diagram(file=file, line=1, language=language, text=text)


# --- Mermaid

_FRONT = re.compile(r"\A\s*---[ \t]*\n.*?\n[ \t]*---[ \t]*(?:\n|\Z)", re.S)
_MERMAID_NOISE = re.compile(r"%%\{.*?(?:\}%%|\Z)|^[ \t]*%%[^\n]*$", re.S | re.M)
_MERMAID_C4 = re.compile(r"C4(?:Context|Container|Component|Dynamic|Deployment)\b")
_C4_ELEMENT = re.compile(
    r"^[ \t]*(?:(?:Person|System|SystemDb|SystemQueue|Container|ContainerDb|ContainerQueue|Component|ComponentDb"
    r"|ComponentQueue)(?:_Ext)?|Deployment_Node|Node|Node_L|Node_R|\w*Boundary)\s*\(",
    re.M,
)
#: Lines with a title or description, which draw nothing.
_TITLE = re.compile(r"^[ \t]*(?:title\b[^\n]*|acc(?:Title|Descr)\s*:[^\n]*|accDescr\s*\{[^{}]*\})[ \t]*$", re.M)


def _mermaid_body(text: str) -> str:
    """Return the diagram without front matter, directives and comments."""
    return _MERMAID_NOISE.sub("", _FRONT.sub("", text)).strip()


# --- PlantUML

_START = re.compile(r"^[ \t]*@start\w+", re.M)
#: Of its answer to `-syntax`: the line, and the reason.
_PLANTUML_ERROR = re.compile(r"^ERROR\s+(\d+)\s+(.*)$", re.M)
_PLANTUML_C4 = re.compile(
    r"^[ \t]*!include(?:url|_once|_many)?\s+(?:<C4/C4\w*>|\S*C4_\w+(?:\.puml)?)[ \t]*$", re.M | re.I
)
_PLANTUML_NOISE = re.compile(r"/'.*?(?:'/|\Z)|^[ \t]*(?:'|@start|@end|!|title\b|skinparam\b)[^\n]*$", re.S | re.M)


# --- all


def is_c4(diagram: Diagram) -> bool:
    """Return whether a diagram is a C4 diagram with at least one element."""
    if diagram.language == "Mermaid":
        body = _mermaid_body(diagram.text)
        return _MERMAID_C4.match(body) is not None and _C4_ELEMENT.search(body) is not None
    return _PLANTUML_C4.search(diagram.text) is not None and _C4_ELEMENT.search(diagram.text) is not None


def is_empty(diagram: Diagram) -> bool:
    """Return whether a diagram draws nothing, according to simple patterns for its language."""
    if diagram.language == "Mermaid":
        head, _, rest = _TITLE.sub("", _mermaid_body(diagram.text)).strip().partition("\n")
        # `graph TD; A --> B` is a diagram in one line.
        return not rest.strip() and not re.search(r";\s*\S", head)
    return not _PLANTUML_NOISE.sub("", diagram.text).strip()


#: In seconds, for all diagrams together.
_PLANTUML_TIMEOUT = 120.0


def check(diagrams: Iterable[Diagram], root: Path) -> list[Checked]:
    """Return the result for each diagram, in the order of files and lines."""
    found = list(diagrams)
    checked = [
        *check_mermaid([each for each in found if each.language == "Mermaid"]),
        *check_plantuml([each for each in found if each.language == "PlantUML"], root, timeout=_PLANTUML_TIMEOUT),
    ]
    for index, each in enumerate(checked):
        if not each.flaw and is_empty(each.diagram):
            checked[index] = Checked(diagram=each.diagram, flaw="there is nothing in it", line=each.diagram.line)
    return sorted(checked, key=lambda each: (each.diagram.file, each.diagram.line))


# --- whether Mermaid diagrams are valid

#: The message if Mermaid diagrams can't be parsed.
NO_MERMAN = "no parser for Mermaid is installed (pip install 'pytest-phase-gate[mermaid]')"
#: Mermaid's own limit (`maxTextSize`): it draws no diagram with more characters.
_LONGEST = 50_000


def check_mermaid(diagrams: Iterable[Diagram]) -> Iterator[Checked]:
    """Yield the parser's result for each diagram."""
    try:
        from merman import Merman
    except (ImportError, OSError):  # it is not installed, or its library does not work on this system
        yield from (Checked(diagram=diagram, unknown=NO_MERMAN) for diagram in diagrams)
        return
    parser = Merman()
    for diagram in diagrams:
        try:
            yield _parse(parser, diagram)
        except Exception as error:  # an error in the parser is not a flaw of the diagram
            yield Checked(diagram=diagram, unknown=f"merman: {type(error).__name__}: {error}")


def _parse(parser: Merman, diagram: Diagram) -> Checked:
    if len(diagram.text) > _LONGEST:
        return Checked(
            diagram=diagram, flaw=f"longer than the {_LONGEST:,} characters that Mermaid draws", line=diagram.line
        )
    # This parser requires front matter to begin on the first line.
    text = diagram.text.lstrip("\n")
    if parser.validate(text, None).valid:
        return Checked(diagram=diagram)
    line, why = diagram.line + len(diagram.text) - len(text), "the parser refuses it without a reason"
    for row in json.loads(parser.analyze_json(text, None))["diagnostics"]:
        if row["severity"] == "error":
            line += ((row.get("span") or {}).get("line") or 1) - 1
            return Checked(diagram=diagram, flaw=" ".join(row["message"].split()), line=line)
    return Checked(diagram=diagram, flaw=why, line=line)


# --- whether PlantUML diagrams are valid

NO_PLANTUML = "PlantUML is not installed (put plantuml into PATH)"


def check_plantuml(diagrams: Iterable[Diagram], root: Path, *, timeout: float) -> Iterator[Checked]:
    """Yield PlantUML's result for each diagram.

    :param timeout: seconds for all diagrams together.
    """
    command = shutil.which("plantuml")
    deadline = time.monotonic() + timeout
    for diagram in diagrams:
        if command is None:
            yield Checked(diagram=diagram, unknown=NO_PLANTUML)
            continue
        try:
            yield _ask(command, diagram, root, max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            yield Checked(diagram=diagram, unknown="PlantUML did not answer in time")
        except OSError as error:
            yield Checked(diagram=diagram, unknown=f"PlantUML: {error}")


def _ask(command: str, diagram: Diagram, root: Path, seconds: float) -> Checked:
    """Return PlantUML's result. Raises OSError if it does not run, and TimeoutExpired if it does not end in time."""
    has_start = _START.search(diagram.text) is not None
    with subprocess.Popen(
        [command, "-charset", "UTF-8", "-syntax"],
        cwd=(root / diagram.file).parent,  # includes are relative to it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            text = diagram.text if has_start else f"@startuml\n{diagram.text}\n@enduml\n"
            answer, _ = process.communicate(text, seconds)
        finally:
            if process.poll() is None:
                end_children(process.pid)  # it may be a script that starts Java
    found, status = _PLANTUML_ERROR.search(answer), process.returncode
    if found is None and status == 0 and answer.strip():
        return Checked(diagram=diagram)
    if found is None:
        return Checked(diagram=diagram, unknown=f"PlantUML ended with {status} and reported nothing about it")
    # PlantUML counts lines from 0, and @startuml is the first line.
    inner = int(found[1]) - (0 if has_start else 1)
    return Checked(diagram=diagram, flaw=f"PlantUML: {found[2]}", line=diagram.line + max(0, inner))
