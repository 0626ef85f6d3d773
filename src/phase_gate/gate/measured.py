"""Measured values: metrics, their providers, and findings. Pure: `evidence` does the measuring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from phase_gate.bound import sha256
from phase_gate.codec import spell_out
from phase_gate.values import Literal, Value, field, fields
from phase_gate.visible import count
from phase_gate.workflow.metrics import DOCUMENT_METRICS, NEW_CODE_METRICS, PIPELINE_METRICS, PROOF_METRICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.workflow.metrics import MetricValue
    from phase_gate.workflow.model import Phase, Workflow
    from phase_gate.workflow.settings import Configuration

#: The start of the period that a provider compares with: of the cycle or the phase; or the exit of the previous phase,
#: for a phase whose first run may be much later.
Since = Literal["cycle", "phase", "exit"]

#: Metrics that only a tool can provide.
QUALITY_METRICS = frozenset({"quality_before", "quality_after", "quality_delta", "improvements_found"})
#: Including the fact that a person can declare as well.
_QUALITY = QUALITY_METRICS | {"no_more_improvements_identified"}

#: Metrics of a pipeline that are measured again for every verdict. Checks are not among them: they belong to one run.
LOOKED_AT = PIPELINE_METRICS - {"checks_failed", "checks_missing", "fix_checked", "fix_tested"}

#: The provider that remembers the files at the start of a cycle.
BEGINNING = "beginning"
#: The metrics of each provider, in the order of the calls.
PROVIDED: Mapping[str, frozenset[str]] = {
    "sources": _QUALITY,
    "quality": _QUALITY,
    "git": frozenset({"tree_clean", "files_changed", "files_changed_in_iteration", "commits"}),
    "documents": DOCUMENT_METRICS,
    "pipeline": LOOKED_AT,
    "proof": PROOF_METRICS,
    BEGINNING: PROOF_METRICS,
    "new_code": NEW_CODE_METRICS,
}

#: Providers that measure nothing: they remember files for `quality`, and for a proof, which is made when a phase exits.
ONLY_REMEMBER = frozenset({"sources", "proof", BEGINNING})

#: Providers that compare with an earlier time, and that time.
SINCE: Mapping[str, Since] = {
    **dict.fromkeys(("sources", "documents", BEGINNING, "new_code"), "cycle"),
    "git": "phase",
    **dict.fromkeys(("quality", "proof"), "exit"),
}


class Table(Value):
    """A table shown with the verdict: all cells are text, the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(Value):
    """A feature's section in the report on a task: text and tables, shown after the rest."""

    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


class Measured(Value):
    """The result of a measurement. A missing name is unknown, and an unknown value never opens a gate."""

    metrics: Mapping[str, MetricValue] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    #: Values that could not be measured, and why.
    warnings: tuple[str, ...] = ()
    #: The missing extra of our package that a measurement needs.
    missing_extra: str = ""
    #: References for the next run's measurement, as JSON.
    remembered: Mapping[str, Any] = field(default_factory=dict)


#: The fields of it that the end event of a run has.
MEASURED = ("metrics", "findings", "notes", "tables")


#: What several providers have measured, each by its name: a later measurement replaces that of the same provider.
Evidence = Mapping[str, Measured]


def join(several: Iterable[Measured]) -> Measured:
    """Return several measurements as one. A later one takes precedence."""
    several = tuple(several)
    return Measured(
        metrics={name: value for each in several for name, value in each.metrics.items()},
        findings=cap_findings(finding for each in several for finding in each.findings),
        notes=tuple(dict.fromkeys(note for each in several for note in each.notes)),
        tables=tuple(table for each in several for table in each.tables),
        warnings=tuple(warning for each in several for warning in each.warnings),
        missing_extra=next((each.missing_extra for each in several if each.missing_extra), ""),
        remembered={name: memory for each in several for name, memory in each.remembered.items()},
    )


class Remembered(Value):
    """References from the start of a cycle and a phase, as digests of stored objects by provider."""

    cycle: Mapping[str, str] = field(default_factory=dict)
    phase: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    #: References of the task's parts, by their names.
    parts: Mapping[str, Any] = field(default_factory=dict)


NOTHING_REMEMBERED = Remembered()


