"""What is measured: which names, by whom, what a look gave, and what was found. Pure: who looks is in `evidence`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.codec import from_json, spell_out
from phase_gate.hashing import sha256
from phase_gate.values import Literal, Value, field
from phase_gate.workflow.metrics import NEW_CODE_METRICS, PIPELINE_METRICS, PROOF_METRICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.workflow.metrics import MetricValue
    from phase_gate.workflow.model import Phase, Workflow
    from phase_gate.workflow.settings import Configuration

#: Since when a provider compares.
Since = Literal["cycle", "phase"]

#: What only a tool can say of the code.
QUALITY_METRICS = frozenset({"quality_before", "quality_after", "quality_delta", "improvements_found"})
#: With what a person may declare as well.
_QUALITY = QUALITY_METRICS | {"no_more_improvements_identified"}

#: What a pipeline gives, checks left out: they belong to one run, and the rest is looked at anew for every verdict.
LOOKED_AT = PIPELINE_METRICS - {"checks_failed", "checks_missing", "fix_checked", "fix_tested"}
#: What it finds, in the same sense.
LOOKED_AT_SLUGS = frozenset(
    {
        "constitution-kept",
        "rules-kept",
        "artifacts-made",
        "consensus-reached",
        "as-approved",
        "root-cause-known",
        "no-blocking-issue",
        "no-pending-request",
        "change-requested",
    }
)

#: The provider that remembers the files that a cycle begins with.
BEGINNING = "beginning"
#: The names that each provider measures, in the order in which they are asked.
PROVIDED: Mapping[str, frozenset[str]] = {
    # Only remembers, for the one that follows: what a cycle has changed.
    "sources": _QUALITY,
    "quality": _QUALITY,
    "git": frozenset({"tree_clean", "files_changed", "files_changed_in_iteration", "commits"}),
    "documents": frozenset({"docs_generated", "diagrams_total", "diagrams_valid", "has_adr", "has_c4_diagrams"}),
    "pipeline": LOOKED_AT,
    # Only remembers what a proof compares with: the proof itself is made where a phase would exit.
    "proof": PROOF_METRICS,
    BEGINNING: PROOF_METRICS,
    "new_code": NEW_CODE_METRICS,
}

#: Providers that compare with how things were, and since when.
SINCE: Mapping[str, Since] = {
    "git": "phase",
    "sources": "cycle",
    "quality": "phase",
    "documents": "cycle",
    "proof": "phase",
    BEGINNING: "cycle",
    "new_code": "cycle",
}

#: Those of them whose phase begins where the one before ended, however much later its first run is.
SINCE_EXIT = frozenset({"quality", "proof"})

#: What providers find. A later look replaces what an earlier one has found.
EVIDENCE_SLUGS = frozenset(
    {
        "command-failed",
        "could-improve",
        "new-code-tested",
        "quality-worse",
        "document-not-counted",
        "diagram-broken",
        "decision-incomplete",
        "checks-passed",
        "fix-checked",
        "fix-tested",
        *LOOKED_AT_SLUGS,
    }
)


class Table(Value):
    """Something to look at beside the verdict: all cells are text, the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(Value):
    """What a feature tells in the story of a task: text and tables, shown behind the rest."""

    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


class Measured(Value):
    """What a look gave. A name that is missing is unknown, and unknown opens nothing."""

    metrics: Mapping[str, MetricValue] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    #: What has to be said of a metric: a later look at that metric replaces it.
    told: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    #: What could not be looked at, and why.
    warnings: tuple[str, ...] = ()
    #: The extra of our package without which something could not be looked at.
    missing_extra: str = ""
    #: What the next run's look is to be compared with, as JSON.
    remembered: Mapping[str, Any] = field(default_factory=dict)


class Remembered(Value):
    """How things were when a cycle and a phase began, as digests of stored objects by provider."""

    cycle: Mapping[str, str] = field(default_factory=dict)
    phase: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    #: What parts of the task remember, by the names of `gate.parts`.
    parts: Mapping[str, Any] = field(default_factory=dict)


NOTHING_REMEMBERED = Remembered()


def asked_for(phase: Phase, configuration: Configuration) -> frozenset[str]:
    """Return the names that a project wants to see of a phase, whether its rules speak of them or not."""
    return NEW_CODE_METRICS if configuration.new_code and phase.tests == "passing" else frozenset()


def wanted_names(workflow: Workflow, phase: Phase) -> frozenset[str]:
    """Return the names that decide about a phase: those of its condition, and of its guards."""
    guards = (workflow.guards[name].condition.names for name in phase.gate_1.guards if name in workflow.guards)
    checks = () if phase.requires is None else phase.requires.checks
    return phase.gate_1.condition.names.union(*guards, (f"{name}_ok" for name in checks))


def wanted_providers(wanted: frozenset[str], configuration: Configuration) -> tuple[str, ...]:
    """Return the providers that some of these names come from."""
    return tuple(name for name, names in _offered(configuration).items() if not wanted.isdisjoint(names))


def offered_names(configuration: Configuration) -> frozenset[str]:
    """Return every name that a look at the project can measure."""
    return frozenset().union(*_offered(configuration).values())


def _offered(configuration: Configuration) -> dict[str, frozenset[str]]:
    return {**PROVIDED, "commands": frozenset(command.metric for command in configuration.commands)}


# --- findings: what is odd or wrong about the evidence. A hard one goes with a guard that closes the gate

Tier = Literal["hard", "advisory"]
#: What became of the thing that a finding is about; empty where it is about no change.
Change = Literal["", "added", "altered", "gone", "renamed", "weakened"]

#: New tests that pass where they have to fail, and tests that fail where all have to pass.
ALREADY_PASSING, TEST_FAILS = "already-passing", "test-fails"
#: The reason names them, so the panel need not.
NAMED_BY_REASON = frozenset({ALREADY_PASSING, TEST_FAILS})

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
    "restart": "restarted after",
    "guidance": "gave guidance after",
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
