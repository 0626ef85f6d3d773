"""PlantUML as a checker: how it is found, what its answers mean, and what happens if it does not answer.

The stand-in answers as PlantUML 1.2020.2 and later do on `-syntax`: a kind and a number for each diagram, or `ERROR`,
a line counted from 0, and a reason; with status 200 if there was an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.evidence.documents.diagrams import Checked, Diagram, check_plantuml

pytestmark = pytest.mark.processes

STAND_IN = """\
#!{python}
import re, sys, time

text = sys.stdin.read()
status = 0
for block in re.findall(r"@start.*?@end\\w+", text, re.S):
    lines = block.split("\\n")
    bad = [n for n, line in enumerate(lines) if "???" in line]
    gone = [n for n, line in enumerate(lines) if line.startswith("!include nowhere")]
    if "sleep" in block:
        time.sleep(60)
    if "crash" in block:
        sys.exit(3)
    if bad or gone:
        status = 200
        print("ERROR", (bad or gone)[0], "Syntax Error?" if bad else "cannot include nowhere.puml", sep="\\n")
    else:
        print("SEQUENCE", "(2 participants)", sep="\\n")
sys.exit(status)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH with nothing but the stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "plantuml"
    script.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    return {"PATH": str(folder)}


def diagram(text: str, file: str = "docs/a.md", line: int = 5) -> Diagram:
    return Diagram(file=file, line=line, language="PlantUML", text=text)


def check(
    tmp_path: Path, environment: dict[str, str], *diagrams: Diagram, timeout: float = 60
) -> dict[str, tuple[int, str] | str]:
    """Return line and reason of a flaw, or why nothing is known, or an empty text, by the diagram's own."""
    for each in diagrams:
        (tmp_path / each.file).parent.mkdir(parents=True, exist_ok=True)
    found = list(check_plantuml(diagrams, tmp_path, timeout=timeout, environment=environment))
    assert sorted(each.diagram.text for each in found) == sorted(each.text for each in diagrams)
    return {each.diagram.text: _said(each) for each in found}


def _said(checked: Checked) -> tuple[int, str] | str:
    return (checked.line, checked.flaw) if checked.flaw else checked.unknown


GOOD = "@startuml\nA -> B\n@enduml"
BAD = "@startuml\nA -> B\n???\n@enduml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(GOOD, "", id="valid"),
        pytest.param("A -> B\n", "", id="valid-without-its-start"),
        pytest.param(BAD, (7, "PlantUML: Syntax Error?"), id="broken"),
        pytest.param("A -> B\n???\n", (6, "PlantUML: Syntax Error?"), id="broken-without-its-start"),
        pytest.param("@startuml\nA -> B\n", (5, "@start... without its @end..."), id="never-ended"),
        pytest.param(
            "@startuml\n!include nowhere.puml\n@enduml",
            "PlantUML: cannot include nowhere.puml",
            id="an-include-is-missing",
        ),
        pytest.param("@startuml\ncrash\n@enduml", "PlantUML ended with 3 and reported nothing about it", id="crashed"),
    ],
)
def test_what_an_answer_means(
    tmp_path: Path, environment: dict[str, str], text: str, expected: tuple[int, str] | str
) -> None:
    assert check(tmp_path, environment, diagram(text)) == {text: expected}


def test_one_that_takes_too_long_is_unknown(tmp_path: Path, environment: dict[str, str]) -> None:
    found = check(tmp_path, environment, diagram("@startuml\nsleep\n@enduml"), timeout=1)
    assert set(found.values()) == {"PlantUML: it did not answer in time"}
