"""End a recorded run: gather its evidence and references, evaluate it, and write its end record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.errors import PhaseGateError
from phase_gate.gate.events import apply
from phase_gate.gate.inventory import Inventory, merge_inventories
from phase_gate.gate.judging import judgement_events
from phase_gate.gate.measured import BEGINNING, Evidence, Measured, measuring_providers, wanted_names
from phase_gate.gate.measuring import wants_proof
from phase_gate.gate.outcomes import Past, References
from phase_gate.gate.record import Criteria, Document, JudgedRun, RunRecord, audit_selection
from phase_gate.gate.run_end import judge_run
from phase_gate.gate.state import Event, Snapshot, State
from phase_gate.gate.verdict import ABSENT, Signal, strictest
from phase_gate.project import who_am_i
from phase_gate.runs.hello import own_settings, waiting_signal
from phase_gate.runs.meaning import take_inventory, take_meaning
from phase_gate.storage.fingerprint import (
    Tree,
    add_beside,
    changed_before,
    changed_before_run,
    changed_since_last_run,
    changed_sources,
    is_shown,
    save_last_run,
)
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import now
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.evidence.context import RunCoverage
    from phase_gate.gate.measured import Remembered
    from phase_gate.runs.recorder import Recorder
    from phase_gate.workflow.model import Phase


# --- what is known of a run when its session has ended


def make_record(
    run: Recorder,
    document: Document,
    *,
    is_output: Callable[[str], bool],
    show: Callable[[str], None],
    coverage: Callable[[], RunCoverage] | None,
) -> RunRecord:
    """Return the session with all facts around it, now that it has ended.

    :param is_output: whether the run itself has written a file.
    :param coverage: returns the line coverage of the run, measured by coverage.py.
    """
    project, state, objects = run.project, run.refresh(), run.store.objects
    in_first_phase = run.phase.scope == "targets"
    document = _with_surroundings(run, document)
    # RED freezes everything again, and is not compared.
    frozen = None if in_first_phase else objects.load_frozen(state.freeze.current)
    tree = project.take_tree(reports=run.reports)
    known = None if state.known_tests is None else objects.load_inventory(state.known_tests)
    inventory = take_inventory(document.outcomes, root=project.root, contents=tree.files, known=known)
    # Frozen tests have to stay, whatever has happened since: they may have moved, and have another name.
    expected = known if known is None or frozen is None else merge_inventories(frozen.inventory, known)
    unselected, missing = ((), ()) if expected is None else _audit(run, document, inventory, expected)
    is_narrow = bool(unselected or document.interrupted)
    tree = run.tree_left = _add_imported(run, tree, () if is_narrow else document.imported)
    before = run.tree
    assert before is not None, "the run was begun"
    folder = relative_id(run.hello.start, project.root)
    meaning = take_meaning(
        project,
        run.criteria,
        inventory,
        tree,
        document,
        frozen=frozen,
        at_start=run.at_start,
        is_output=is_output,
        outputs=frozenset() if state.outputs is None else frozenset(objects.load(state.outputs)),
    )
    record = RunRecord(
        run=run.id,
        root=str(project.root),
        session=_with_marks(run.criteria, document, root=project.root, in_first_phase=in_first_phase),
        inventory=inventory,
        tree=tree.digest,
        files=tree.files,
        beside=tree.beside,
        changed=changed_sources(before, tree),
        changed_since=changed_before_run(run.store.folder, {**before.files, **before.beside}),
        changed_since_green=_changed_since_green(run, before),
        unselected=unselected,
        missing=missing,
        folder="" if folder == "." else folder,
        criteria=run.criteria,
        meaning=meaning,
        altered_elsewhere=run.find_altered_elsewhere(inventory, tree, document, is_output),
        resolved={name: document.modules[name] for name in missing_modules(run) if name in document.modules},
        evidence=_gather(run, document, state, show, coverage),
    )
    return _compare_with_before(run, record, state) if in_first_phase else record


def _with_surroundings(run: Recorder, document: Document) -> Document:
    """Return the document with our own rules and the environment of the tests."""
    return replace(
        document,
        settings={**document.settings, **own_settings(run.project.configuration, run.rules)},
        surroundings=document.surroundings or run.surroundings,
    )


def _gather(
    run: Recorder,
    document: Document,
    state: State,
    show: Callable[[str], None],
    coverage: Callable[[], RunCoverage] | None,
) -> Evidence:
    """Return all evidence other than the tests, with the warnings and notes of the run; in most runs there is none."""
    warnings = (*document.complaints, *run.warnings)
    evidence = {"plugins": Measured(metrics=document.measured, warnings=warnings, notes=tuple(run.notes))}
    wanted = wanted_names(run.workflow, run.phase, run.project.configuration)
    if measuring_providers(wanted, run.project.configuration) or run.workflow.pipeline is not None:
        from phase_gate.evidence.gathering import gather

        # A provider takes precedence over a plugin.
        evidence |= gather(run.task(state), run.workflow, run.phase, show=show, coverage=coverage)
    return evidence


def _audit(
    run: Recorder, document: Document, inventory: Inventory, expected: Inventory
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the expected tests that did not run, and those that are gone."""
    root = run.project.root

    def names_in(path: str) -> Collection[str] | None:
        from phase_gate.runs.parsing import names_in_source  # here, not above: in most runs every test ran

        # With any patterns: those of this run may have excluded a test.
        names = names_in_source(root / path, doctests_of=path)
        return None if names is None else frozenset(names)

    return audit_selection(expected, document, names_in, inventory)


