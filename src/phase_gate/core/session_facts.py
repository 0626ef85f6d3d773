"""What one session showed of itself, as a value: everything that nobody can find out once pytest has ended.

Pure. A run makes its record from it at once; a shard writes it down, and one run is made of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.core.failures import Failure
from phase_gate.core.findings import Finding
from phase_gate.core.outcomes import Outcomes
from phase_gate.core.parts import Parts
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue


class SessionFacts(Value):
    outcomes: Outcomes
    exit_status: int
    tally: Mapping[str, int]
    duration_s: float
    deselected: frozenset[str] = frozenset()
    #: Every test of a collected file was looked at; `--lf` drops some without saying which.
    sees_whole_files: bool = True
    #: Files of which only some tests were asked for.
    narrowed_files: frozenset[str] = frozenset()
    narrowed_by: tuple[str, ...] = ()
    collection_errors: tuple[str, ...] = ()
    skipped_modules: int = 0
    failures: Mapping[str, Failure] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    interrupted: str = ""
    internal_error: bool = False
    is_void: bool = False
    #: Criteria that tests name in their marks.
    marked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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
    doubts: tuple[Finding, ...] = ()
    foreign_hooks: tuple[str, ...] = ()
    #: What plugins measured, and what has to be said about it.
    measured: Mapping[str, MetricValue] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    #: Platform, Python and packages.
    surroundings: str = ""
    notes: tuple[str, ...] = ()
