"""Findings: what is odd or wrong about the evidence, with a tier.

Pure values. A hard finding goes with a guard that closes the gate; an advisory one is shown and never closes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.codec import from_json, spell_out
from phase_gate.hashing import sha256
from phase_gate.values import Literal, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Tier = Literal["hard", "advisory"]
#: What became of the thing that a finding is about; empty where it is about no change.
Change = Literal["", "added", "altered", "gone", "renamed", "weakened"]

#: New tests that pass where they have to fail: the reason names them, so the panel need not.
ALREADY_PASSING = "already-passing"

#: Files that changed since the last green run: it needs as many green runs as before once more.
STREAK_STARTS_OVER = "streak-starts-over"

#: A module with tests that pytest could not collect, in a phase that wants passing tests.
BROKEN_MODULE = "broken-module"

#: What RED did to older tests: each was there before the cycle, or is used by one that was.
TESTS_GONE, SUPPORT_CHANGED = "tests-gone", "support-changed"
WEAKENED = frozenset({TESTS_GONE, SUPPORT_CHANGED})

#: What to do about ids that are others in every run.
KEEP_IDS = "give the rows ids that stay (pytest.param(..., id=...)), or set PYTHONHASHSEED for every run"

#: Findings of one slug that a report names; the metrics have the full number.
NAMED_AT_MOST = 20


class Finding(Value):
    slug: str
    tier: Tier
    detail: str
    id: str = ""
    file: str = ""
    line: int | None = None
    #: The guard that it belongs to, where that is not its slug.
    guard: str = ""
    #: What the finding is about, as a hash: a waiver covers this and nothing that comes later.
    proof: str = ""
    change: Change = ""
    #: How many others it stands for, where a report does not name them all.
    more: int = 0

    def belongs_to(self, guard: str) -> bool:
        return guard in (self.guard or self.slug, self.slug)

    @property
    def place(self) -> str:
        """What it is about, as one would type it: a test's id, or the file with its line."""
        return self.id or (f"{self.file}:{self.line}" if self.file and self.line else self.file)

    @property
    def key(self) -> str:
        return "|".join((self.slug, self.id, self.file, self.proof or self.detail))


def name_tests(slug: str, tier: Tier, ids: Iterable[str], detail: str, change: Change = "") -> tuple[Finding, ...]:
    """Return one finding a test, in order."""
    return tuple(
        Finding(slug=slug, tier=tier, id=test_id, file=test_id.partition("::")[0], detail=detail, change=change)
        for test_id in sorted(ids)
    )


def place_of(row: Mapping[str, Any]) -> str:
    """Return the place of a finding in its document."""
    return from_json(Finding, row).place


def is_said_by(finding: Mapping[str, Any], notes: Iterable[str]) -> bool:
    """Tell whether a note says the same already, so that people need not read an advisory finding, too."""
    return finding["tier"] == "advisory" and finding["detail"] in notes


def cap_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return at most so many of each slug as a report names; one more stands for all the others.

    That one carries a hash of what it stands for, so that a waiver covers those and no later ones. What was capped
    before stays as it is.
    """
    by_slug: dict[str, list[Finding]] = {}
    for finding in findings:
        by_slug.setdefault(finding.slug, []).append(finding)
    capped: list[Finding] = []
    for rows in by_slug.values():
        rest = [] if any(finding.more for finding in rows) else rows[NAMED_AT_MOST:]
        capped += rows[: len(rows) - len(rest)]
        if rest:
            capped.append(_stand_for(rest))
    return tuple(capped)


def _stand_for(rest: list[Finding]) -> Finding:
    first, more = rest[0], len(rest)
    proof = sha256("\n".join(finding.key for finding in rest).encode("utf-8", "replace")).hexdigest()
    return Finding(
        slug=first.slug, guard=first.guard, tier=first.tier, detail=f"and {more} more", proof=proof, more=more
    )


# --- waivers: a person lets one guard's present findings pass, on the record, until the cycle ends or it expires


class Waiver(Value):
    guard: str
    #: Keys of the findings that it covers.
    findings: tuple[str, ...]
    reason: str
    by: str
    at: str
    #: When it ends, as the ledger writes time; empty: with the cycle.
    expires: str = ""

    def is_in_force(self, at: str) -> bool:
        # Both are UTC in one form, so they compare as texts.
        return not self.expires or at < self.expires


def covered_by(waivers: Iterable[Waiver], guard: str, findings: Iterable[Finding], *, at: str) -> bool:
    """Tell whether waivers of the guard that are in force cover every one of these findings."""
    covered = {key for each in waivers if each.guard == guard and each.is_in_force(at) for key in each.findings}
    return covered.issuperset(finding.key for finding in findings)


def waiver_to_json(waiver: Waiver) -> dict[str, Any]:
    return {"kind": "waive", **spell_out(waiver)}


#: What a person did to a phase, for each kind of override.
_DECIDED = {
    "skip": "skipped",
    "force": "forced",
    "breaker-reset": "let the breaker try again in",
    "restart": "began anew after",
    "guidance": "said how to go on after",
    "amend": "gave the task another text in",
    "rollback-accept": "accepted the state folder as it was found in",
}


def describe_override(document: Mapping[str, Any]) -> str:
    """Return who let what pass, how long and why, from the document of an override."""
    if document["kind"] != "waive":
        what = _DECIDED[document["kind"]]
        return f"{document['by']} {what} {document['phase']} at {document['at']}: {document['reason']}"
    until = f"until {document['expires']}" if document["expires"] else "until the cycle ends"
    findings = len(document["findings"])
    covered = f"{findings} finding" + ("" if findings == 1 else "s")
    return f"{document['guard']} ({covered}) by {document['by']}, {until}: {document['reason']}"
