"""A git store when clients, git itself, the line or the server's disk fail: nothing acknowledged is lost or doubled.

The functions take the numbers; the suite calls them with small ones, `python -m tests.stores` with large.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from phase_gate.errors import StorageError, StoreBusyError, StoreUnreachableError
from phase_gate.storage.files import FileSystem
from phase_gate.stores import choosing
from phase_gate.stores.git_repository import Answer, Repository
from phase_gate.stores.shared import Head
from tests.conftest import ROOT
from tests.stores.http_git import serve
from tests.stores.kinds import make_bare
from tests.stores.proofs import Place, clocks_apart, found_in, runs_at_once, start, writers_at_once
from tests.stores.proxy import Proxy
from tests.stores.writing import Found, add_one, open_task

Part = Callable[[Path], str]

#: Operations on files that a client may die before.
_OPERATIONS = ("open", "write", "fsync", "replace", "fsync_folder", "make_folder", "unlink", "truncate")


class Reached(Exception):  # noqa: N818
    """A step that something was to happen at."""


class Steps:
    """Count what a client does: each file that it writes, and each call of git before and after. Act at one of them."""

    def __init__(self, number: int, act: Callable[[], None], *, files: bool = True) -> None:
        self._number, self._act, self._files = number, act, files
        self.done = 0

    def _step(self) -> None:
        self.done += 1
        if self.done == self._number:
            self._act()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        real = Repository.call

        def call(*words: Any, **more: Any) -> Answer:
            try:
                self._step()
                answer: Answer = real(*words, **more)
                self._step()
            except Reached:
                return Answer(status=-9, said=b"", complaint="killed")
            return answer

        operations = {name: getattr(FileSystem, name) for name in (_OPERATIONS if self._files else ())}
        Repository.call = call  # type: ignore[method-assign]
        for name, operation in operations.items():
            setattr(FileSystem, name, self._before(operation))
        try:
            yield
        finally:
            Repository.call = real  # type: ignore[method-assign]
            for name, operation in operations.items():
                setattr(FileSystem, name, operation)

    def _before(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            self._step()
            return operation(*arguments, **more)

        return call


# --- clients that are killed


def killed_at_every_step(place: Place, folder: Path, *, every: int = 1) -> str:
    """A client that is killed with -9 at each step of a change. It, and another machine, go on at once."""
    said: list[str] = []
    kills = 0
    for number in count(1, every):
        if not _fork(place, folder / "one", f"killed{number}", said, kill_at=number):
            kills += 1
            assert _fork(place, folder / "other", f"other{number}", said)
            assert _fork(place, folder / "one", f"again{number}", said)
        else:
            break
    found = _found(place, folder, said)
    found.check(killed=True)
    came = len(found.values) - len(found.acknowledged)
    return f"killed at {kills} steps: {found}; {came} of the killed changes are there"


def _fork(place: Place, machine: Path, by: str, said: list[str], kill_at: int = 0) -> bool:
    """Let another process add one; tell whether it could say that it did."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.environ.update(place.environment, PHASE_GATE_STORE=place.store)
            machine.mkdir(parents=True, exist_ok=True)
            store = open_task(machine)
            with Steps(kill_at, lambda: os.kill(os.getpid(), signal.SIGKILL)).watched():
                add_one(store, by)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in ((0, -signal.SIGKILL) if kill_at else (0,)), f"{by} ended with {ended}"
    if ended == 0:
        said.append(f"added {by}")
    return ended == 0


# --- git that fails


def git_fails_at_every_step(place: Place, folder: Path, *, every: int = 1) -> str:
    """git is killed before, or after, each thing that it is asked for in a change: the client goes on by itself."""
    said: list[str] = []
    failures = 0

    def fail() -> None:
        raise Reached

    for number in count(1, every):
        by = f"change{number}"
        steps = Steps(number, fail, files=False)
        store = open_task(folder / "one")
        try:
            with steps.watched():
                add_one(store, by)
            said.append(f"added {by}")
        except (StoreUnreachableError, StoreBusyError) as error:
            said.append(f"unknown {by} {error.slug}")
        # Another machine in between: so there is always something to fetch.
        add_one(open_task(folder / "other"), f"other{number}")
        said.append(f"added other{number}")
        if steps.done < number:
            break
        failures += 1
    found = _found(place, folder, said)
    found.check()
    return f"git failed at {failures} steps: {found}"


# --- a line that is disturbed


