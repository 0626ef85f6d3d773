"""Experiments that are made by a command: they speak of the files that they were made on, and of no others."""

from __future__ import annotations

import pytest

from phase_gate.codec import spell_out
from phase_gate.gate.events import apply
from phase_gate.gate.experiments import BEHAVIOUR, MUTATION, current_experiment, experimented
from phase_gate.gate.findings import Finding
from phase_gate.gate.proofs import EXPERIMENT_SLUGS, experiment_findings, experiment_values
from phase_gate.gate.state import NEW_STATE, Event, ExperimentRecord, State
from phase_gate.workflow.metrics import EXPERIMENT_METRICS, METRIC_TYPES

AT = "2026-01-01T00:00:00Z"
SURVIVOR = Finding(slug="mutant-survived", tier="advisory", file="calc.py", line=2, detail="a - b: no test fails")


def made(kind: str, tree: str, **metrics: int) -> ExperimentRecord:
    findings = (spell_out(SURVIVOR),) if kind == MUTATION else ()
    return ExperimentRecord(tree=tree, object="0" * 64, iteration=1, metrics=metrics, findings=findings)


def after(*records: tuple[str, ExperimentRecord]) -> State:
    state = NEW_STATE
    for kind, record in records:
        state = apply(state, experimented(kind, record, AT))
    return state


def test_what_was_tried_counts_on_the_same_files_only() -> None:
    state = after((MUTATION, made(MUTATION, "one", mutants_total=3, mutants_survived=1)))
    assert experiment_values(state, "one") == {"mutants_total": 3, "mutants_survived": 1}
    assert experiment_findings(state, "one") == (SURVIVOR,)
    assert (experiment_values(state, "other"), experiment_findings(state, "other")) == ({}, ())


def test_kinds_stand_side_by_side_and_a_later_one_replaces_its_own_kind() -> None:
    state = after(
        (MUTATION, made(MUTATION, "one", mutants_survived=1)),
        (BEHAVIOUR, made(BEHAVIOUR, "one", behaviour_diffs=0)),
        (MUTATION, made(MUTATION, "one", mutants_survived=0)),
    )
    assert experiment_values(state, "one") == {"mutants_survived": 0, "behaviour_diffs": 0}


@pytest.mark.parametrize(("tree", "is_current"), [("one", True), ("other", False)])
def test_the_current_one_is_of_these_very_files(tree: str, is_current: bool) -> None:
    state = after((MUTATION, made(MUTATION, "one", mutants_total=1)))
    assert (current_experiment(state, MUTATION, tree) is not None) is is_current
    assert current_experiment(state, BEHAVIOUR, tree) is None


def test_a_new_cycle_begins_without_them() -> None:
    state = after((MUTATION, made(MUTATION, "one", mutants_total=1)))
    assert apply(state, Event(kind="cycle-began", data={"workflow": "tdd"}, at=AT)).experiments == {}


def test_their_names_are_metrics_that_count() -> None:
    assert {METRIC_TYPES[name] for name in EXPERIMENT_METRICS} == {"int"}
    assert {"mutant-survived", "behaviour-differs"} == EXPERIMENT_SLUGS
