"""Gather everything that a run's end is judged from: what its session showed, and what is found around it then."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import PhaseGateError
from phase_gate.evidence.context import RunCoverage
from phase_gate.evidence.gathering import gather
from phase_gate.gate.criteria import Criteria, Links
from phase_gate.gate.inventory import merge_inventories
from phase_gate.gate.measured import BEGINNING
from phase_gate.gate.record import Audit, Document, RunRecord, Selection, Sources, audit_selection
from phase_gate.runs.hello import own_settings
from phase_gate.runs.inventory import doctests_in_source, names_in_source, take_inventory
from phase_gate.runs.meaning import take_meaning
from phase_gate.storage import last_files
from phase_gate.storage.tree.contents import changed_before, is_shown
from phase_gate.storage.tree.fingerprint import Tree, add_beside, changed_sources
from phase_gate.task import Task
from phase_gate.values import replace

if TYPE_CHECKING:
    from phase_gate.runs.recorder import Recorder


def make_record(
    run: Recorder,
    facts: Document,
    *,
    is_output: Callable[[str], bool],
    show: Callable[[str], None],
    coverage: RunCoverage | None,
) -> RunRecord:
    """Return the session with everything that is found around it now that it has ended.

    :param is_output: whether the run itself has written a file.
    :param coverage: what coverage.py measured of the run.
    """
    project, root, outcomes = run.project, run.project.root, facts.outcomes
    assert run.tree is not None, "the run was begun"
    facts = replace(
        facts,
        settings={**facts.settings, **own_settings(project.configuration, run.declared)},
        surroundings=facts.surroundings or run.surroundings,
    )
    criteria, began = run.criteria, run.hello.at
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
    measured = gather(task, run.workflow, run.phase, show=show, coverage=coverage)
    missing = missing_modules(run)
    record = RunRecord(
        run=run.id,
        root=str(root),
        session=facts,
        sources=Sources(
            tree=after.digest,
            files=after.files,
            beside=after.beside,
            changed=changed_sources(run.tree, after),
            changed_since=last_files.changed_since(run.store.folder, run.tree.files),
            changed_since_green=_changed_since_green(run, run.tree),
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
    from phase_gate.runs.older import find_weakened

    return replace(record, weakened=find_weakened(task, after.files, inventory, record.meaning))


def _take_links(criteria: Criteria, facts: Document, *, root: Path, in_first_phase: bool) -> Links:
    if not criteria.listed and criteria.count == 1:
        return Links()  # there are no criteria: nothing to look at
    from phase_gate.runs.criteria import take_links

    return take_links(criteria, facts.marked, facts.outcomes, root=root, copies_matter=in_first_phase)


def missing_modules(run: Recorder) -> list[str]:
    """Return the modules that were missing in RED: in later phases they have to be the project's own."""
    red = run.state.freeze.red_bodies
    try:
        modules: list[str] = [] if red is None else run.store.objects.load(red)["modules"]
    except PhaseGateError:
        return []
    return modules


def _changed_since_green(run: Recorder, tree: Tree) -> tuple[str, ...]:
    """Return the files whose change ends a streak of green runs."""
    streak = run.state.streak
    if not streak.count or streak.tree is None or streak.tree == tree.digest:
        return ()
    return last_files.changed_since_left(run.store.folder, streak.tree, {**tree.files, **tree.beside})
