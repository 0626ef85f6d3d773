"""What one session showed, and what was found around it when it had ended, as values."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.gate.criteria import Criteria, Links
from phase_gate.gate.failures import Failure
from phase_gate.gate.findings import Finding
from phase_gate.gate.freeze import Meaning, Parts
from phase_gate.gate.inventory import Inventory
from phase_gate.gate.measured import Measured
from phase_gate.gate.outcomes import Bucket
from phase_gate.gate.selection import Audit
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue


class Document(Value):
    """What one session showed of itself: everything that can't be found out once pytest has ended."""

    outcomes: Mapping[str, Bucket]
    exit_status: int
    tally: Mapping[str, int]
    duration_s: float
    #: Seconds that tests took, of those that took long enough to count.
    durations: Mapping[str, float] = field(default_factory=dict)
    deselected: frozenset[str] = frozenset()
    #: Every test of a collected file was looked at; `--lf` drops some without saying which.
    sees_whole_files: bool = True
    #: Files of which only some tests were asked for.
    narrowed_files: frozenset[str] = frozenset()
    narrowed_by: tuple[str, ...] = ()
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
    #: Criteria that tests name in their marks.
    marked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Tests that are marked as passing already, and why; in a phase that wants failing tests.
    guarding: Mapping[str, str] = field(default_factory=dict)
    #: pytest's settings and our own rules, by name.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Where the parts of tests lie that are not in their files; in a run that is to freeze.
    parts: Parts = field(default_factory=Parts)
    #: Plugins of the project's own, as paths from the root.
    plugins: tuple[str, ...] = ()
    #: Folders with tests, as pytest's settings name them, from the root.
    testpaths: tuple[str, ...] = ()
    #: Modules that tests have loaded, and the files they come from; outside of the project these begin with `../`.
    modules: Mapping[str, str] = field(default_factory=dict)
    #: Files of the project that were imported, from the root.
    imported: tuple[str, ...] = ()
    #: What makes the outcomes doubtful.
    doubts: tuple[Finding, ...] = ()
    #: What plugins measured, and what has to be said about it.
    measured: Mapping[str, MetricValue] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    #: Platform, Python and packages that it ran with.
    surroundings: str = ""
    #: In a shard: every test that pytest found, before any selection; and what was left out, by the function that did.
    collected: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Sources(Value):
    """The files of the project as the run left them."""

    tree: str
    #: The ids of their contents.
    files: Mapping[str, str] = field(default_factory=dict)
    #: Contents of imported files that git does not show: they are part of the tree.
    beside: Mapping[str, str] = field(default_factory=dict)
    #: Files that changed while the run went on.
    changed: tuple[str, ...] = ()
    #: Files that changed since the last run that failed; None if that is not known.
    changed_since: tuple[str, ...] | None = None
    #: Files that changed between the green runs before and this one.
    changed_since_green: tuple[str, ...] = ()


class RunRecord(Value):
    """One session and what was found around it: everything that a run's end is judged from."""

    run: str
    root: str
    session: Document
    sources: Sources
    inventory: Inventory
    audit: Audit
    criteria: Criteria = field(default_factory=Criteria)
    #: Which tests stand for which criteria.
    links: Links = field(default_factory=Links)
    #: What gives the tests their meaning; compared with the freeze, or frozen.
    meaning: Meaning = field(default_factory=Meaning)
    #: In the first phase: tests of the baseline that the sources do not have any more.
    missing_since: tuple[str, ...] = ()
    #: What RED has changed of what older tests use.
    weakened: tuple[Finding, ...] = ()
    #: What is not as another task of the same root froze it.
    altered_elsewhere: tuple[Finding, ...] = ()
    #: Modules that a structural red missed, and the files they are found in now.
    resolved: Mapping[str, str] = field(default_factory=dict)
    #: What providers measured beside the tests.
    evidence: Measured = field(default_factory=Measured)
    #: What is to be said of the run's start.
    start_warnings: tuple[str, ...] = ()
    start_notes: tuple[str, ...] = ()

    @property
    def measured(self) -> Mapping[str, MetricValue]:
        """What plugins and providers measured beside the tests; a provider wins."""
        return {**self.session.measured, **self.evidence.metrics}

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.session.complaints, *self.evidence.warnings, *self.start_warnings)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.evidence.notes, *self.start_notes)
