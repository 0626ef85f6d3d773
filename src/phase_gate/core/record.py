"""Everything that one session showed us, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.core.criteria import Criteria, Links
from phase_gate.core.evidence import Table
from phase_gate.core.failures import Failure
from phase_gate.core.findings import Finding
from phase_gate.core.freeze import Meaning
from phase_gate.core.inventory import Inventory
from phase_gate.core.outcomes import Outcomes
from phase_gate.core.selection import Audit
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue


class RunRecord(Value):
    """Everything that one session showed us."""

    run: str
    outcomes: Outcomes
    inventory: Inventory
    audit: Audit
    tree: str
    root: str
    exit_status: int
    tally: Mapping[str, int]
    duration_s: float
    deselected: int = 0
    #: The digest of what git or a walk shows, and the contents of imported files beside it: the tree is both.
    shown: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    #: The run began on the very files that RED left.
    is_as_in_red: bool = False
    collection_errors: tuple[str, ...] = ()
    #: Modules that were skipped as a whole, by a `pytest.skip` or `importorskip` at their top.
    skipped_modules: int = 0
    #: How each failing test failed, in a phase that wants failing tests.
    failures: Mapping[str, Failure] = field(default_factory=dict)
    #: What failing tests said, in a line or two.
    messages: Mapping[str, str] = field(default_factory=dict)
    interrupted: str = ""
    internal_error: bool = False
    is_void: bool = False
    changed_sources: tuple[str, ...] = ()
    #: Files that changed since the last run that failed; None if that is not known.
    changed_since: tuple[str, ...] | None = None
    narrowed_by: tuple[str, ...] = ()
    criteria: Criteria = field(default_factory=Criteria)
    #: Which tests stand for which criteria.
    links: Links = field(default_factory=Links)
    #: What gives the tests their meaning; compared with the freeze, or frozen.
    meaning: Meaning = field(default_factory=Meaning)
    #: In the first phase: tests of the baseline that the sources do not have any more.
    missing_since: tuple[str, ...] = ()
    #: Platform, Python and packages that it ran with.
    surroundings: str = ""
    #: What is not as another task of the same root froze it.
    altered_elsewhere: tuple[Finding, ...] = ()
    #: Modules that a structural red missed, and the files they are found in now.
    resolved: Mapping[str, str] = field(default_factory=dict)
    #: What makes the outcomes doubtful.
    doubts: tuple[Finding, ...] = ()
    #: The project's own implementations of hooks that can change a result.
    foreign_hooks: tuple[str, ...] = ()
    #: What providers and plugins measured beside the tests.
    evidence: Mapping[str, MetricValue] = field(default_factory=dict)
    evidence_findings: tuple[Finding, ...] = ()
    #: What the evidence of the next run is to be compared with.
    evidence_memory: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