def wanted_names(workflow: Workflow, phase: Phase, configuration: Configuration | None = None) -> frozenset[str]:
    """Return the names that decide about a phase: those of its condition, and of its guards.

    :param configuration: adds the names that the project wants to see, whether its rules use them or not.
    """
    guards = (workflow.guards[name].names for name in phase.gate_1.guards if name in workflow.guards)
    checks = () if phase.requires is None else phase.requires.checks
    shows_new = configuration is not None and configuration.evidence.new_code and phase.tests == "passing"
    shown = NEW_CODE_METRICS if shows_new else ()
    return phase.gate_1.names.union(*guards, (f"{name}_ok" for name in checks), shown)


def wanted_providers(wanted: frozenset[str], configuration: Configuration) -> list[str]:
    """Return the providers of these names."""
    of_commands = {"commands": frozenset(each.metric for each in configuration.evidence.commands.values())}
    return [name for name, names in {**PROVIDED, **of_commands}.items() if not wanted.isdisjoint(names)]


def measuring_providers(wanted: frozenset[str], configuration: Configuration) -> list[str]:
    """Return the providers that measure these names."""
    return [name for name in wanted_providers(wanted, configuration) if name not in ONLY_REMEMBER]


# --- findings: problems and anomalies of the evidence. A hard finding belongs to a guard that closes the gate

Tier = Literal["hard", "advisory"]
#: The kind of change that a finding reports; empty if it is not about a change.
Change = Literal["", "added", "altered", "gone", "weakened"]

#: New tests that pass but have to fail, tests that fail but have to pass, and newly skipped tests.
ALREADY_PASSING, TEST_FAILS, NO_NEW_SKIPS = "already-passing", "test-fails", "no-new-skips"
#: The reason names them, so the panel need not.
NAMED_BY_REASON = frozenset({ALREADY_PASSING, TEST_FAILS})

#: Files that changed since the last green run: all required green runs have to be repeated.
STREAK_STARTS_OVER = "streak-starts-over"

#: Options of pytest are settings, too: the beginning of their names.
OPTION = "option "

#: A test module that pytest could not collect, in a phase that requires passing tests.
BROKEN_MODULE = "broken-module"

#: Changes by RED to older tests: each existed before the cycle, or is used by one that did.
TESTS_GONE, SUPPORT_CHANGED = "tests-gone", "support-changed"
WEAKENED = frozenset({TESTS_GONE, SUPPORT_CHANGED})

#: Maximum number of findings per slug in a report; the metrics have the full number.
NAMED_AT_MOST = 20


class Finding(Value):
    slug: str
    tier: Tier
    detail: str
    id: str = ""
    file: str = ""
    line: int | None = None
    #: The guard that it belongs to, if that is not its slug.
    guard: str = ""
    #: A hash of the finding's subject: a waiver covers this version, and no later one.
    proof: str = ""
    change: Change = ""
    #: The number of findings that it represents, if a report does not name them all.
    more: int = 0

    def belongs_to(self, guard: str) -> bool:
        return guard in (self.guard or self.slug, self.slug)

    @property
    def place(self) -> str:
        """The subject of the finding, as a user would type it: a test's id, or the file with its line."""
        return self.id or (f"{self.file}:{self.line}" if self.file and self.line else self.file)

    @property
    def key(self) -> str:
        return "|".join((self.slug, self.id, self.file, self.proof or self.detail))


def name_tests(slug: str, tier: Tier, ids: Iterable[str], detail: str, change: Change = "") -> tuple[Finding, ...]:
    """Return one finding per test, in order."""
    return tuple(
        Finding(slug=slug, tier=tier, id=test_id, file=test_id.partition("::")[0], detail=detail, change=change)
        for test_id in sorted(ids)
    )


def cap_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, with a limit per slug; one more finding represents the others.

    It has a hash of the findings that it represents, so that a waiver covers those and no later ones. Findings that
    were capped before stay unchanged.
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


# --- waivers: a person accepts the current findings of a guard, on the record, until the cycle ends or it expires


class Waiver(Value):
    guard: str
    #: Keys of the findings that it covers.
    findings: tuple[str, ...]
    reason: str
    by: str
    at: str
    #: When it ends, in the time format of the ledger; empty: with the cycle.
    expires: str = ""

    def is_in_force(self, at: str) -> bool:
        # Both are UTC in one format, so they can be compared as text.
        return not self.expires or at < self.expires


