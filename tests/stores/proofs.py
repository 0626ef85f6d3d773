"""Many machines on one shared store: nothing acknowledged is lost, nothing is there twice, no gate opens by it.

The functions take a server and the numbers; the suite calls them with small ones, `tox -e stores` with large.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from phase_gate.errors import StorageError, StoreUnreachableError
from phase_gate.storage.files import FileSystem
from phase_gate.stores import choosing
from phase_gate.stores.git_repository import Answer, Repository
from phase_gate.stores.postgresql_store import PostgresqlStore
from phase_gate.stores.shared import Head
from tests.conftest import ROOT
from tests.storage.stores import assert_intact
from tests.stores.kinds import PostgresqlServer, Server
from tests.stores.writing import Found, add_one, open_task
from tests.support import OURS

#: Seconds for a proof. Fifty writers took 35 minutes on a machine with thirty times as much to do as it has processors.
LIMIT = 10_800
#: Long enough that runs which are started together do overlap.
SLOW_TEST = "import time\n\n\ndef test_slow():\n    time.sleep(0.3)\n"


def names(server: Server, folder: Path) -> dict[str, str]:
    """Return the whole environment of a machine."""
    gone = ("PHASE_GATE_", "PYTEST_", "PG")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(gone) and name != "CI"}
    own = {"XDG_STATE_HOME": str(folder / "user-state"), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PHASE_GATE_STORE": server.store, "PYTHONPATH": path}
    return {**kept, **own, **plain, **server.variables}


@contextlib.contextmanager
def at(server: Server) -> Iterator[None]:
    """Let this process be a machine of the server's."""
    before = dict(os.environ)
    choosing._opened.clear()
    os.environ.update(server.variables, PHASE_GATE_STORE=server.store)
    try:
        yield
    finally:
        choosing._opened.clear()
        os.environ.clear()
        os.environ.update(before)


# --- writers at once


class Writers:
    """Processes of as many machines that add to a task, and begin at the same time."""

    def __init__(self, server: Server, folder: Path, *, writers: int, changes: int) -> None:
        self._server, self.folders = server, [folder / f"machine-{number}" for number in range(writers)]
        self.processes = [self._start(each, changes) for each in self.folders]
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()

    def _start(self, folder: Path, changes: int) -> subprocess.Popen[str]:
        folder.mkdir(parents=True)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        words = [sys.executable, "-m", "tests.stores.writing", str(folder), folder.name, str(changes)]
        return subprocess.Popen(words, env=names(self._server, folder), text=True, **pipes)  # type: ignore[call-overload,no-any-return]

    def end(self) -> Found:
        """Wait for all of them, and look at what there is: on the server, and in every machine's own copy."""
        said: list[str] = []
        try:
            for process in self.processes:
                out, err = process.communicate(timeout=LIMIT)
                assert process.returncode == 0, out + err
                said += out.splitlines()
        finally:
            for process in self.processes:
                process.kill()  # one that is late goes on alone
        with at(self._server):
            found = Found(read_all(self._server, self.folders[0].parent), said).check()
            seen = set()
            for folder in self.folders:
                store = open_task(folder)
                store.read()
                assert_intact(store)
                seen.add(store.ledger_file.read_bytes())
        assert len(seen) == 1
        return found


def read_all(server: Server, folder: Path) -> bytes:
    return server.open(folder / "reader").read("default", Head()).rows


def writers_at_once(server: Server, folder: Path, *, writers: int, changes: int) -> str:
    """Machines that read a number and write the next one: not one is lost, or there twice."""
    machines = Writers(server, folder, writers=writers, changes=changes)
    began = time.perf_counter()
    found = machines.end()
    seconds = time.perf_counter() - began
    assert len(found.values) == writers * changes == len(found.acknowledged)
    return f"{found}; {len(found.values) / seconds:.0f} changes a second"


def server_killed(server: PostgresqlServer, folder: Path, *, times: int, writers: int, changes: int) -> str:
    """The server is killed in the middle of writes, again and again: what it acknowledged is there when it is back."""
    machines = Writers(server, folder, writers=writers, changes=changes)
    chance, ended = random.Random(20), 0
    while ended < times and any(process.poll() is None for process in machines.processes):
        time.sleep(chance.uniform(0.2, 1.0))
        server.database.stop(signal.SIGKILL)
        ended += 1
        server.database.start()
    found = machines.end()
    assert len(found.acknowledged) == writers * changes
    return f"killed {ended} times: {found}"


# --- clients that are killed, and servers that fail, at every step


#: Operations on files that a client may die before.
_OPERATIONS = ("open", "write", "fsync", "replace", "fsync_folder", "make_folder", "unlink", "truncate")


class Reached(Exception):  # noqa: N818
    """A step that something was to happen at."""


