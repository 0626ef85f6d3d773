"""Take a step with phases in a folder: its baseline, RED with what passes already marked, GREEN, and its proof."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.wild.comparing import Said
from scripts.wild.running import Tools, call
from scripts.wild.stepping import mark

#: Seconds of one command.
_TIMEOUT = 600
#: How often tests that pass already are marked so: a run names twenty at a time.
_MARKED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What was said about one phase of a step."""

    #: Whether plain pytest says that it has to open; None: it was not asked.
    is_expected: bool | None = None
    is_open: bool = False
    #: Clauses and guards that were not met, or how the run ended.
    why: tuple[str, ...] = ()
    #: A sentence for those who look into it.
    said: str = ""
    seconds: float = 0.0

    @property
    def is_refused(self) -> bool:
        return self.is_expected is True and not self.is_open

    @property
    def is_false(self) -> bool:
        """It opened, and nothing was there to open it for."""
        return self.is_expected is False and self.is_open


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """What a proof said."""

    #: Its verdicts, and what its targets showed that expected something else, counted.
    counts: Mapping[str, int] = field(default_factory=dict)
    altered: Mapping[str, int] = field(default_factory=dict)
    #: What it said of checks that can't fail, or of rows and asserts.
    unfailing: tuple[str, ...] = ()
    #: Why there is none.
    problem: str = ""
    seconds: float = 0.0
    starts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    tools: Tools
    folder: Path
    #: What pytest is told.
    arguments: tuple[str, ...]
    #: For a home of its own and the verdict.
    place: Path

    def call(self, *command: str, timeout: float = _TIMEOUT) -> Said:
        return call(command, self.tools, self.folder, self.place / "home", timeout=timeout)

    def note_baseline(self) -> Said:
        return self.call(*self.tools.gate, "baseline", "--", *self.arguments)

    def turn_red(self) -> tuple[Phase, int]:
        """Run RED; mark what passes already, as the verdict says, and run it again; return how many were marked."""
        marked: set[str] = set()
        red = self.run_phase("red", "--exit-signal=red")
        for _ in range(_MARKED):
            new = {each.partition("[")[0] for each in self._find("already-passing")} - marked
            if red.is_open or not new:
                break
            mark(self.folder, new)
            marked |= new
            red = self.run_phase("red", "--exit-signal=red")
        return red, len(marked)

    def turn_green(self) -> Phase:
        """Run GREEN as often as it asks for."""
        self.run_phase("green")
        return self.run_phase("green", "--exit-signal=done")

    def run_phase(self, name: str, *words: str) -> Phase:
        self._report.unlink(missing_ok=True)
        options = (f"--phase={name}", f"--phase-report={self._report}", *words)
        said = self.call(*self.tools.pytest, *self.arguments, *options)
        verdict = self._read_report()
        return Phase(
            is_open=bool(verdict.get("can_exit")),
            why=find_unmet(verdict) if verdict else (f"exit status {said.code}",),
            said=str(verdict.get("reason", said.output.strip()[-300:])),
            seconds=said.seconds,
        )

    def read_proof(self) -> Proven:
        """Return what the last proof said."""
        said = self.call(*self.tools.gate, "explain", "targets-proven", "--json")
        proof = (json.loads(said.output) if said.code == 0 else {}).get("proof") or {"problem": "none was made"}
        if proof["problem"]:
            return Proven(problem=proof["problem"])
        targets = proof["targets"]
        doubted = [each for each in targets if each["advice"] or each["verdict"] == "cannot-fail"]
        return Proven(
            counts=dict(Counter(each["verdict"] for each in targets)),
            altered=dict(Counter(each["altered"] for each in targets)),
            unfailing=tuple(each["advice"] or each["why"] for each in doubted),
            seconds=proof["seconds"],
            starts=proof["starts"],
        )

    def _find(self, slug: str) -> tuple[str, ...]:
        return tuple(row["id"] for row in self._read_report().get("findings", ()) if row["id"] and row["slug"] == slug)

    def _read_report(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self._report.read_text(encoding="utf-8")) if self._report.exists() else {}
        return found

    @property
    def _report(self) -> Path:
        return self.place / "verdict.json"


def find_unmet(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which clauses and guards kept Gate 1 closed."""
    gate = verdict["gate_1"]
    clauses = tuple(each["text"] for each in gate["clauses"] if not each["met"])
    return (*clauses, *(each["name"] for each in gate["guards"] if not each["met"]))
