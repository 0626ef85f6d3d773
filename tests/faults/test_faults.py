"""Nothing acknowledged is lost, at whichever file operation something happens. `tox -e sweeps` visits all of them."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.gate.state import Event
from phase_gate.storage.files import FileSystem
from phase_gate.storage.opening import Place
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.faults.file_system import CALLS, ERRORS, KILLS
from tests.faults.project import OPERATIONS
from tests.faults.sweep import Sweeper
from tests.storage.stores import BEGIN, declare
from tests.sweeps import IS_WHOLE

#: Operation, what happens, whether it stays so, every how many calls, and from which one on.
SAMPLE = (
    ("run with a signal", "EIO", False, 71, 23),
    ("run with a signal", "kill-after", False, 71, 66),
    ("first run", "ENOSPC", True, 97, 60),
    ("signal", "EACCES", False, 31, 25),
    ("audit --repair of a ledger", "kill-after", False, 31, 30),
    ("verify run", "kill-after", False, 999, 100),
    ("verify commit", "kill-after", False, 999, 50),
)
ALL = tuple(
    (name, kind, for_good, 1, 1)
    for (name, operation), kind in itertools.product(OPERATIONS.items(), (*ERRORS, *KILLS))
    for for_good in ((False, True) if kind in ERRORS else (False,))
    if operation.task == "default" or kind in KILLS
)


def test_every_operation_of_the_file_system_can_fail() -> None:
    offered = {name for name in vars(FileSystem) if not name.startswith("_")}
    assert offered == {*CALLS, "stream"}


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.sampled(3)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "kind", "for_good", "step", "first"), ALL if IS_WHOLE else SAMPLE, ids=str)
def test_a_fault_leaves_old_or_new_and_life_goes_on(
    tmp_path: Path, name: str, kind: str, for_good: bool, step: int, first: int
) -> None:
    swept = Sweeper(OPERATIONS[name], tmp_path).sweep(kind, for_good=for_good, step=step, first=first)
    assert swept.problems == ()
    assert swept.visited > 0 or step == 1


# --- what a power failure takes away: whatever was not synced --------------------------------------------------------

#: Written without waiting for the disk: they can be made again.
_NOT_NEEDED = frozenset({".gitignore", "checkpoint.json", "state.json.holder", "state.json.lock"})


class Unsynced(FileSystem):
    """Remembers which files have bytes, and which folders have names, that the disk is not sure of."""

    def __init__(self) -> None:
        self.files: set[Path] = set()
        self.names: set[Path] = set()
        self._open: dict[int, Path] = {}

    @property
    def needed(self) -> set[Path]:
        return {path for path in self.files | self.names if path.name not in _NOT_NEEDED}

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT and not path.exists():
            self.names.add(path)
        descriptor = super().open(path, flags)
        self._open[descriptor] = path
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        path = self._open[descriptor]
        if path.name == "ledger.jsonl":
            assert {each for each in self.needed if each != path} == set(), "a line names what may be gone"
        self.files.add(path)
        return super().write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        self.files.add(self._open[descriptor])
        super().truncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        self.files.discard(self._open[descriptor])

    def fsync_folder(self, folder: Path) -> None:
        self.names = {path for path in self.names if path.parent != folder}

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.names = self.names - {source} | {target}
        self.files = {target if path == source else path for path in self.files}

    def make_folder(self, folder: Path) -> None:
        super().make_folder(folder)
        self.names.add(folder)

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.names.discard(path)
        self.files.discard(path)


def _end_run(store: TaskStore) -> None:
    with store.transaction() as change:
        inventory = store.objects.keep({"files": {"test_a.py": "x" * 3000}})
        data = {"run": "r1", "kind": "complete", "green": "green", "tree": "t", "iteration": 1, "metrics": {}}
        data |= {"inventory": inventory, "outcomes": store.objects.keep({}), "known": inventory}
        change.record(Event(kind="run-ended", data=data), Event(kind="rewound", data={"why": "y" * 2000}))


def _begin(store: TaskStore) -> None:
    with store.transaction() as change:
        started = {"run": "r1", "phase": "RED", "tree": "t", "rules": store.objects.keep({"rules": "of the run"})}
        change.record(*BEGIN, Event(kind="run-started", data=started))


def _damage_and_repair(store: TaskStore) -> None:
    raw = store.ledger_file.read_bytes()
    store.ledger_file.write_bytes(raw.replace(b'"name":"one"', b'"name":"own"'))
    for path in (store.folder / "objects").glob("*.z"):
        path.write_bytes(b"damaged")
    repair(store)


def _cut_off_a_torn_end(store: TaskStore) -> None:
    with open(store.ledger_file, "ab") as stream:
        stream.write(b'{"half a li')
    declare(store, "two")


def test_what_is_acknowledged_is_on_the_disk_and_in_this_order(tmp_path: Path) -> None:
    files = Unsynced()
    store = TaskStore(Place(tmp_path / "project" / ".phase-gate", "default", files=files))
    steps: tuple[Callable[[TaskStore], object], ...] = (
        _begin,
        _end_run,
        lambda store: declare(store, "one"),
        _damage_and_repair,
        _cut_off_a_torn_end,
    )
    for step in steps:
        step(store)
        assert files.needed == set()
