"""How things are called in every report: the same words in HTML, Markdown and for those who hear a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate.report.story.model import Column, Run, Story, TestRow
from phase_gate.report.story.tests import ABSENT, LETTERS
from phase_gate.visible import count
from phase_gate.workflow.names import DONE

#: What each sign of the timeline means.
SIGN_WORDS: dict[str, str] = {
    "exited": "phase exits",
    "forced": "forced exit",
    "signal": "exit signal",
    "too-early": "signal came too early",
    "not-done": "signal: not done",
    "needs-person": "a person is needed",
    "override": "override or waiver",
    "breaker-open": "circuit opens",
    "breaker-half-open": "circuit half-open",
    "breaker-closed": "circuit closed again",
    "rewound": "back to an earlier phase",
}

#: What each letter of a test's history means.
CELL_WORDS: dict[str, str] = {
    LETTERS["passed"]: "passed",
    LETTERS["failed"]: "failed",
    LETTERS["error"]: "error",
    LETTERS["uncollectable"]: "could not be imported",
    LETTERS["flaky"]: "passed after a rerun",
    LETTERS["skipped"]: "skipped",
    LETTERS["xfailed"]: "failed as expected",
    LETTERS["xpassed"]: "passed unexpectedly",
    LETTERS["not-run"]: "did not run",
    ABSENT: "not there",
}

_KNOWN_PHASES = frozenset({"RED", "GREEN", "REFACTOR", "DOCUMENT"})


def headline(story: Story) -> str:
    """Return where the task stands, in a few words."""
    if not story.ledger.is_intact:
        return "This record can't be trusted"
    if not story.phase:
        return "Nothing is recorded yet"
    if story.phase == DONE:
        return "The cycle is done"
    if story.standing.is_halted:
        return f"{story.phase} is halted"
    if story.standing.is_open:
        return f"{story.phase} may end"
    if story.standing.status == "waiting":
        return f"{story.phase} waits for the signal"
    if story.standing.status == "needs-person":
        return f"{story.phase} needs a person"
    return f"{story.phase} goes on"


def tone(story: Story) -> str:
    """Return `bad`, `good` or `open`."""
    if not story.ledger.is_intact or story.standing.is_halted:
        return "bad"
    return "good" if story.standing.is_open else "open"


def phase_class(phase: str) -> str:
    return f"phase-{phase.lower()}" if phase in _KNOWN_PHASES else "phase-other"


def outcome_of(run: Run) -> str:
    """Return how a run ended, in a word or two."""
    if not run.counts:
        return run.kind
    return {"green": "green", "odd": "odd", "not-green": "not green"}.get(run.green, run.green)


def describe_run(run: Run) -> str:
    parts = [f"Run {run.number}: {run.phase}", outcome_of(run), describe_counts(run)]
    if run.counts:
        parts.append(f"streak {run.streak}")
    return ", ".join(parts)


def describe_counts(run: Run) -> str:
    named = ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped"))
    return ", ".join(f"{number} {name}" for number, name in named if number) or "no tests"


def describe_column(column: Column) -> str:
    """Return what a column shows: of several runs, the worst."""
    if len(column.runs) == 1:
        said = describe_run(column.first)
    else:
        failing = sum(run.failed > 0 for run in column.runs)
        said = (
            f"Runs {column.first.number} to {column.last.number}: {failing} of {len(column.runs)} with failing tests,"
            f" {column.worst.failed} at most"
        )
    happened = "; ".join(each.text for each in column.happenings)
    return f"{said}. {happened}" if happened else said


def describe_cells(row: TestRow) -> str:
    """Return a test's history for those who can't see it."""
    parts = [f"{number} {CELL_WORDS[letter]}" for letter, number in _tally(row.cells) if letter != ABSENT]
    return ", ".join(parts) + f" in {count(len(row.cells.strip(ABSENT)), 'run')}"


def _tally(cells: Iterable[str]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for letter in cells:
        counts[letter] = counts.get(letter, 0) + 1
    return sorted(counts.items(), key=lambda row: -row[1])


def short_time(at: str) -> str:
    """Return date and time to the minute, in UTC as everything that is recorded."""
    return at[:16].replace("T", " ")
