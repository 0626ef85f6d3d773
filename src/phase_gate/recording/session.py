"""Gather everything that one session showed, when it has ended: the one record that the core decides from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.evidence.context import RunCoverage, say_nothing
from phase_gate.evidence.gathering import gather
from phase_gate.gate.criteria import Criteria, Links
from phase_gate.gate.freeze import merge_parts
from phase_gate.gate.inventory import merge_inventories
from phase_gate.gate.measured import BEGINNING
from phase_gate.gate.measuring import GREEN_WITHOUT_CHANGE
from phase_gate.gate.record import RunRecord, SessionFacts, Sources
from phase_gate.gate.selection import Audit, Selection, audit_selection
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.recording.collection import doctests_in_source, names_in_source
from phase_gate.recording.extensions import gather_metrics
from phase_gate.recording.frozen.meaning import take_meaning
from phase_gate.recording.inventory import take_inventory
from phase_gate.recording.modules import found_modules, imported_files
from phase_gate.recording.options import describe_narrowing, narrowed_files, sees_whole_files
from phase_gate.recording.outcomes import OutcomeWitness
from phase_gate.recording.run import RecordedRun
from phase_gate.recording.settings import local_plugins, take_settings, take_testpaths
from phase_gate.recording.witness import SessionWitness
from phase_gate.storage import last_files
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.tree.contents import changed_before, is_shown
from phase_gate.storage.tree.fingerprint import Tree, add_beside, changed_sources
from phase_gate.task import Task
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.frozen.items import ItemWitness


def gather_facts(
    config: pytest.Config,
    run: RecordedRun,
    *,
    witness: SessionWitness,
    outcome_witness: OutcomeWitness,
    exit_status: int,
    duration: float,
    marks: CriterionMarks | None,
    parts: ItemWitness | None,
    modules: Iterable[str],
) -> SessionFacts:
    """Return what the session showed of itself.

    :param modules: those of which it matters where they were found.
    """
    root, phase = run.project.root, run.phase
    assert phase is not None, "the run was begun"
    collection = witness.collection
    deselected = frozenset(map(collection.test_id, collection.deselected))
    by_node = {**witness.criteria_on_workers, **({} if marks is None else marks.by_node)}
    measured, complaints = gather_metrics(config, run.workflow, phase, root)
    failures = witness.failures() if phase.tests == "failing" else {}
    imported = tuple(sorted({*imported_files(outcome_witness.ownership), *witness.imported}))
    seen = merge_parts((*witness.parts, *(() if parts is None else (parts.parts,))))
    if seen.problem:
        raise RuntimeError(f"parts of tests in the sources could not be looked at: {seen.problem}")
    guarding: Mapping[str, str] = {}
    if phase.tests == "failing":
        from phase_gate.recording.guarding import take_guarding, unexplained

        guarding = take_guarding(config, witness, root)
        complaints = (*complaints, *unexplained(guarding))
    return SessionFacts(
        outcomes=witness.outcomes(),
        exit_status=exit_status,
        tally=witness.buckets.tally(),
        duration_s=duration,
        durations=take_durations(config, collection.test_id),
        deselected=deselected,
        sees_whole_files=sees_whole_files(config),
        narrowed_files=narrowed_files(config, root),
        narrowed_by=describe_narrowing(config, len(deselected)),
        collection_errors=tuple(collection.errors),
        skipped_modules=witness.skipped_modules,
        failures=failures,
        messages=witness.messages(),
        interrupted=witness.interrupted,
        internal_error=witness.internal_error,
        is_void=witness.is_usage_error(exit_status),
        marked={collection.test_id(node): ids for node, ids in by_node.items()},
        guarding={test_id: why for test_id, why in guarding.items() if why},
        settings=take_settings(config, run.project, run.declared),
        parts=seen,
        plugins=local_plugins(config, root),
        testpaths=take_testpaths(config, root),
        modules={**found_modules(modules, str(root)), **witness.modules},
        imported=imported,
        doubts=(*outcome_witness.doubts(), *witness.doubts()),
        measured=measured,
        complaints=complaints,
        surroundings=run.surroundings,
    )


#: Seconds that a stage of a test takes at least, to be counted.
_COUNTED = 0.01


def take_durations(config: pytest.Config, test_id: Callable[[str], str]) -> dict[str, float]:
    """Return how long tests took, from the reports that pytest itself keeps for its summary."""
    kept = getattr(config.pluginmanager.get_plugin("terminalreporter"), "stats", {})
    found: dict[str, float] = {}
    for reports in kept.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.duration >= _COUNTED:
                name = test_id(report.nodeid)
                found[name] = found.get(name, 0.0) + report.duration
    return found


def make_record(
    run: RecordedRun,
    facts: SessionFacts,
    criteria: Criteria,
    *,
    began: float,
    is_output: Callable[[str], bool],
    show: Callable[[str], None] | None = None,
    coverage: RunCoverage | None = None,
) -> RunRecord:
    """Return the session with everything that is found around it now that it has ended.

    :param began: when no code of the project had run yet.
    :param is_output: whether the run itself has written a file.
    :param coverage: what coverage.py measured of the run.
    """
    project, root, outcomes = run.project, run.project.root, facts.outcomes
    assert run.tree is not None, "the run was begun"
    assert run.phase is not None, "the run was begun"
    in_first_phase = run.phase.scope == "targets"
    looked = run.look_again()
    # In RED everything is frozen anew, whole.
    name = None if in_first_phase else looked.freeze.current
    frozen = run.store.objects.load_frozen(name)
    after = project.take_tree(reports=run.reports)
    known = None if looked.snapshots.known is None else run.store.objects.load_inventory(looked.snapshots.known)
    inventory = take_inventory(outcomes, root=root, contents=after.files, known=known)
    selection = Selection(
        deselected=facts.deselected,
        collected_files=frozenset(inventory.files) if facts.sees_whole_files else frozenset(),
        narrowed_files=facts.narrowed_files,
    )

    def names_in(path: str) -> Collection[str] | None:
        # By any patterns: those of this run may be the ones that left a test out.
        names = names_in_source(root / path)
        return None if names is None else {*names, *doctests_in_source(root / path, path)}

    # What was frozen has to stay, whatever became of it since: it may have moved, and be known by another name.
    expected = known if known is None or frozen is None else merge_inventories(frozen.inventory, known)
    audit = Audit((), ()) if expected is None else audit_selection(expected, outcomes, selection, names_in, inventory)
    # A narrow run adds nothing: the last green one is compared without what only this one needs.
    is_whole = not audit.unselected and not facts.interrupted
    unseen = [path for path in facts.imported if is_whole and not is_shown(path, after.files)]
    # What the run wrote for itself it will write again: only what lay there is kept in sight.
    lay_there = (path for path in unseen if changed_before(str(root), path, began))
    after = run.tree_left = add_beside(after, root, {*looked.beside, *lay_there})
    missing_since: tuple[str, ...] = ()
    if in_first_phase and looked.snapshots.baseline is not None:
        before = run.store.objects.load_inventory(looked.snapshots.baseline.inventory)
        missing_since = audit_selection(before, outcomes, selection, names_in).missing
    task = Task(project, run.store, looked)
    measured = gather(task, run.workflow, run.phase, show=show or say_nothing, coverage=coverage)
    missing = missing_modules(run)
    record = RunRecord(
        run=run.id,
        root=str(root),
        session=facts,
        sources=Sources(
            tree=after.digest,
            files=after.files,
            shown=after.shown,
            beside=after.beside,
            changed=changed_sources(run.tree, after),
            changed_since=last_files.changed_since(run.store.folder, run.tree.files),
            is_as_in_red=not in_first_phase
            and is_as_in_red(project, run.store.objects, looked, run.tree, began=began, imported=tuple(after.beside)),
        ),
        inventory=inventory,
        audit=audit,
        criteria=criteria,
        links=_take_links(criteria, facts, root=root, in_first_phase=in_first_phase),
        meaning=take_meaning(
            project,
            criteria,
            inventory,
            after,
            facts,
            frozen=frozen,
            at_start=run.at_start,
            is_output=is_output,
            outputs=frozenset() if looked.outputs is None else frozenset(run.store.objects.load(looked.outputs)),
        ),
        missing_since=missing_since,
        altered_elsewhere=run.find_altered_elsewhere(inventory, after, facts, is_output),
        resolved={name: facts.modules[name] for name in missing if name in facts.modules},
        evidence=measured,
        start_warnings=tuple(run.warnings),
        start_notes=tuple(run.notes),
    )
    if not in_first_phase or not (looked.freeze.before or BEGINNING in looked.memory.cycle):
        return record
    from phase_gate.recording.frozen.older import find_weakened

    return replace(record, weakened=find_weakened(task, after.files, inventory, record.meaning))


def _take_links(criteria: Criteria, facts: SessionFacts, *, root: Path, in_first_phase: bool) -> Links:
    if not criteria.listed and criteria.count == 1:
        return Links()  # there are no criteria: nothing to look at
    from phase_gate.recording.criteria import take_links

    return take_links(criteria, facts.marked, facts.outcomes, root=root, copies_matter=in_first_phase)


def missing_modules(run: RecordedRun) -> list[str]:
    """Return the modules that were missing in RED: in later phases they have to be the project's own."""
    red = run.state.freeze.red_bodies
    try:
        modules: list[str] = [] if red is None else run.store.objects.load(red)["modules"]
    except PhaseGateError:
        return []
    return modules