def covered_by(waivers: Iterable[Waiver], guard: str, findings: Iterable[Finding], *, at: str) -> bool:
    """Return whether active waivers of the guard cover all of these findings."""
    covered = {key for each in waivers if each.guard == guard and each.is_in_force(at) for key in each.findings}
    return covered.issuperset(finding.key for finding in findings)


def waiver_to_json(waiver: Waiver) -> dict[str, Any]:
    return {"kind": "waive", **spell_out(waiver)}


#: Descriptions of a person's action, for each kind of override.
_DECIDED = {
    "skip": "skipped",
    "force": "forced",
    "breaker-reset": "let the breaker try again in",
    "guidance": "gave guidance after",
    "rollback-accept": "accepted the state folder as it was found in",
}


def describe_override(document: Mapping[str, Any]) -> str:
    """Return the description of an override: who, what, until when and why."""
    if document["kind"] != "waive":
        what = _DECIDED[document["kind"]]
        return f"{document['by']} {what} {document['phase']} at {document['at']}: {document['reason']}"
    until = f"until {document['expires'] or 'the cycle ends'}"
    covered = count(len(document["findings"]), "finding")
    return f"{document['guard']} ({covered}) by {document['by']}, {until}: {document['reason']}"


# --- the task of a witness, and its observations: the same on the controller and on the workers of xdist


class Wanted(Value):
    """The facts that a witness records. Sent to the workers of xdist."""

    root: str
    #: Why tests fail, and which are marked as already passing.
    reasons: bool = False
    #: Code of tests outside of their files.
    parts: bool = False
    #: Criteria that marks may name.
    criteria: tuple[str, ...] = ()
    #: Modules whose location matters.
    modules: tuple[str, ...] = ()
    #: Only a part of the suite runs: record the tests collected before any hook selected, and which hook dropped which.
    slices: bool = False


class Seen(Value):
    """What one process sees, by pytest's node ids; and in a `Document`, by ours. Paths are relative to our root."""

    deselected: frozenset[str] = frozenset()
    #: Paths of test files, by the part of a node id before the first `::`.
    paths: Mapping[str, str] = field(default_factory=dict)
    #: With --dist=loadgroup xdist appends the group of a test to its id.
    groups: tuple[str, ...] = ()
    #: Failed tests, so that a report that is changed on its way to the controller is detected.
    failed: tuple[str, ...] = ()
    #: Criteria that tests name in their marks, and the reasons of tests that are marked as already passing.
    marked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guarding: Mapping[str, str] = field(default_factory=dict)
    #: Modules that tests have loaded, and their files: outside of the project, these begin with `../`. And imported
    #: files of the project.
    modules: Mapping[str, str] = field(default_factory=dict)
    imported: tuple[str, ...] = ()
    #: Code of tests outside of their files, as `file::name`: under `tests` functions, inherited or imported; under
    #: `around` fixtures, base classes and setup methods; and a `problem`, if they could not be inspected.
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Findings that make outcomes doubtful.
    doubts: tuple[Finding, ...] = ()
    #: In a shard: the tests collected before any hook selected, and the deselected ones, by the function that did it.
    collected: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def merge_seen(several: Iterable[Seen]) -> Seen:
    """Return the union of the observations of several processes."""
    several = tuple(several)
    if len(several) == 1:
        return several[0]
    return Seen(**{name: merge_values([getattr(each, name) for each in several]) for name in fields(Seen)})


def merge_values(values: Sequence[Any]) -> Any:
    """Return the union of mappings, tuples or sets; the first text that is not empty; the largest number."""
    first = values[0]
    if isinstance(first, str):
        return next(filter(None, values), "")
    if isinstance(first, int | float):
        return max(values)
    if isinstance(first, frozenset):
        return first.union(*values)
    if isinstance(first, tuple):
        return tuple(dict.fromkeys(each for value in values for each in value))
    merged: dict[str, Any] = {}
    for value in values:
        for name, each in value.items():
            merged[name] = merge_values([merged[name], each]) if name in merged and isinstance(each, tuple) else each
    return merged
