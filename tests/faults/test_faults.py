"""A sample of the sweeps: some points of each kind, the same invariants. `tox -e long -- faults` visits all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phase_gate.storage.files import FileSystem
from tests.faults.kills import kill_at_random
from tests.faults.operations import OPERATIONS, Operation
from tests.faults.points import CALLS
from tests.faults.power import STEPS, Story
from tests.faults.sweep import Sweeper

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"), pytest.mark.sampled(4)]

BY_NAME = {each.name: each for each in OPERATIONS}

#: Operation, what happens, whether it stays so, every how many points, and from which one on.
SAMPLE = (
    ("run with a signal", "EIO", False, 71, 23),
    ("run with a signal", "kill-after", False, 71, 66),
    ("first run", "ENOSPC", True, 97, 60),
    ("signal", "EACCES", False, 31, 25),
    ("waive", "short", False, 1, 1),
    ("audit --repair of a ledger", "kill-after", False, 31, 30),
)


def test_every_operation_of_the_file_system_is_a_fault_point() -> None:
    offered = {name for name in vars(FileSystem) if not name.startswith("_")}
    assert offered == {*CALLS, "stream"}


@pytest.mark.parametrize(("name", "kind", "for_good", "step", "first"), SAMPLE, ids=str)
def test_a_fault_leaves_old_or_new_and_life_goes_on(
    tmp_path: Path, name: str, kind: str, for_good: bool, step: int, first: int
) -> None:
    operation: Operation = BY_NAME[name]
    sweeper = Sweeper(operation, tmp_path)
    try:
        swept = sweeper.sweep(kind, for_good=for_good, step=step, first=first)
    finally:
        sweeper.close()
    assert swept.problems == ()
    assert swept.visited > 0


@pytest.mark.parametrize("index", range(len(STEPS)), ids=[name for name, _ in STEPS])
def test_a_power_failure_leaves_old_or_new(tmp_path: Path, index: int) -> None:
    story = Story(tmp_path)
    story.fail_during(index, step=7)
    assert story.images > 0


@pytest.mark.parametrize("index", [0, 2], ids=["begin", "end"])
def test_what_a_killed_process_did_not_sync_is_synced_by_the_next(tmp_path: Path, index: int) -> None:
    story = Story(tmp_path)
    story.fail_after_kill(index, step=13)
    assert story.images > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [False, True], ids=["alone", "with-workers"])
def test_a_run_that_is_killed_is_reported_as_lost_or_was_never_there(tmp_path: Path, workers: bool) -> None:
    found = kill_at_random(tmp_path, times=1, workers=workers, seed=7)
    assert sum(found.values()) == 1