def _add_imported(run: Recorder, tree: Tree, imported: Iterable[str]) -> Tree:
    """Return the tree with imported files that git does not show, except files that the run has written.

    :param imported: empty for a narrow run, so that its tree can be compared with that of the last green run.
    """
    root = run.project.root
    hidden = (path for path in imported if not is_shown(path, tree.files))
    were_there = (path for path in hidden if changed_before(str(root), path, run.hello.at))
    return add_beside(tree, root, {*run.state.beside, *were_there})


def _compare_with_before(run: Recorder, record: RunRecord, state: State) -> RunRecord:
    """Return the record of a run in RED with its changes to older tests: removed, or with weaker support."""
    if state.baseline is not None:
        before = run.store.objects.load_inventory(state.baseline.inventory)
        record = replace(record, missing_since=_audit(run, record.session, record.inventory, before)[1])
    if not state.freeze.before and BEGINNING not in state.memory.cycle:
        return record
    from phase_gate.runs.older import find_weakened

    return replace(record, weakened=find_weakened(run.task(state), record.files, record.inventory, record.meaning))


def _with_marks(criteria: Criteria, document: Document, *, root: Path, in_first_phase: bool) -> Document:
    if not criteria.are_given:
        return document
    from phase_gate.runs.criteria_coverage import complete_marks

    return complete_marks(criteria, document, root=root, copies_matter=in_first_phase)


def missing_modules(run: Recorder) -> list[str]:
    """Return the modules that were missing in RED: in later phases they must belong to the project."""
    red = run.state.freeze.red_bodies
    try:
        modules: list[str] = [] if red is None else run.store.objects.load(red)["modules"]
    except PhaseGateError:
        return []
    return modules


def _changed_since_green(run: Recorder, tree: Tree) -> tuple[str, ...]:
    """Return the changed files that end a streak of green runs."""
    state = run.state
    if not state.streak or state.streak_tree is None or state.streak_tree == tree.digest:
        return ()
    return changed_since_last_run(run.store.folder, state.streak_tree, {**tree.files, **tree.beside})


# --- the verdict and the end record


def write_end(run: Recorder, record: RunRecord, progress: Callable[[str], None]) -> JudgedRun:
    """Evaluate the run and write its end record. The lock is held for the write only."""
    prover = _Prover(run, record, progress)
    signals, ended = _write_judged(run, record, prover)
    signals.clear(ended)
    if ended.kind not in ("void", "nested"):
        save_last_run(run.store.folder, record.tree, {**record.files, **record.beside})
    run.close(has_ended=True)
    return ended


@again_if_moved
def _write_judged(run: Recorder, record: RunRecord, prover: _Prover) -> tuple[_GivenSignals, JudgedRun]:
    judged_on = run.opened.head
    signals = _GivenSignals(run, run.state)
    ended = _judge(run, run.state, record, signals, prover)
    with run.store.transaction(known=run.opened) as change:
        if change.opened.head != judged_on:
            # Another process wrote in between: evaluate again with the new state.
            run.refuse_lost(change.opened)
            signals = _GivenSignals(run, change.state)
            ended = _judge(run, change.state, record, signals, prover)
        change.record(*signals.events(), *ended.events)
    return signals, ended


def _judge(run: Recorder, state: State, record: RunRecord, signals: _GivenSignals, prover: _Prover) -> JudgedRun:
    """Evaluate the run with that state; if its verdict requires a proof, make it and evaluate again."""
    past = load_references(run.store.objects, state, record, root=run.project.root, phase=run.phase)
    judge = partial(judge_run, workflow=run.workflow, record=record, past=past, at=now(), keep=partial(_keep, run))
    ended = judge(state, answer=signals.read, before=run.state_before(state), remembered=run.remembered)
    proved = prover.prove(state, ended)
    if proved is not None:
        ended = judge(apply(state, proved), answer=signals.read)
        ended = replace(ended, events=(proved, *ended.events))
    if ended.evaluation is None or ended.iteration is None:
        return ended
    verdict = judgement_events(
        ended.evaluation,
        ended,
        remember_next=lambda: run.remember_next(state),
        look=partial(_look, run, state),
    )
    return replace(ended, events=(*ended.events, *verdict))


def _look(run: Recorder, state: State, phase: Phase) -> Remembered:
    """Return the state of the project at the start of a phase of a pipeline."""
    from phase_gate.evidence.gathering import remember

    return remember(run.task(state), run.workflow, phase)


