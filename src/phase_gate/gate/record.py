"""What one session showed, and what was found around it when it had ended, as values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from phase_gate.gate.failures import Failure
from phase_gate.gate.freeze import Meaning, Parts
from phase_gate.gate.inventory import Inventory, bare_name, join_id, split_id
from phase_gate.gate.measured import Finding, Measured
from phase_gate.gate.outcomes import Bucket, Green, Judgement, Kind, Outcomes, References
from phase_gate.gate.state import Event, OpenRun, State
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.criteria import CriterionRow


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


class Criterion(Value):
    id: str
    text: str = ""
    file: str = ""
    line: int | None = None


class LeftOut(Value):
    """A line of a Markdown file that looks like a criterion, and is not taken for one."""

    line: int
    text: str


class Criteria(Value):
    """A bare number, or a list with ids."""

    count: int = 1
    listed: tuple[Criterion, ...] = ()
    #: The file that they stand in, relative to the root.
    file: str = ""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def are_given(self) -> bool:
        """Whether there are any: without, one new test is asked for, as always."""
        return bool(self.listed) or self.count != 1

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.listed)


class Links(Value):
    """What the session shows about tests and criteria."""

    #: Ids of criteria by test.
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What a test checks, as a hash: tests that share it are copies of each other.
    likeness: Mapping[str, str] = field(default_factory=dict)


class Traced(Value):
    metrics: Mapping[str, MetricValue]
    rows: tuple[CriterionRow, ...] = ()
    findings: tuple[Finding, ...] = ()


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


class JudgedRun(Value):
    """A run that has ended, with its outcomes judged: what it measured is made from this."""

    at: str
    run: OpenRun
    phase: Phase
    record: RunRecord
    past: References
    #: The task before the run's end; back in the first phase, if the run leads there; and what leads there.
    state: State
    events: tuple[Event, ...]
    audit: Audit
    #: Tests that stand elsewhere than they did at the freeze, or at the cycle's beginning: old bare ids with new ones.
    moves: Mapping[str, str]
    kind: Kind
    #: Why it is not a complete run.
    why: str
    outcomes: Judgement
    green: Green
    #: Green runs in a row, with this one.
    streak: int
    #: None for a run that does not count.
    iteration: int | None
    traced: Traced
    #: It was to go back to the first phase, and no test of the step fails there: the task stays where it is.
    stays: bool

    @property
    def in_first_phase(self) -> bool:
        return self.phase.scope == "targets"

    @property
    def is_green(self) -> bool:
        return self.green is Green.GREEN

    @property
    def target_files(self) -> tuple[str, ...]:
        """The files with the tests that this cycle is about."""
        return tuple(sorted({split_id(test_id)[0] for test_id in self.outcomes.targets}))


# --- which known tests did not run, and why: not selected, or no longer there

#: Bare names of the tests that a file's source defines; None if the file is gone.
NamesIn = Callable[[str], Collection[str] | None]


class Audit(Value, kw_only=False):
    #: Known, still in the sources, and not run.
    unselected: tuple[str, ...]
    #: Known, and no longer in the sources.
    missing: tuple[str, ...]
    #: Those that came after the freeze: they may go again.
    passing_by: tuple[str, ...] = ()


def audit_selection(known: Inventory, session: Document, names_in: NamesIn, ran: Inventory) -> Audit:
    """Tell the known tests that did not run apart.

    :param ran: the inventory of the outcomes. Of a file that it has as it is known, every test is there.
    """
    here, outcomes = ran.files, session.outcomes
    whole = here.keys() - session.narrowed_files if session.sees_whole_files else frozenset()
    unselected: list[str] = []
    missing: list[str] = []
    for path, file in known.files.items():
        if here.get(path) is file:
            continue
        absent = [name for name in file.ids if join_id(path, name) not in outcomes]
        if not absent:
            continue
        with_parameters = _names_with_parameters(path, file.ids, outcomes)
        names = names_in(path)
        for name in absent:
            test_id, bare = join_id(path, name), bare_name(name)
            if not name and any(each.startswith(f"{path}::") for each in outcomes):
                continue  # the file stood for tests that only an import shows, such as inherited ones: they are there
            if name == bare and bare in with_parameters:
                continue  # counted from source while its module could not be imported: its sets are what is known
            if outcomes.get(join_id(path, bare)) is Bucket.UNCOLLECTABLE or outcomes.get(path) is Bucket.UNCOLLECTABLE:
                continue  # its module can't be imported now: counted there, as failing
            if test_id in session.deselected:
                unselected.append(test_id)
            elif names is None or _is_gone(name, names, file.bodies, was_whole=path in whole):
                missing.append(test_id)
            else:
                unselected.append(test_id)
    return Audit(tuple(sorted(unselected)), tuple(sorted(missing)))


def _names_with_parameters(path: str, known: Iterable[str], outcomes: Outcomes) -> frozenset[str]:
    prefix = f"{path}::"
    ran = (test_id[len(prefix) :] for test_id in outcomes if test_id.startswith(prefix))
    return frozenset(bare_name(name) for name in (*known, *ran) if "[" in name)


def _is_gone(name: str, names: Collection[str], bodies: Mapping[str, str], *, was_whole: bool) -> bool:
    bare = bare_name(name)
    if bare in names:
        # The function is there. A parameter set of it is gone if pytest looked at the whole file and did not make it.
        return name != bare and was_whole
    return bare in bodies or was_whole
