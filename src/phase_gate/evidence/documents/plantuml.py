"""Ask PlantUML itself whether its diagrams are valid, where it is installed.

One process for all diagrams of a folder; only if it complains, one for each, which then says which, where and why.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from phase_gate.evidence.documents.diagrams import Checked, Diagram, Flaw, has_end, has_start
from phase_gate.values import Value

MISSING = "PlantUML is not installed (put plantuml into PATH, or name its jar in PLANTUML_JAR)"
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
    left = list(group)
    try:
        if len(left) > 1 and _ask(command, folder, "\n".join(map(_whole, left)), deadline, environment).is_good:
            yield from (Checked(diagram=diagram) for diagram in left)
            return
        while left:
            answer = _ask(command, folder, _whole(left[0]), deadline, environment)
            yield _read(left.pop(0), answer)
    except (subprocess.TimeoutExpired, OSError) as error:
        why = "it did not answer in time" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        yield from (Checked(diagram=diagram, unknown=f"PlantUML: {why}") for diagram in left)


def _whole(diagram: Diagram) -> str:
    return diagram.text if has_start(diagram) else f"@startuml\n{diagram.text}\n@enduml"


def _ask(command: list[str], folder: Path, text: str, deadline: float, environment: Mapping[str, str]) -> Answer:
    # In the document's folder: what it includes is named from there.
    with subprocess.Popen(
        [*command, "-charset", "UTF-8", "-syntax"],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(f"{text}\n".encode(), timeout=max(0.1, deadline - time.monotonic()))
        except BaseException:
            # With its children: the command may be a script that starts Java.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
            raise
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return Answer(code=process.returncode, lines=lines)


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
