"""Ask PlantUML itself whether its diagrams are valid, where it is installed.

One process for all diagrams of a folder; only if it complains, one for each, which then says which, where and why.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from phase_gate.evidence.documents.diagrams import Checked, Diagram, Flaw, has_end, has_start
from phase_gate.evidence.process.run import run_process
from phase_gate.values import Value

MISSING = "PlantUML is not installed (put plantuml into PATH, or name its jar in PLANTUML_JAR)"
#: Bytes of its answer.
_KEPT = 1 << 20
#: What it says where the diagram may be fine, and what it includes was not to be had.
_ABOUT_INCLUDES = ("include", "cannot open url", "cannot find", "no such file")


class Answer(Value):
    code: int
    lines: list[str]

    @property
    def is_good(self) -> bool:
        return self.code == 0 and bool(self.lines) and "ERROR" not in self.lines


def find_plantuml(environment: Mapping[str, str]) -> list[str] | None:
    """Return how it is called; None if it is not there."""
    jar = environment.get("PLANTUML_JAR")
    java = shutil.which("java", path=environment.get("PATH"))
    if jar and java and os.path.isfile(jar):
        return [java, "-Djava.awt.headless=true", "-jar", jar]
    script = shutil.which("plantuml", path=environment.get("PATH"))
    return None if script is None else [script]


def check_plantuml(
    diagrams: Iterable[Diagram], root: Path, *, timeout: float, environment: Mapping[str, str] = os.environ
) -> Iterator[Checked]:
    """Yield what PlantUML says about each.

    :param timeout: seconds for all of them together.
    """
    command = find_plantuml(environment)
    deadline = time.monotonic() + timeout
    folders: dict[str, list[Diagram]] = {}
    for diagram in diagrams:
        if has_start(diagram) and not has_end(diagram):
            yield Checked(diagram=diagram, flaw=Flaw("@start... without its @end...", diagram.line))
        elif command is None:
            yield Checked(diagram=diagram, unknown=MISSING)
        else:
            folders.setdefault(os.path.dirname(diagram.file), []).append(diagram)
    for folder, group in folders.items():
        assert command is not None, "without it there is no group"
        yield from _check_folder(command, root / folder, group, deadline, environment)


def _check_folder(
    command: list[str], folder: Path, group: list[Diagram], deadline: float, environment: Mapping[str, str]
) -> Iterator[Checked]:
    def ask(text: str) -> Answer:
        return _ask(command, folder, text, max(0.1, deadline - time.monotonic()), environment)

    left = list(group)
    try:
        if len(left) > 1 and ask("\n".join(map(_whole, left))).is_good:
            yield from (Checked(diagram=diagram) for diagram in left)
            return
        while left:
            answer = ask(_whole(left[0]))
            yield _read(left.pop(0), answer)
    except OSError as error:
        yield from (Checked(diagram=diagram, unknown=f"PlantUML: {error}") for diagram in left)


def _whole(diagram: Diagram) -> str:
    return diagram.text if has_start(diagram) else f"@startuml\n{diagram.text}\n@enduml"


def _ask(command: list[str], folder: Path, text: str, seconds: float, environment: Mapping[str, str]) -> Answer:
    """Return what it says about a text. Raises OSError where it says nothing."""
    with TemporaryDirectory() as kept:
        given, log = Path(kept, "given.puml"), Path(kept, "said.txt")
        given.write_text(f"{text}\n", encoding="utf-8")
        ended = run_process(
            [*command, "-charset", "UTF-8", "-syntax"],
            shell=False,
            cwd=folder,  # what a diagram includes is named from there
            environment=environment,
            timeout=seconds,
            log=log,
            limit=_KEPT,
            stdin=given,
            leaves_none=True,
        )
        if ended.interrupted_by:
            signal.raise_signal(ended.interrupted_by)
        if ended.code is None:
            raise OSError(ended.problem or "it did not answer in time")
        assert ended.stdout is not None, "it was asked for"
        said = ended.stdout.read_text(encoding="utf-8", errors="replace")
    return Answer(code=ended.code, lines=[line.strip() for line in said.splitlines() if line.strip()])


def _read(diagram: Diagram, answer: Answer) -> Checked:
    if answer.is_good:
        return Checked(diagram=diagram)
    if answer.lines[:1] != ["ERROR"] or len(answer.lines) < 2 or not answer.lines[1].isdigit():
        return Checked(diagram=diagram, unknown=f"PlantUML ended with {answer.code} and said nothing about it")
    why = " ".join(answer.lines[2:]) or "it is refused"
    if any(words in why.lower() for words in _ABOUT_INCLUDES):
        return Checked(diagram=diagram, unknown=f"PlantUML: {why}")
    # It counts lines from 0, and @startuml is the first one.
    inner = int(answer.lines[1]) - (0 if has_start(diagram) else 1)
    return Checked(diagram=diagram, flaw=Flaw(f"PlantUML: {why}", diagram.line + max(0, inner)))
