"""PlantUML as a checker: how it is found, what its answers mean, and what happens if it does not answer.

The stand-in answers as PlantUML 1.2020.2 and later do on `-syntax`: a kind and a number for each diagram, or `ERROR`,
a line counted from 0, and a reason; with status 200 if there was an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.evidence.documents.diagrams import Diagram, check_plantuml
from tests.evidence.processes import has_ended

pytestmark = pytest.mark.processes

STAND_IN = """\
#!{python}
import re, sys, time

text = sys.stdin.read()
status = 0
for block in re.findall(r"@start.*?@end\\w+", text, re.S):
    lines = block.split("\\n")
    bad = [n for n, line in enumerate(lines) if "???" in line]
    if "sleep" in block:
        time.sleep(60)
    if "crash" in block:
        sys.exit(3)
    if bad:
        status = 200
        print("ERROR", bad[0], "Syntax Error?", sep="\\n")
    else:
        print("SEQUENCE", "(2 participants)", sep="\\n")
sys.exit(status)
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with nothing but the stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "plantuml"
    script.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def check(folder: Path, text: str, timeout: float = 60) -> tuple[int, str] | str:
    """Return line and reason of a flaw, or why nothing is known, or an empty text."""
    diagram = Diagram(file="a.md", line=5, language="PlantUML", text=text)
    (checked,) = check_plantuml([diagram], folder, timeout=timeout)
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
        pytest.param("@startuml\nA -> B\n", "PlantUML ended with 0 and reported nothing about it", id="never-ended"),
        pytest.param("@startuml\ncrash\n@enduml", "PlantUML ended with 3 and reported nothing about it", id="crashed"),
    ],
)
def test_what_an_answer_means(tmp_path: Path, text: str, expected: tuple[int, str] | str) -> None:
    assert check(tmp_path, text) == expected


def test_one_that_takes_too_long_is_unknown(tmp_path: Path) -> None:
    assert check(tmp_path, "@startuml\nsleep\n@enduml", timeout=1) == "PlantUML did not answer in time"


def test_nothing_is_left_of_one_that_takes_too_long(tmp_path: Path) -> None:
    script = "#!/bin/sh\n/bin/sleep 600 &\necho $! > started\nwait\n"
    (tmp_path / "bin" / "plantuml").write_text(script, encoding="utf-8")
    assert check(tmp_path, GOOD, timeout=2) == "PlantUML did not answer in time"
    assert has_ended(int((tmp_path / "started").read_text(encoding="utf-8")))