class Disturbed:
    """Delays, cuts and doubles what passes, by chance."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share = random.Random(seed), share
        self.cut = self.doubled = self.delayed = 0

    def __call__(self, way: str, data: bytes) -> bytes | None:
        if self._random.random() >= self._share:
            return data
        match self._random.randrange(3):
            case 0:
                self.cut += 1
                return None
            case 1:
                self.doubled += 1
                return data + data
            case _:
                self.delayed += 1
                time.sleep(self._random.uniform(0.01, 0.2))
                return data


def line_disturbed(folder: Path, *, writers: int, changes: int, share: float = 0.15) -> str:
    """Machines whose line to the server delays, cuts and doubles bytes."""
    make_bare(folder / "remote.git")
    rule = Disturbed(seed=20, share=share)
    with serve(folder) as address, Proxy(int(address.rpartition(":")[2])) as line:
        line.rule = rule
        place = Place(f"git:http://127.0.0.1:{line.port}/remote.git#shop")
        orders = [("--name", f"w{number}", "--changes", str(changes), "--patient") for number in range(writers)]
        said = [row for machine in start(place, folder, orders) for row in machine.end()]
    found = found_in(Place(f"git:{folder / 'remote.git'}#shop"), folder, said)
    found.check()
    assert len(found.acknowledged) == writers * changes
    return f"{rule.cut} cuts, {rule.doubled} doubled, {rule.delayed} delayed: {found}"


# --- a server whose disk is full


def disk_full(folder: Path) -> str:
    """A server whose disk is full takes nothing up, says so, and goes on when there is room again."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:
        return "not tried: there are no namespaces for ordinary users here"
    words = [unshare, "-rm", sys.executable, "-m", "tests.stores.git_proofs", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def _fill_disk(folder: Path) -> str:
    """Within a namespace of its own."""
    disk = folder / "disk"
    disk.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=True)
    make_bare(disk / "remote.git")
    place = Place(f"git:{disk / 'remote.git'}#shop")
    os.environ.update(PHASE_GATE_STORE=place.store)
    store = open_task(folder / "one")
    said: list[str] = []
    refused = 0
    for number in range(12):
        by = f"change{number}"
        ballast = disk / "ballast"
        if number % 3:
            # From nothing at all to a few blocks: it fails at another place each time.
            _fill(ballast, leave=(number % 6) * 4096)
        try:
            add_one(store, by)
            said.append(f"added {by}")
        except StorageError as error:
            refused += 1
            said.append(f"unknown {by} {error.slug}")
        ballast.unlink(missing_ok=True)
    found = _found(place, folder, said)
    found.check()
    assert refused, "the disk was to be full"
    return f"disk full at {refused} of 12 changes: {found}"


def _fill(ballast: Path, *, leave: int) -> None:
    with open(ballast, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while file.write(b"x" * 4096):
                pass
        file.truncate(max(0, file.tell() - leave))


def _found(place: Place, folder: Path, said: list[str]) -> Found:
    choosing._opened.clear()
    rows = place.open(folder / "reader" / ".phase-gate").read("default", Head()).rows
    return Found(rows, said)


# --- all of it


def by_file(part: Callable[..., str], **numbers: int) -> Part:
    """Return a part on a bare repository in its folder."""

    def run(folder: Path) -> str:
        return _at(f"git:{make_bare(folder / 'remote.git')}#shop", part, folder, numbers)

    return run


def by_http(part: Callable[..., str], **numbers: int) -> Part:
    """Return the same behind a server on loopback."""

    def run(folder: Path) -> str:
        make_bare(folder / "remote.git")
        with serve(folder) as address:
            return _at(f"git:{address}/remote.git#shop", part, folder, numbers)

    return run


def _at(store: str, part: Callable[..., str], folder: Path, numbers: Mapping[str, int]) -> str:
    before = os.environ.get("PHASE_GATE_STORE")
    os.environ["PHASE_GATE_STORE"] = store
    try:
        return part(Place(store), folder, **numbers)
    finally:
        if before is None:
            del os.environ["PHASE_GATE_STORE"]
        else:
            os.environ["PHASE_GATE_STORE"] = before


PARTS: dict[str, Part] = {
    "50 machines x 20 changes": by_file(writers_at_once, writers=50, changes=20),
    "by http, 8 machines x 5 changes": by_http(writers_at_once, writers=8, changes=5),
    "12 runs at once": by_file(runs_at_once, runs=12),
    "clocks": by_file(clocks_apart, changes=20),
    "clients killed at every step": by_file(killed_at_every_step),
    "git killed at every step": by_file(git_fails_at_every_step),
    "a bad line": lambda folder: line_disturbed(folder, writers=6, changes=10),
    "a full disk": disk_full,
}


if __name__ == "__main__":
    print(_fill_disk(Path(sys.argv[1])))
