"""What is measured beside the tests: which names, by whom, and what a look gave. Pure: who looks is in `evidence`."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.gate.findings import Finding
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
