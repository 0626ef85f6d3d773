"""Take one step of a history with phases, and say beside plain runs of pytest what each gate should have said."""

from __future__ import annotations

import datetime
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from scripts.wild.comparing import Said
from scripts.wild.phases import Phase, Proven, Runner
from scripts.wild.preparing import Linked
from scripts.wild.projects import Project
from scripts.wild.proving import PLAIN, read_outcomes
from scripts.wild.replay.history import Clone, Commit

#: Seconds of a plain run: suites that need more are left out.
LONGEST = 60


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
    red: Phase = field(default_factory=Phase)
    green: Phase = field(default_factory=Phase)
    proof: Proven = field(default_factory=Proven)


def replay(project: Project, commit: Commit, clone: Clone, linked: Linked, place: Path) -> Replay:
    """Take the step.

    :param place: for a home of its own and the verdict; nothing may be there.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    result = Replay(project=project.name, commit=commit.name[:10], date=today, made_with=linked.made_with)
    runner = Runner(tools=linked.tools, folder=clone.folder, arguments=project.arguments, place=place)
    clone.lay_parent(commit)
    lay_made(clone, linked)
    try:
        before = _run_plainly(runner)
    except subprocess.TimeoutExpired:
        return replace(result, left_out=f"its suite takes more than {LONGEST} s")
    result = replace(result, tests=sum(before.outcomes.values()), plain_seconds=before.seconds)
    if not before.outcomes:
        return replace(result, left_out="pytest runs no test at its parent")
    if {name for name, _ in commit.tests} & {*read_outcomes(before)}:
        return replace(result, left_out="its tests can't be imported at its parent")
    clone.lay(commit, commit.tests)
    try:
        asked = find_newly_failing(before, _run_plainly(runner))
    except subprocess.TimeoutExpired:
        return replace(result, left_out=f"its tests do not end within {LONGEST} s without its code")
    clone.lay(commit, commit.code)
    after = _run_plainly(runner)
    if broken := find_newly_failing(before, after):
        return replace(result, left_out=f"its own suite fails here: {len(broken)} tests, {min(broken)} is one")
    if not after.outcomes:
        return replace(result, left_out="pytest runs no test at the commit")
    # Once more, with phases: nothing is left of the plain runs.
    clone.lay_parent(commit)
    lay_made(clone, linked)
    runner.note_baseline()
    clone.lay(commit, commit.tests)
    red, marked = runner.turn_red() if asked else (runner.run_phase("red", "--exit-signal=red"), 0)
    result = replace(result, red=replace(red, is_expected=bool(asked)), marked=marked)
    if not red.is_open:
        return result
    clone.lay(commit, commit.code)
    return replace(result, green=replace(runner.turn_green(), is_expected=True), proof=runner.read_proof())


def _run_plainly(runner: Runner) -> Said:
    return runner.call(*runner.tools.pytest, *PLAIN, *runner.arguments, timeout=LONGEST)


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
