"""A hook that lies about one older test: told where pytest knows of the exception, and open where it does not."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.integrity.bench import Workbench
from tests.integrity.cheats_older import OLD, OLDER, OPEN
from tests.integrity.rows import Attempt, Row

_TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")


@pytest.mark.cheats(59)
@pytest.mark.parametrize("row", OLDER, ids=lambda row: row.name)
def test_refuses(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.cheats(59)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", OLDER, ids=lambda row: row.name)
def test_refuses_on_workers(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row, *_TWO_WORKERS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", OLDER, ids=lambda row: row.name)
def test_the_same_hook_may_stay_while_the_old_test_passes(bench: Workbench, row: Row) -> None:
    bench.check_twin(row.twin)


@pytest.mark.parametrize("attempt", OPEN.values(), ids=OPEN)
def test_is_open(bench: Workbench, attempt: Attempt) -> None:
    tried = bench.attempt(attempt)
    assert tried.is_open, tried.output
    assert OLD not in tried.output


def test_what_is_open_is_written_down() -> None:
    text = " ".join((ROOT / "docs" / "explanation" / "limits.md").read_text(encoding="utf-8").split())
    for word in (
        "takes the exception out",
        "swallows it",
        "never calls the test",
        "makes a skip of it",
        "expected to fail",
    ):
        assert word in text