class Steps:
    """Count what a client does: each file that it writes, and each question before and after. Act at one of them."""

    def __init__(self, number: int, act: Callable[[], None], *, files: bool) -> None:
        self._number, self._act, self._files = number, act, files
        self.done = 0

    def _step(self) -> None:
        self.done += 1
        if self.done == self._number:
            self._act()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        places = [(Repository, "call"), (PostgresqlStore, "_ask")]
        places += [(FileSystem, name) for name in _OPERATIONS] if self._files else []
        real = {place: getattr(*place) for place in places}
        for (kind, name), function in real.items():
            setattr(kind, name, self._around(kind, function))
        try:
            yield
        finally:
            for (kind, name), function in real.items():
                setattr(kind, name, function)

    def _around(self, kind: type, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            try:
                self._step()
                found = function(*arguments, **more)
                if kind is not FileSystem:
                    self._step()
            except Reached:
                if kind is PostgresqlStore:
                    raise StoreUnreachableError("the line is cut", remedy="") from None
                return Answer(-9, b"", "killed")
            return found

        return call


def killed_at_every_step(server: Server, folder: Path, *, every: int = 1) -> str:
    """A client that is killed with -9 at each step of a change. It, and another machine, go on at once."""
    said: list[str] = []
    kills = 0
    for number in count(1, every):
        if _fork(server, folder / "one", f"killed{number}", said, kill_at=number):
            break
        kills += 1
        assert _fork(server, folder / "other", f"other{number}", said)
        assert _fork(server, folder / "one", f"again{number}", said)
    assert kills
    found = Found(read_all(server, folder), said).check(killed=True)
    came = len(found.values) - len(found.acknowledged)
    return f"killed at {kills} steps: {found}; {came} of the killed changes are there"


def _fork(server: Server, machine: Path, by: str, said: list[str], kill_at: int = 0) -> bool:
    """Let another process add one; tell whether it could say that it did."""
    child = os.fork()
    if not child:
        status = 1
        try:
            with at(server):
                store = open_task(machine)
                with Steps(kill_at, lambda: os.kill(os.getpid(), signal.SIGKILL), files=True).watched():
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


def failing_at_every_step(server: Server, folder: Path, *, every: int = 1) -> str:
    """Before, or after, each thing that is asked in a change the answer is lost: the client goes on by itself."""
    said: list[str] = []
    failures = 0

    def fail() -> None:
        raise Reached

    with at(server):
        for number in count(1, every):
            steps = Steps(number, fail, files=False)
            try:
                with steps.watched():
                    add_one(open_task(folder / "one"), f"change{number}")
                said.append(f"added change{number}")
            except StorageError as error:
                said.append(f"unknown change{number} {error.slug}")
            # Another machine in between: so there is always something to fetch.
            add_one(open_task(folder / "other"), f"other{number}")
            said.append(f"added other{number}")
            if steps.done < number:
                break
            failures += 1
    return f"failed at {failures} steps: {Found(read_all(server, folder), said).check()}"


# --- real runs of pytest


def runs_at_once(server: Server, folder: Path, *, runs: int) -> str:
    """Real runs of pytest on as many machines, started together, on one task: none is lost, and no gate opens."""
    roots = [folder / f"machine-{number}" for number in range(runs)]
    for root in roots:
        root.mkdir(parents=True)
        (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (root / "test_slow.py").write_text(SLOW_TEST, encoding="utf-8")
    for process in [start_run(server, root) for root in roots]:
        output = process.communicate(timeout=LIMIT)[0]
        # 10: the streak is short, for what overlaps another run proves nothing by itself.
        assert process.returncode in (0, 10), output
        assert "1 passed" in output, output
    seen = set()
    for root in roots:
        told = gate(server, root, "history")["runs"]
        assert sorted(run["kind"] for run in told) == ["complete"] * runs
        assert sorted(run["iteration"] for run in told) == list(range(1, runs + 1))
        assert len({run["id"] for run in told}) == runs
        assert gate(server, root, "audit")["intact"] is True
        status = gate(server, root, "status")
        seen.add(json.dumps([[run["id"] for run in told], status["streak"], status["open"]]))
    assert len(seen) == 1, "all machines say the same"
    ends = sorted((run["at"], run["ended_at"]) for run in told)
    overlapping = sum(later[0] < earlier[1] for earlier, later in pairwise(ends))
    assert overlapping, "they were to run at once"
    # What overlaps another run proves nothing: no more than what ran alone counts, and that opens nothing here.
    assert status["streak"] <= runs - overlapping
    assert status["open"] is False
    return f"{runs} runs, lost 0, doubled 0, falsely opened 0; {overlapping} overlapped, streak {status['streak']}"


def start_run(server: Server, root: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
    return subprocess.Popen(
        words, cwd=root, env=names(server, root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def gate(server: Server, root: Path, *words: str) -> Any:
    """Return what a command answers on a machine."""
    command = [sys.executable, "-m", "phase_gate.cli", *words, "--json"]
    done = subprocess.run(command, cwd=root, env=names(server, root), capture_output=True, text=True, check=False)
    return json.loads(done.stdout)
