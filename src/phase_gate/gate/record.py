"""The results of one session, and the state of the project after it, as values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from phase_gate.gate.inventory import Inventory, Meaning, bare_name, join_id
from phase_gate.gate.measured import Evidence, Finding, Seen
from phase_gate.gate.outcomes import Bucket, Failure, Green, Judgement, Kind, Outcomes, References
from phase_gate.gate.state import Case, Event, Run
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue

#: Seconds from which on the duration of a test's stage is kept.
SLOW = 0.1


class Document(Seen):
    """The results of one session: everything that can't be determined after pytest has ended."""

    outcomes: Mapping[str, Bucket]
    exit_status: int
    tally: Mapping[str, int]
    duration_s: float
    #: Durations of slow tests in seconds.
    durations: Mapping[str, float] = field(default_factory=dict)
    #: All tests of each collected file were considered; `--lf` drops some without a report.
    sees_whole_files: bool = True
    #: Files with a selection of single tests.
    narrowed_files: frozenset[str] = frozenset()
    narrowed_by: tuple[str, ...] = ()
    collection_errors: tuple[str, ...] = ()
    #: Modules that were skipped as a whole, by a `pytest.skip` or `importorskip` at module level.
    skipped_modules: int = 0
    #: The failure of each failing test, in a phase that requires failing tests.
    failures: Mapping[str, Failure] = field(default_factory=dict)
    #: The messages of failing tests, in a line or two.
    messages: Mapping[str, str] = field(default_factory=dict)
    interrupted: str = ""
    internal_error: bool = False
    is_void: bool = False
    #: A hash of the checks of a test, where that matters: tests with the same hash are copies of each other.
    likeness: Mapping[str, str] = field(default_factory=dict)
    #: pytest's settings and our own rules, by name.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: The project's local plugins, as paths from the root.
    plugins: tuple[str, ...] = ()
    #: Folders with tests, from pytest's settings, relative to the root.
    testpaths: tuple[str, ...] = ()
    #: Metrics of plugins, and complaints about them.
    measured: Mapping[str, MetricValue] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    #: Platform, Python and packages of the run.
    surroundings: str = ""


class Criterion(Value):
    id: str = ""
    text: str = ""
    file: str = ""
    line: int | None = None


class Criteria(Value):
    """A bare number, or a list with ids."""

    count: int = 1
    listed: tuple[Criterion, ...] = ()
    #: Their file, relative to the root.
    file: str = ""
    #: Lines of a Markdown file that look like a criterion, but do not count as one.
    left_out: tuple[Criterion, ...] = ()

    @property
    def are_given(self) -> bool:
        """Whether there are any: without criteria, one new test is required."""
        return bool(self.listed) or self.count != 1

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.listed)


class RunRecord(Value):
    """One session and the state of the project after it: the complete input for evaluating a run."""

    run: str
    root: str
    session: Document
    inventory: Inventory
    #: The id of the project's files after the run, with the ids of their contents.
    tree: str
    files: Mapping[str, str] = field(default_factory=dict)
    #: Contents of imported files that git does not show: they are part of the tree.
    beside: Mapping[str, str] = field(default_factory=dict)
    #: Files that changed during the run.
    changed: tuple[str, ...] = ()
    #: Files that changed since the last run; None if that is not known.
    changed_since: tuple[str, ...] | None = None
    #: Files that changed between the previous green runs and this one.
    changed_since_green: tuple[str, ...] = ()
    #: Known tests that did not run: still in the sources, and no longer there.
    unselected: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    #: The folder that the run was started in, from the root; empty for the root.
    folder: str = ""
    criteria: Criteria = Criteria()
    #: The meaning of the tests; compared with the freeze, or frozen.
    meaning: Meaning = Meaning()
    #: In the first phase: tests of the baseline that are no longer in the sources.
    missing_since: tuple[str, ...] = ()
    #: Changes in RED to code and data that older tests use.
    weakened: tuple[Finding, ...] = ()
    #: Differences from tests that another task of the same root froze.
    altered_elsewhere: tuple[Finding, ...] = ()
    #: Modules that were missing in RED, and their files now.
    resolved: Mapping[str, str] = field(default_factory=dict)
    #: The measurements of providers; and of plugins, with the warnings and notes from the start of the run.
    evidence: Evidence = field(default_factory=dict)


class JudgedRun(Case):
    """A run that has ended, with classified outcomes and their verdict, before anything is written.

    While it is measured, its state is that before its end; in the first phase, if the run rewinds, that after the
    rewind. Then it is that after its events.
    """

    run: Run
    record: RunRecord
    past: References
    events: tuple[Event, ...]
    #: Frozen tests that are gone; in the first phase none.
    missing: tuple[str, ...]
    #: Tests that were moved since the freeze, or since the cycle began: old bare ids with new ones.
    moves: Mapping[str, str]
    kind: Kind
    #: Why it is not a complete run.
    why: str
    outcomes: Judgement
    green: Green
    #: Consecutive green runs, including this one.
    streak: int
    #: None for a run that does not count.
    iteration: int | None
    #: It should have returned to the first phase, but no test of the step fails there: the task stays where it is.
    stays: bool
    #: None for a void or nested run.
    evaluation: Evaluation | None = None

    @property
    def in_first_phase(self) -> bool:
        return self.phase.scope == "targets"

    @property
    def is_green(self) -> bool:
        return self.green == "green"


# --- known tests that did not run, and why: not selected, or no longer there

#: Bare names of the tests in a file's source; None if the file is gone.
NamesIn = Callable[[str], Collection[str] | None]


def audit_selection(
    known: Inventory, session: Document, names_in: NamesIn, ran: Inventory
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the known tests that did not run: those that are still in the sources, and those that are not.

    :param ran: the inventory of the outcomes. All tests of a file that is unchanged in it exist.
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
                continue  # the file represented tests that only an import shows, such as inherited ones: they exist
            if name == bare and bare in with_parameters:
                continue  # counted from the source while its module could not be imported: now its parameters are known
            if outcomes.get(join_id(path, bare)) == "uncollectable" or outcomes.get(path) == "uncollectable":
                continue  # its module can't be imported now: counted there, as failing
            if test_id in session.deselected:
                unselected.append(test_id)
            elif names is None or _is_gone(name, names, file.bodies, was_whole=path in whole):
                missing.append(test_id)
            else:
                unselected.append(test_id)
    return tuple(sorted(unselected)), tuple(sorted(missing))


def _names_with_parameters(path: str, known: Iterable[str], outcomes: Outcomes) -> frozenset[str]:
    prefix = f"{path}::"
    ran = (test_id[len(prefix) :] for test_id in outcomes if test_id.startswith(prefix))
    return frozenset(bare_name(name) for name in (*known, *ran) if "[" in name)


def _is_gone(name: str, names: Collection[str], bodies: Mapping[str, str], *, was_whole: bool) -> bool:
    bare = bare_name(name)
    if bare in names:
        # The function exists. Its parameter set is gone if pytest collected the whole file without it.
        return name != bare and was_whole
    return bare in bodies or was_whole
