"""Values: a mutant, what was tried with it, and all of them together."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping
from typing import Literal

from phase_gate.hashing import sha256
from phase_gate.values import Value, field
from phase_gate.visible import cut

#: "unknown": it could not be tried, and is not counted.
Verdict = Literal["killed", "survived", "timeout", "unknown"]
#: In the order in which people want to read them.
COUNTED: tuple[Verdict, ...] = ("survived", "timeout", "killed")


def split_lines(source: str) -> list[str]:
    """Return the lines as Python counts them, with their ends: a form feed ends none."""
    return io.StringIO(source, newline="").readlines()


def _one_line(text: str) -> str:
    return f"`{cut(' '.join(text.split()))}`"


class Mutant(Value):
    """A small change: some text of a file stands for other text."""

    file: str
    #: Where the text begins and ends; columns count characters.
    line: int
    column: int
    end_line: int
    end_column: int
    #: What stood there, and what stands there now.
    was: str
    text: str
    #: The lines of the statement that it is in, or of its head.
    first: int
    last: int

    @property
    def id(self) -> str:
        place = (self.file, self.line, self.column, self.end_line, self.end_column, self.text)
        return sha256(repr(place).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def change(self) -> str:
        """What it does, for a sentence."""
        return f"{_one_line(self.text)} in place of {_one_line(self.was)}"

    def apply(self, source: str) -> str:
        """Return the source with it."""
        lines = split_lines(source)
        head, tail = lines[self.line - 1][: self.column], lines[self.end_line - 1][self.end_column :]
        lines[self.line - 1 : self.end_line] = [head + self.text + tail]
        return "".join(lines)

    def diff(self, source: str) -> str:
        """Return it as a unified diff."""
        before, after = source.splitlines(), self.apply(source).splitlines()
        return "\n".join(difflib.unified_diff(before, after, self.file, self.file, lineterm="", n=1))


class Tried(Value):
    """What became of a mutant."""

    mutant: Mutant
    verdict: Verdict
    #: The tests that it was tried with, without their parameters.
    tests: tuple[str, ...] = ()
    #: The test that failed; empty where pytest itself did not survive it.
    by: str = ""
    #: What the test said, or why it could not be tried.
    why: str = ""
    diff: str = ""
    seconds: float = 0.0


class Baseline(Value):
    """A run of the tests in a room without any mutant."""

    #: File -> line, as text -> the tests that reach it; an empty name stands for an import.
    lines: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    #: Tests that passed, without their parameters -> seconds.
    tests: Mapping[str, float] = field(default_factory=dict)
    #: Seconds beside those of the tests: to make the room, to start, to collect.
    overhead: float = 0.0
    room: str = ""
    #: Why it is not known which test reaches which line.
    blind: str = ""


class Mutation(Value):
    """All that was tried on the files as they are."""

    tried: tuple[Tried, ...] = ()
    #: Mutants that were not tried yet.
    left: int = 0
    baseline: Baseline | None = None
    #: What the tests ran with, as a digest: what was tried otherwise is tried again.
    key: str = ""
    #: Why nothing could be tried.
    problem: str = ""
    #: What the lines are new since, for people.
    since: str = ""
    #: New statements that a comment keeps mutants away from.
    excused: int = 0
    #: Of this call: runs of pytest, and seconds.
    starts: int = 0
    seconds: float = 0.0
    #: The user stopped this call.
    is_interrupted: bool = False

    def count(self, verdict: Verdict) -> int:
        return sum(each.verdict == verdict for each in self.tried)

    @property
    def survivors(self) -> tuple[Tried, ...]:
        """Those that no test noticed, in the order of the sources."""
        found = (each for each in self.tried if each.verdict == "survived")
        return tuple(sorted(found, key=lambda each: (each.mutant.file, each.mutant.line, each.mutant.column)))

    @property
    def total(self) -> int:
        """How many were tried, and gave an answer."""
        return sum(each.verdict != "unknown" for each in self.tried)

    @property
    def is_whole(self) -> bool:
        """Whether every mutant has an answer: only then the counts mean something to a gate."""
        return not self.problem and not self.left and self.total == len(self.tried)
