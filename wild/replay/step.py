"""Take one step of a history with phases, and say beside plain runs of pytest what each gate should have said."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wild.comparing import Said
from wild.preparing import Linked
from wild.projects import Project
from wild.proving import PLAIN, read_outcomes, read_report
from wild.replay.history import Clone, Commit
from wild.running import call
from wild.stepping import mark

#: Seconds of a plain run: suites that need more are left out.
LONGEST = 60
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
class Replay:
    """What was said about one commit."""

    project: str
    commit: str
    date: str
    #: Of Python and pytest.
    made_with: str
    #: Why it says nothing; empty if it does.
    left_out: str = ""
    tests: int = 0
    #: Tests that were marked, because they pass with the parent, too.
    marked: int = 0
    plain_seconds: float = 0.0
    red: Phase = Phase()
    green: Phase = Phase()
    #: By the proof: its verdicts, counted, why there is none, and how long it took.
    proof: Mapping[str, int] = field(default_factory=dict)
    no_proof: str = ""
    proof_seconds: float = 0.0


def replay(project: Project, commit: Commit, clone: Clone, linked: Linked, place: Path) -> Replay:
    """Take the step.

    :param place: for a home of its own and the verdict; nothing may be there.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    result = Replay(project=project.name, commit=commit.name[:10], date=today, made_with=linked.made_with)
    runner = _Runner(clone=clone, linked=linked, arguments=project.arguments, place=place)
    clone.lay_parent(commit)
    lay_made(clone, linked)
    try:
        before = runner.run_plainly()
    except subprocess.TimeoutExpired:
        return replace(result, left_out=f"its suite takes more than {LONGEST} s")
    result = replace(result, tests=sum(before.outcomes.values()), plain_seconds=before.seconds)
    if not before.outcomes:
        return replace(result, left_out="pytest runs no test at its parent")
    if {name for name, _ in commit.tests} & {*read_outcomes(before)}:
        return replace(result, left_out="its tests can't be imported at its parent")
    clone.lay(commit, commit.tests)
    try:
        asked = find_newly_failing(before, runner.run_plainly())
    except subprocess.TimeoutExpired:
        return replace(result, left_out=f"its tests do not end within {LONGEST} s without its code")
    clone.lay(commit, commit.code)
    after = runner.run_plainly()
    if broken := find_newly_failing(before, after):
        return replace(result, left_out=f"its own suite fails here: {len(broken)} tests, {min(broken)} is one")
    if not after.outcomes:
        return replace(result, left_out="pytest runs no test at the commit")
    # Once more, with phases: nothing is left of the plain runs.
    clone.lay_parent(commit)
    lay_made(clone, linked)
    runner.note_baseline()
    clone.lay(commit, commit.tests)
    red, marked = _turn_red(runner) if asked else (runner.run_phase("red", "--exit-signal=red"), 0)
    result = replace(result, red=replace(red, is_expected=bool(asked)), marked=marked)
    if not red.is_open:
        return result
    clone.lay(commit, commit.code)
    runner.run_phase("green")
    green = replace(runner.run_phase("green", "--exit-signal=done"), is_expected=True)
    return replace(result, green=green, **runner.read_proof())


def _turn_red(runner: _Runner) -> tuple[Phase, int]:
    """Run RED; mark what passes already, as a developer is told to, and run it again."""
    marked: set[str] = set()
    red = runner.run_phase("red", "--exit-signal=red")
    for _ in range(_MARKED):
        new = {each.partition("[")[0] for each in runner.find("already-passing")} - marked
        if red.is_open or not new:
            break
        mark(runner.clone.folder, new)
        marked |= new
        red = runner.run_phase("red", "--exit-signal=red")
    return red, len(marked)


def find_newly_failing(before: Said, now: Said) -> frozenset[str]:
    """Return the tests, with their parameters, and files that fail in the second run, and not in the first."""
    return _failing(now) - _failing(before)


def _failing(said: Said) -> frozenset[str]:
    return frozenset(
        _without_message(rest)
        for word, _, rest in (line.partition(" ") for line in said.output.splitlines())
        if word in ("FAILED", "ERROR")
    )


def _without_message(text: str) -> str:
    """Return the id at the start of a line of the summary: its parameters may look like a message."""
    function, bracket, rest = text.partition("[")
    if not bracket or " - " in function:
        return text.partition(" - ")[0].strip()
    parameters = rest.partition("] - ")[0]
    return f"{function}[{parameters.removesuffix(']')}]"


def lay_made(clone: Clone, linked: Linked) -> None:
    """Lay the modules in that a build makes, and that git ignores: a file with the version, say."""
    imported = linked.link(clone.folder)
    for path in linked.release.rglob("*.py"):
        target = imported / path.relative_to(linked.release)
        if not target.exists() and target.parent.is_dir() and clone.ignores(str(target)):
            shutil.copyfile(path, target)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runner:
    clone: Clone
    linked: Linked
    arguments: tuple[str, ...]
    place: Path

    @property
    def _report(self) -> Path:
        return self.place / "verdict.json"

    def _call(self, *command: str, timeout: float = 10 * LONGEST) -> Said:
        return call(command, self.linked.tools, self.clone.folder, self.place / "home", timeout=timeout)

    def run_plainly(self) -> Said:
        return self._call(*self.linked.tools.pytest, *PLAIN, *self.arguments, timeout=LONGEST)

    def note_baseline(self) -> Said:
        return self._call(*self.linked.tools.gate, "baseline", "--", *self.arguments)

    def run_phase(self, name: str, *words: str) -> Phase:
        self._report.unlink(missing_ok=True)
        options = (f"--phase={name}", f"--phase-report={self._report}", *words)
        said = self._call(*self.linked.tools.pytest, *self.arguments, *options)
        verdict = read_report(self._report)
        return Phase(
            is_open=bool(verdict.get("can_exit")),
            why=find_unmet(verdict) if verdict else (f"exit status {said.code}",),
            said=str(verdict.get("reason", said.output.strip()[-300:])),
            seconds=said.seconds,
        )

    def find(self, slug: str) -> tuple[str, ...]:
        return tuple(
            row["id"] for row in read_report(self._report).get("findings", ()) if row["id"] and row["slug"] == slug
        )

    def read_proof(self) -> dict[str, Any]:
        said = self._call(*self.linked.tools.gate, "explain", "targets-proven", "--json")
        proof = (json.loads(said.output) if said.code == 0 else {}).get("proof") or {"problem": "none was made"}
        if proof["problem"]:
            return {"no_proof": proof["problem"]}
        counted = Counter(each["verdict"] for each in proof["targets"])
        return {"proof": dict(counted), "proof_seconds": proof["seconds"]}


def find_unmet(verdict: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which clauses and guards kept Gate 1 closed."""
    gate = verdict["gate_1"]
    clauses = tuple(each["text"] for each in gate["clauses"] if not each["met"])
    return (*clauses, *(each["name"] for each in gate["guards"] if not each["met"]))
