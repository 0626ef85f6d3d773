"""Compare what the gate recorded of a suite with what pytest itself said.

Pure: texts and documents in, complaints out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Counts = Mapping[str, int]

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_SUMMARY = re.compile(r"=* ?(\d+ [a-z ]+(?:, \d+ [a-z ]+)*) in [\d.]+s(?: \([\d:]+\))? ?=*")
_EXEMPT = re.compile(r"exempt: (.+)")

#: Words of the summary line that are no outcome of a test.
_NO_OUTCOME = frozenset({"warning", "warnings"})


@dataclass(frozen=True, slots=True)
class Said:
    """How a process ended, and what it printed."""

    code: int
    output: str
    seconds: float = 0.0

    @property
    def summary(self) -> Counts:
        """What pytest's summary line counts; empty if there is none."""
        found = [match[1] for line in _lines(self.output) if (match := _SUMMARY.fullmatch(line))]
        return _read_counts(found[-1]) if found else {}

    @property
    def outcomes(self) -> Counts:
        # Workers deselect by themselves, and pytest's summary then does not count it.
        return {name: number for name, number in self.summary.items() if name != "deselected"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a number of gated runs of one suite left behind."""

    said: tuple[Said, ...]
    #: Every recorded run, oldest first, as `phase-gate history --json` lists them.
    runs: tuple[Mapping[str, Any], ...]
    #: The last verdict as JSON; empty if none was written.
    verdict: Mapping[str, Any]

    @property
    def tallies(self) -> tuple[Counts, ...]:
        return tuple(run["counts"] for run in self.runs)

    @property
    def tally_is_equal(self) -> bool:
        summaries = tuple(each.summary for each in self.said)
        # Nothing equals nothing: a run without a summary proves no tally.
        return all(summaries) and summaries == self.tallies

    @property
    def streak(self) -> int:
        return int(self.verdict.get("metrics", {}).get("consecutive_green_runs", 0))

    @property
    def hard_findings(self) -> tuple[str, ...]:
        return tuple(
            f"{row['slug']}: {row['id'] or row['file']} {row['detail']}"
            for row in self.verdict.get("findings", ())
            if row["tier"] == "hard"
        )


def find_problems(evidence: Evidence, alone: Said) -> tuple[str, ...]:
    """Return everything in which the gate was wrong about an honest suite, one sentence each.

    :param alone: the same suite without the gate.
    """
    if not evidence.verdict:
        return ("no verdict was written",)
    problems = [f"hard finding, {found}" for found in evidence.hard_findings]
    if not evidence.tally_is_equal:
        summaries = [dict(each.summary) for each in evidence.said]
        problems.append(f"the tally is {list(map(dict, evidence.tallies))}, pytest said {summaries}")
    if any(each.outcomes != alone.outcomes for each in evidence.said):
        problems.append(f"without the gate it is {dict(alone.outcomes)}")
    if evidence.streak != len(evidence.said):
        problems.append(f"the streak is {evidence.streak} after {len(evidence.said)} runs")
    if not evidence.verdict["gate_1"]["open"]:
        problems.append(f"Gate 1 is closed: {evidence.verdict['reason']}")
    if evidence.said[-1].code:
        problems.append(f"pytest ended with {evidence.said[-1].code}")
    return (*problems, *find_unexplained(evidence.verdict, evidence.said[-1].summary))


def find_unexplained(verdict: Mapping[str, Any], summary: Counts) -> tuple[str, ...]:
    """Return the tests that did not pass and that no note of the verdict speaks of."""
    exempt: dict[str, int] = {}
    for note in verdict["notes"]:
        if found := _EXEMPT.fullmatch(note):
            exempt |= {name.rstrip("s"): number for name, number in _read_counts(found[1]).items()}
    shown = {
        "skipped": (summary.get("skipped", 0), exempt.get("known skip", 0) + exempt.get("skipped module", 0)),
        "xfailed or xpassed": (
            summary.get("xfailed", 0) + summary.get("xpassed", 0),
            exempt.get("known xfail", 0),
        ),
    }
    problems = [
        f"{happened} {name}, {explained} of them explained"
        for name, (happened, explained) in shown.items()
        if happened != explained
    ]
    if summary.get("deselected") and not any(note.startswith("narrowed: ") for note in verdict["notes"]):
        problems.append(f"{summary['deselected']} deselected, and no note says by what")
    return tuple(problems)


def _lines(output: str) -> list[str]:
    return [_COLOUR.sub("", line).strip() for line in output.splitlines()]


def _read_counts(text: str) -> dict[str, int]:
    pairs = (part.split(" ", 1) for part in text.split(", "))
    counts = {name: int(number) for number, name in pairs if name not in _NO_OUTCOME}
    if "error" in counts:  # one error is called so, and two are errors
        counts["errors"] = counts.pop("error")
    return counts
