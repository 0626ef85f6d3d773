"""End a recorded run: load its references, evaluate it, store the results, and write its end record."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from phase_gate.gate.events import apply
from phase_gate.gate.inventory import Inventory, TestFile, bare_name, content_id
from phase_gate.gate.judging import judgement_events
from phase_gate.gate.measuring import wants_proof
from phase_gate.gate.outcomes import Past, References
from phase_gate.gate.record import JudgedRun, RunRecord
from phase_gate.gate.run_end import judge_run
from phase_gate.gate.state import Event, Snapshot, State
from phase_gate.gate.verdict import ABSENT, Signal, strictest
from phase_gate.project import who_am_i
from phase_gate.storage.fingerprint import save_last_run
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.storage.store import now
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.measured import Remembered
    from phase_gate.runs.recorder import Recorder
    from phase_gate.workflow.model import Phase


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
        self._file: Signal | None = read_signal_file(run.store.signal_file, spent=state.spent_signal)
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
            remove_signal_file(self._run.store.signal_file)


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
    head: Mapping[str, Mapping[str, str]] = {}
    if in_first_phase:
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
        withdrawn=_load_withdrawn(objects, state.freeze.would_withdraw if rewinds else state.freeze.withdrawn),
        surroundings=record.session.surroundings,
        red={} if state.freeze.red_bodies is None else objects.load(state.freeze.red_bodies)["bodies"],
    )


def _load_withdrawn(objects: ObjectStore, name: str | None) -> Inventory | None:
    return None if name is None else objects.load_inventory(objects.load(name)["inventory"])


# --- the bodies of tests at git's HEAD: this step is not about a passing test that is equal to its committed version


def bodies_at_head(root: Path, inventory: Inventory, tree_files: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return path -> bare name -> body hash at HEAD; empty without git or without a commit."""
    from phase_gate.storage.git_command import files_of_commit, try_git

    paths = [path for path in inventory.files if not path.startswith("../")]
    committed = files_of_commit(root, "HEAD", tree_files)
    found: dict[str, Mapping[str, str]] = {}
    for path in paths:
        blob, file = committed.get(path), inventory.files[path]
        if blob is None:
            continue
        source = None if tree_files.get(path) == blob else try_git(root, "cat-file", "blob", blob)
        # A text with examples may be a document, which is not in the tree.
        if tree_files.get(path) == blob or (source is not None and file.content == content_id(source)):
            # Unchanged as a whole, including tests whose bodies are elsewhere: inherited, or made at run time.
            found[path] = {bare_name(name): file.bodies.get(bare_name(name), "") for name in file.ids}
            continue
        if source is None or not path.endswith(".py"):
            continue
        from phase_gate.source.tests import parse_source

        try:
            tree = parse_source(source)
        except SyntaxError:
            continue
        found[path] = _bodies(tree, path, file)
    return found


def _bodies(tree: ast.Module, path: str, now: TestFile) -> dict[str, str]:
    """Return the bodies in a file at HEAD: its tests, its examples, and tests that are not in a source."""
    from phase_gate.source.tests import find_doctests, find_tests

    tests = {test.name: test.body for test in find_tests(tree, functions=("*",), classes=("*",))}
    names = {bare_name(name) for name in now.ids}
    if names <= tests.keys():
        return tests
    classes = {name.partition("::")[0] for name in tests} | {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)
    }
    # Inherited, or made at run time: they are as old as their class or module.
    made = {
        name for name in names if not now.bodies.get(name) and ("::" not in name or name.partition("::")[0] in classes)
    }
    return {**dict.fromkeys(made, ""), **find_doctests(tree, path), **tests}
