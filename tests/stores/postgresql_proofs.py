"""What a store in PostgreSQL outlives: clients that are killed, its server that is, a bad line, a full disk."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from phase_gate.stores.address import parse_address
from phase_gate.stores.postgresql import PostgresqlStore
from phase_gate.stores.shared import Head, SharedStore
from tests.stores.database import Database
from tests.stores.proofs import Machine, Place, found_in, gate, make_project, start
from tests.stores.proxy import Proxy
from tests.stores.writing import Found, add_one, open_task
from tests.support import OURS

#: A server as people run it: it waits for its disk.
DURABLE = ("-c", "max_connections=150")


@contextlib.contextmanager
def serve(database: Database) -> Iterator[Callable[..., Place]]:
    """Make the tables; give a function that returns the place of a project, by another port where one is named."""
    before = dict(os.environ)
    os.environ["PGPASSFILE"] = str(database.password_file(database.folder))
    try:
        database.init()

        def place(project: str, port: int | None = None) -> Place:
            store = f"{database.place(port=port)}#{project}"
            # For what this process asks itself: not by the disturbed line.
            os.environ["PHASE_GATE_STORE"] = f"{database.place()}#{project}"
            return Place(store, {"PGPASSFILE": os.environ["PGPASSFILE"]})

        yield place
    finally:
        os.environ.clear()
        os.environ.update(before)


Places = Callable[..., Place]


def read(place: Place) -> SharedStore:
    """Return the store, asked directly."""
    return PostgresqlStore(parse_address(os.environ["PHASE_GATE_STORE"]))


# --- clients that are killed


class _Killer:
    """Counts what goes over a line, and kills the client at one of them: before it is passed on, or after."""

    def __init__(self, at: int, *, passes: bool) -> None:
        self._at, self._passes = at, passes
        self.seen = 0
        self.victim: subprocess.Popen[str] | None = None

    def __call__(self, way: str, data: bytes) -> bytes | None:
        self.seen += 1
        if self.seen != self._at:
            return data
        assert self.victim is not None
        self.victim.send_signal(signal.SIGKILL)
        self.victim.wait()
        return data if self._passes else None


def clients_killed(places: Places, database: Database, folder: Path, *, every: int = 1) -> str:
    """A client that writes is killed at each message, before or after it arrives."""
    tried = died = there = 0
    with Proxy(database.port) as line:
        for passes in (False, True):
            at, is_over = 1, False
            while not is_over:
                place = places(f"killed-{passes}-{at}", line.port)
                line.rule = killer = _Killer(at, passes=passes)
                machine = Machine(place, folder / f"{passes}-{at}", "--changes", "2")
                killer.victim = machine.process
                machine.wait_until_ready()
                machine.begin()
                said = machine.end(killed=True)
                is_over = killer.seen < at
                tried, died = tried + 1, died + (machine.process.returncode == -signal.SIGKILL)
                there += _check_after_kill(place, folder / f"{passes}-{at}", said)
                at += every
    assert died
    return f"killed at {died} messages: lost 0, doubled 0; {there} changes had arrived"


def _check_after_kill(place: Place, folder: Path, said: Sequence[str]) -> int:
    found = Found(read(place).read("default", Head()).rows, said)
    found.check(killed=True)
    # Life goes on, from the same folder and from a new one.
    for number, machine in enumerate((folder, folder.with_suffix(".other"))):
        task = open_task(machine)
        assert add_one(task, f"later-{number}") == len(found.values) + 1 + number
        assert isinstance(task.shared, PostgresqlStore)
        task.shared.close()
    return len(found.values)


def runs_killed(places: Places, database: Database, folder: Path, *, every: int = 1) -> str:
    """A real run of pytest is killed at each message: it counts only if its end arrived, and opens nothing."""
    words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
    ended = lost = before = 0
    at, is_over = 1, False
    with Proxy(database.port) as line:
        while not is_over:
            place = places(f"run-{at}", line.port)
            root = make_project(folder / f"run-{at}")
            line.rule = killer = _Killer(at, passes=True)
            killer.victim = subprocess.Popen(
                words, cwd=root, env=place.names(root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
            )
            code = killer.victim.wait(300)
            is_over = killer.seen < at
            assert code in (-signal.SIGKILL, 0, 10)
            direct = Place(os.environ["PHASE_GATE_STORE"], place.environment)
            # Its own machine knows at once that it is lost; others wait for its time limit.
            status = gate(direct, root, "status")
            assert status["open"] is False
            assert status["streak"] <= 1
            if not status["iteration"]:
                before, lost = before + (not status["lost_runs"]), lost + bool(status["lost_runs"])
            else:
                ended += 1
            # The next run counts as ever, and another machine sees both.
            done = subprocess.run(words, cwd=root, env=direct.names(root), capture_output=True, text=True, check=False)
            assert done.returncode in (0, 10), done.stdout
            other = make_project(folder / f"run-{at}-other")
            after = gate(direct, other, "status")
            assert (after["iteration"], after["open_runs"]) == (status["iteration"] + 1, [])
            at += every
    return f"killed: {before} before they began, {lost} in the middle, {ended} after their end; falsely opened 0"


# --- the server


def server_killed(
    places: Places, database: Database, folder: Path, *, how: signal.Signals, times: int, writers: int, changes: int
) -> str:
    """The server is ended in the middle of writes, again and again: what it acknowledged is there when it is back."""
    place = places(f"server-{how.name.lower()}")
    orders = [("--name", f"s{number}", "--changes", str(changes), "--patient") for number in range(writers)]
    machines = start(place, folder, orders)
    chance, ended = random.Random(20), 0
    while ended < times and any(machine.process.poll() is None for machine in machines):
        time.sleep(chance.uniform(0.2, 1.0))
        database.stop(how)
        ended += 1
        time.sleep(chance.uniform(0.0, 0.3))
        database.start()
    said = [line for machine in machines for line in machine.end()]
    found = found_in(place, folder, said)
    found.check()
    assert len(found.acknowledged) == writers * changes
    return f"ended {ended} times ({how.name}): {found}"


# --- the line


class _BadLine:
    """Delays, cuts, doubles, as chance has it."""

    def __init__(self, seed: int) -> None:
        self._chance, self._lock = random.Random(seed), threading.Lock()
        self.counts = {"passed": 0, "delayed": 0, "cut": 0, "doubled": 0}

    def __call__(self, way: str, data: bytes) -> bytes | None:
        with self._lock:
            drawn, seconds = self._chance.random(), self._chance.uniform(0.0, 0.2)
            name = "cut" if drawn < 0.02 else "doubled" if drawn < 0.04 else "delayed" if drawn < 0.2 else "passed"
            self.counts[name] += 1
        if name == "cut":
            return None
        if name == "delayed":
            time.sleep(seconds)
        return data * 2 if name == "doubled" else data


def bad_line(places: Places, database: Database, folder: Path, *, writers: int, changes: int) -> str:
    with Proxy(database.port) as line:
        place = places("bad-line", line.port)
        orders = [("--name", f"b{number}", "--changes", str(changes), "--patient") for number in range(writers)]
        line.rule = rule = _BadLine(20)
        said = [each for machine in start(place, folder, orders) for each in machine.end()]
    found = Found(read(place).read("default", Head()).rows, said)
    found.check()
    assert len(found.acknowledged) == writers * changes
    told = ", ".join(f"{number} {name}" for name, number in rule.counts.items())
    return f"{told}: {found}"


# --- the disk


def disk_full(folder: Path) -> str:
    """The server's disk is filled while machines write: they are told so, and go on when there is room."""
    options = ("-c", "max_wal_size=32MB", "-c", "shared_buffers=1MB", "-c", "max_connections=20")
    database = Database(options=options, disk=128)
    try:
        with serve(database) as places:
            place = places("full")
            said = start(place, folder, [("--name", "d", "--changes", "5")])[0].end()
            ballast = database.disk / "ballast"
            _fill(ballast)
            full = start(place, folder / "full", [("--name", "full", "--changes", "2000")])[0].end(killed=True)
            told = next((each for each in full if each.startswith("unknown")), "")
            assert told, "the disk was to be full"
            ballast.unlink()
            if not database.answers():
                database.stop(signal.SIGQUIT)
                database.start()
            again = start(place, folder / "again", [("--name", "a", "--changes", "5")])[0].end()
            found = found_in(place, folder, [*said, *full, *again])
            found.check()
            return f"{found}; it said: {told.split(maxsplit=2)[2].partition('#full')[2].lstrip(': ')}"
    finally:
        database.remove()


def _fill(file: Path) -> None:
    with open(file, "wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(65536))
    with open(file, "ab", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"x")
