"""Rows 11 to 16, each without workers and with two, and what honest projects do with the same hooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_phase_gate.proofs.rows import Attempt, Row, conftest
from tests.integrity.cheats_genuine import COUNTED, NAMED_PLUGIN, NOT_IN_WORKERS, REFUSED, WORKERS
from tests.integrity.lax import GuardedBench, UnguardedBench
from tests.integrity.twins_genuine import IN_WORKERS, TWINS

_TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBench]:
    bench = GuardedBench(tmp_path_factory.mktemp("guarded"))
    yield bench
    bench.close()


@pytest.fixture(scope="session")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnguardedBench]:
    bench = UnguardedBench(tmp_path_factory.mktemp("unguarded"))
    yield bench
    bench.close()


@pytest.mark.parametrize("row", [*REFUSED, *COUNTED], ids=lambda row: row.name)
def test_refused(guarded: GuardedBench, row: Row) -> None:
    guarded.check_cheat(row)


@pytest.mark.parametrize(
    "row",
    [row for row in (*REFUSED, *COUNTED, *WORKERS) if row.name not in NOT_IN_WORKERS],
    ids=lambda row: row.name,
)
def test_refused_with_workers(guarded: GuardedBench, row: Row) -> None:
    guarded.check_cheat(row, *_TWO_WORKERS)


@pytest.mark.parametrize("row", [row for row in REFUSED if row is not NAMED_PLUGIN], ids=lambda row: row.name)
def test_it_is_the_guard_that_refuses(unguarded: UnguardedBench, row: Row) -> None:
    tried = unguarded.attempt(row.cheat)
    assert tried.holds, tried.output


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_honest(guarded: GuardedBench, twin: Attempt) -> None:
    guarded.check_twin(twin)


@pytest.mark.parametrize("name", IN_WORKERS)
def test_honest_with_workers(guarded: GuardedBench, name: str) -> None:
    guarded.check_twin(TWINS[name], *_TWO_WORKERS)


def test_the_benches_open_for_plain_work(guarded: GuardedBench, unguarded: UnguardedBench) -> None:
    guarded.check_twin(Attempt())
    unguarded.check_twin(conftest("", code=Attempt().code))
