"""Rows 11 to 16, each without workers and with two, and what honest projects do with the same hooks."""

from __future__ import annotations

import pytest

from phase_gate.values import replace
from tests.integrity.bench import ProvingBench, Workbench
from tests.integrity.cheats_genuine import (
    BY_FREEZE,
    BY_GUARD,
    COUNTED,
    NAMED_PLUGIN,
    NOT_IN_WORKERS,
    REFUSED,
    SOURCES,
    TOLD_ON_WORKERS,
    WORKERS,
)
from tests.integrity.lax import GUARDED, UNGUARDED, under
from tests.integrity.rows import GOOD, Attempt, Row, conftest
from tests.integrity.shared import numbered, rows_of
from tests.integrity.twins_genuine import IN_WORKERS, TWINS

_TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")


def in_lax(row: Row) -> Row:
    return replace(row, cheat=under(GUARDED, row.cheat))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", numbered(BY_GUARD, COUNTED))
def test_refused(bench: Workbench, row: Row) -> None:
    bench.check_cheat(in_lax(row))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("row", numbered(BY_FREEZE))
def test_refused_by_the_freeze(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.cheats(12)
@pytest.mark.parametrize("row", SOURCES, ids=lambda row: row.name)
def test_refused_by_the_experiment(proving_bench: ProvingBench, row: Row) -> None:
    proving_bench.check_disproven(row)


@pytest.mark.cheats(22)
@pytest.mark.sampled(5)  # with workers, a run takes as long as three without
@pytest.mark.parametrize(
    "row",
    [*WORKERS, *(row for row in rows_of(BY_GUARD, COUNTED) if row.name not in NOT_IN_WORKERS)],
    ids=lambda row: row.name,
)
def test_refused_with_workers(bench: Workbench, row: Row) -> None:
    told_by = TOLD_ON_WORKERS.get(row.name, row.told_by)
    bench.check_cheat(replace(in_lax(row), told_by=told_by), *_TWO_WORKERS)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("row", [row for row in rows_of(BY_GUARD) if row is not NAMED_PLUGIN], ids=lambda row: row.name)
def test_it_is_the_guard_that_refuses(bench: Workbench, row: Row) -> None:
    tried = bench.attempt(under(UNGUARDED, row.cheat))
    assert tried.is_open, tried.output


@pytest.mark.sampled(3)
@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_honest(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(under(GUARDED, twin))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", IN_WORKERS)
def test_honest_with_workers(bench: Workbench, name: str) -> None:
    bench.check_twin(under(GUARDED, TWINS[name]), *_TWO_WORKERS)


def test_the_benches_open_for_plain_work(bench: Workbench) -> None:
    bench.check_twin(under(GUARDED, Attempt()))
    bench.check_twin(under(UNGUARDED, conftest("", code=GOOD)))


def test_the_rows_for_workers_are_rows() -> None:
    assert {row.name for row in rows_of(REFUSED, COUNTED)} >= NOT_IN_WORKERS
