"""Gather the input for evaluating a run: the document of its session, and the state of the project after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import PhaseGateError
from phase_gate.gate.inventory import Inventory, merge_inventories
from phase_gate.gate.measured import BEGINNING, Evidence, Measured, asked_for, measuring_providers, wanted_names
from phase_gate.gate.record import Criteria, Document, RunRecord, audit_selection
from phase_gate.runs.hello import own_settings
from phase_gate.runs.meaning import doctests_in_source, names_in_source, take_inventory, take_meaning
from phase_gate.storage import fingerprint
from phase_gate.storage.fingerprint import Tree, add_beside, changed_before, changed_sources, is_shown
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.evidence.context import RunCoverage
    from phase_gate.gate.state import State
    from phase_gate.runs.recorder import Recorder


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
        changed_since=fingerprint.changed_before_run(run.store.folder, {**before.files, **before.beside}),
        changed_since_green=_changed_since_green(run, before),
        unselected=unselected,
        missing=missing,
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
        settings={**document.settings, **own_settings(run.project.configuration, run.declared)},
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
    wanted = wanted_names(run.workflow, run.phase) | asked_for(run.phase, run.project.configuration)
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
        # With any patterns: those of this run may have excluded a test.
        names = names_in_source(root / path)
        return None if names is None else {*names, *doctests_in_source(root / path, path)}

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
    return fingerprint.changed_since_last_run(run.store.folder, state.streak_tree, {**tree.files, **tree.beside})