# --- has anything changed since RED that a run could have read? If not, something else made the tests green


def is_as_in_red(
    project: Project,
    objects: ObjectStore,
    state: State,
    tree: Tree,
    *,
    began: float,
    imported: tuple[str, ...] = (),
) -> bool:
    """Tell whether a run began on the very files that RED left: those of the tree, and all others that are not ignored.

    :param tree: as the run found it.
    :param imported: files that the run imported although they are ignored.
    """
    if state.freeze.red_bodies is None or not state.freeze.red_exited:
        return False
    red = objects.load(state.freeze.red_bodies)
    if red.get("tree") != tree.shown or any(
        tree.beside.get(path) != content for path, content in red["beside"].items()
    ):
        return False
    since = objects.kept_at(state.freeze.red_bodies)
    if state.measurement is not None:
        # What the run before has written is no change. Whatever it saw, nothing may have changed since.
        saw = any(row["slug"] == GREEN_WITHOUT_CHANGE for row in state.measurement.findings)
        since = datetime.fromisoformat(state.last_run.at).timestamp() if saw and state.last_run is not None else None
    if since is None:
        return False
    others = project.list_files(lambda path: path not in tree.files)
    return not _are_written(project.root, (*others, *imported), since, began)


def _are_written(root: Path, paths: Iterable[str], since: float, before: float) -> bool:
    for path in paths:
        try:
            changed = os.stat(root / path).st_ctime
        except OSError:
            continue
        if since < changed < before:
            return True
    return False