def _keep(run: Recorder, name: str, document: Any) -> str:
    """Store a document of a run; for sources, also their texts."""
    if name == "sources":
        document = {path: _read_text(run.project.root / path) for path in document}
    return run.store.keep(name, document)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class _Prover:
    """Makes the proof that a run's verdict requires: outside the lock, and only once if the run is evaluated twice."""

    def __init__(self, run: Recorder, record: RunRecord, progress: Callable[[str], None]) -> None:
        self._run, self._record, self._progress = run, record, progress
        self._made: dict[str | None, Event | None] = {}

    def prove(self, state: State, ended: JudgedRun) -> Event | None:
        """Return the event that records a proof; None if no proof is required."""
        run, record, phase = self._run, self._record, ended.phase
        is_last = run.hello.confirming[1] > 0 and run.further_runs(ended.streak) == 0
        if ended.evaluation is None or ended.iteration is None:
            return None
        if not wants_proof(state, phase, ended.evaluation, record.tree, confirmed=is_last):
            return None
        freeze = state.freeze.current
        if freeze not in self._made:
            from phase_gate.evidence.gathering import prove

            self._made[freeze] = prove(
                run.task(replace(state, measurement=ended.state.measurement)),
                phase,
                files=record.files,
                at=now(),
                show=self._progress,
            )
        return self._made[freeze]


#: The problem of a signal file that only the suite, or a user who did not wait, can have written.
_MEANWHILE = "it was made while the run was open"


class _GivenSignals:
    """Gate 2 at the end of a run: reads the option and the file once, and removes the file."""

    def __init__(self, run: Recorder, state: State) -> None:
        self._run = run
        self._file: Signal | None = waiting_signal(run.store.signal_file, spent=state.spent_signal)
        early = run.hello.signal
        if self._file is not None and early is not None and not early.file:
            self._file = early  # perhaps a different file: keep it for the next run
        self._is_made_meanwhile = (
            self._file is not None and self._file.file != "" and (early is None or self._file.file != early.file)
        )

    def read(self, judged: JudgedRun) -> Signal:
        """Return the reading of Gate 2 for a run that counts."""
        run, iteration = self._run, judged.iteration
        assert iteration is not None, "a run that does not count has no signal"
        given = run.hello.exit_signal
        # Green, and more runs follow: the signal applies to the last one.
        if judged.is_green and run.further_runs(judged.streak) > 0:
            return Signal(answer="held") if given is not None or self._file is not None else ABSENT
        by_option = ABSENT
        if given is not None:
            by_option = Signal(answer="done", reason=given, by=who_am_i(run.project.environment))
        if self._file is None:
            return by_option
        in_file = self._file.for_iteration(phase=run.phase.name, task=run.project.task, iteration=iteration)
        if self._is_made_meanwhile:
            in_file = Signal(answer="refused", problem=_MEANWHILE)
        return replace(strictest(by_option, in_file), file=self._file.file)

    def events(self) -> list[Event]:
        if not self._is_made_meanwhile or self._file is None:
            return []
        file = self._file
        data = {"run": self._run.id, "answer": file.answer, "problem": _MEANWHILE, "file": file.file}
        return [Event(kind="signal-refused", data=data)]

    def clear(self, ended: JudgedRun) -> None:
        """Remove the file once it is in the ledger. A malformed file stays for its author to fix."""
        if self._file is None:
            return
        verdict = ended.evaluation
        is_read = ended.iteration is not None and verdict is not None and verdict.gate_2.answer != "held"
        if self._is_made_meanwhile or (is_read and self._file.answer != "malformed"):
            from phase_gate.storage.signal_file import remove_signal_file

            remove_signal_file(self._run.store.signal_file, self._file)


# --- the references of a run, loaded from stored objects and from git, as far as they are in the state


def load_references(objects: ObjectStore, state: State, record: RunRecord, *, root: Path, phase: Phase) -> References:
    """Return all data that outcomes are compared with.

    A run that returns to the first phase at its end is evaluated as if it had already done so.
    """
    in_first_phase, began = phase.scope == "targets", state.open_run(record.run)
    rewinds = began is not None and began.rewinds and state.phase != began.phase

    def past(snapshot: Snapshot | None) -> Past | None:
        if snapshot is None:
            return None
        inventory, outcomes = objects.load_inventory(snapshot.inventory), objects.load(snapshot.outcomes)
        return Past(inventory, outcomes, snapshot.surroundings)

    known = None if state.known_tests is None else objects.load_inventory(state.known_tests)
    withdrawn = objects.load_frozen(state.freeze.would_withdraw if rewinds else state.freeze.withdrawn)
    head: Mapping[str, Mapping[str, str]] = {}
    if in_first_phase:
        from phase_gate.runs.parsing import bodies_at_head  # here, not above: other phases read no sources

        head = bodies_at_head(root, record.inventory, record.files)
    return References(
        baseline=past(state.baseline),
        first=past(state.first_snapshot),
        latest=past(state.latest_snapshot),
        known=known,
        head=head,
        targets=None if in_first_phase or state.targets is None else frozenset(objects.load(state.targets)),
        recovered=frozenset(state.recovered),
        frozen=objects.load_frozen(state.freeze.current),
        withdrawn=None if withdrawn is None else withdrawn.inventory,
        surroundings=record.session.surroundings,
        red={} if state.freeze.red_bodies is None else objects.load(state.freeze.red_bodies)["bodies"],
    )
