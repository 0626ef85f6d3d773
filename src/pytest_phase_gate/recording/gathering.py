"""Gather everything that one session showed, when it has ended: the one record that the core decides from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_phase_gate.core.criteria import Criteria, Links
from pytest_phase_gate.core.outcomes import Outcomes
from pytest_phase_gate.core.record import RunRecord
from pytest_phase_gate.core.selection import Audit, Selection, audit_selection
from pytest_phase_gate.errors import PhaseGateError
from pytest_phase_gate.project import Project
from pytest_phase_gate.recording.collection import names_in_source
from pytest_phase_gate.recording.extensions import gather_metrics
from pytest_phase_gate.recording.genuine import OutcomeWitness
from pytest_phase_gate.recording.inventory import take_inventory
from pytest_phase_gate.recording.meaning import take_meaning
from pytest_phase_gate.recording.modules import found_modules
from pytest_phase_gate.recording.narrowing import describe_narrowing, narrowed_files, whole_files
from pytest_phase_gate.recording.oddities import look_for_oddities
from pytest_phase_gate.recording.run import RecordedRun
from pytest_phase_gate.recording.witness import SessionWitness
from pytest_phase_gate.storage import last_files
from pytest_phase_gate.storage.references import load_frozen
from pytest_phase_gate.storage.tree import changed_sources

if TYPE_CHECKING:
    from pytest_phase_gate.recording.criteria import CriterionMarks


def gather_record(
    config: pytest.Config,
    project: Project,
    run: RecordedRun,
    *,
    witness: SessionWitness,
    outcome_witness: OutcomeWitness,
    exit_status: int,
    began: float,
    duration: float,
    criteria: Criteria,
    marks: CriterionMarks | None,
) -> tuple[RunRecord, Mapping[str, str]]:
    """Return the record, and the content ids of the tree as the run left it."""
    root = project.root
    assert run.tree is not None, "the run was begun"
    assert run.phase is not None, "the run was begun"
    looked = run.store.look().state
    # In RED everything is frozen anew, whole.
    frozen = None if run.phase.scope == "targets" else load_frozen(run.store.objects, looked.frozen)
    frozen_at = None if frozen is None or looked.frozen is None else run.store.objects.kept_at(looked.frozen)
    after = project.take_tree()
    outcomes = witness.outcomes()
    known = None if looked.known is None else run.store.objects.load_inventory(looked.known)
    inventory = take_inventory(outcomes, root=root, contents=after.files, known=known)
    deselected = frozenset(map(witness.collection.test_id, witness.collection.deselected))
    audit = Audit((), ())
    if known is not None:
        selection = Selection(
            deselected=deselected,
            collected_files=whole_files(config, inventory.files),
            narrowed_files=narrowed_files(config, root),
        )
        # By any patterns: those of this run may be the ones that left a test out.
        audit = audit_selection(known, outcomes, selection, lambda path: names_in_source(root / path))
    evidence, complaints = gather_metrics(config, run.workflow, run.phase, root)
    measured = project.gather_evidence(run.workflow, run.phase, run.store, looked, show=_teller(config))
    record = RunRecord(
        run=run.id,
        outcomes=outcomes,
        inventory=inventory,
        audit=audit,
        tree=after.digest,
        root=str(root),
        exit_status=exit_status,
        tally=witness.buckets.tally(),
        duration_s=duration,
        deselected=len(deselected),
        collection_errors=tuple(witness.collection.errors),
        skipped_modules=witness.skipped_modules,
        failures=witness.failures() if run.phase.tests == "failing" else {},
        messages=witness.messages(),
        interrupted=witness.interrupted,
        internal_error=witness.internal_error,
        is_void=witness.is_usage_error(exit_status),
        changed_sources=changed_sources(run.tree, after),
        changed_since=last_files.changed_since(run.store.folder, after.files),
        narrowed_by=describe_narrowing(config, len(deselected)),
        criteria=criteria,
        links=_take_links(criteria, witness, marks, outcomes, root=root, in_first_phase=run.phase.scope == "targets"),
        meaning=take_meaning(
            config, project, run.declared, criteria, inventory, after.files, frozen=frozen, began=began
        ),
        resolved={**found_modules(missing_modules(run), str(root)), **witness.modules},
        doubts=(*outcome_witness.doubts(), *witness.doubts()),
        foreign_hooks=tuple(sorted({*outcome_witness.foreign_hooks, *witness.foreign_hooks})),
        evidence={**evidence, **measured.metrics},
        evidence_findings=(
            *measured.findings,
            *look_for_oddities(root, after.files, inventory, since=frozen_at),
        ),
        evidence_memory=measured.remembered,
        warnings=(*complaints, *measured.warnings),
        notes=measured.notes,
        tables=measured.tables,
    )
    return record, after.files


def _take_links(
    criteria: Criteria,
    witness: SessionWitness,
    marks: CriterionMarks | None,
    outcomes: Outcomes,
    *,
    root: Path,
    in_first_phase: bool,
) -> Links:
    if marks is None and criteria.count == 1:
        return Links()  # nobody spoke of criteria: nothing to look at
    from pytest_phase_gate.recording.criteria import take_links

    by_node = {**witness.criteria_on_workers, **({} if marks is None else marks.by_node)}
    marked = {witness.collection.test_id(node): ids for node, ids in by_node.items()}
    return take_links(criteria, marked, outcomes, root=root, copies_matter=in_first_phase)


def _teller(config: pytest.Config) -> Callable[[str], None]:
    """Return what shows a line to whoever waits for a long command."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    def tell(text: str) -> None:
        if terminal is not None:
            terminal.write_line(text)

    return tell


def missing_modules(run: RecordedRun) -> list[str]:
    """Return the modules that were missing in RED: in later phases they have to be the project's own."""
    try:
        state = run.store.look().state
        modules: list[str] = [] if state.red is None else run.store.objects.load(state.red)["modules"]
    except PhaseGateError:
        return []
    return modules
