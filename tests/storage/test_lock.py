"""The lock, between real processes; and which file system a folder is on."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from phase_gate.errors import PhaseGateError, StateError, StorageError
from phase_gate.storage.files import FileSystem
from phase_gate.storage.lock import NETWORK_TYPES, KernelLock, filesystem_type, hold_lock, is_free, network_warning
from tests.storage.stores import begin, facts, open_store

fcntl = pytest.importorskip("fcntl", reason="Windows has no flock")

DECLARE = """
import sys
from pathlib import Path
from tests.storage.stores import declare, open_store

store = open_store(Path(sys.argv[1]), lock_timeout=120)
declare(store, *(f"{sys.argv[2]}-{number}" for number in range(10)))
"""

HOLD = """
import sys
from pathlib import Path
from phase_gate.storage.lock import KernelLock, hold_lock

if sys.argv[2] == "run":
    lock = KernelLock(Path(sys.argv[1]))  # kept: a lock that nobody refers to is let go
    lock.acquire()
    print("held", flush=True)
    sys.stdin.read()
else:
    with hold_lock(Path(sys.argv[1]), command="pytest --phase=green"):
        print("held", flush=True)
        sys.stdin.read()
"""


@contextmanager
def held_by_another(path: Path, kind: str = "state") -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the lock until the block ends."""
    command = [sys.executable, "-c", HOLD, str(path), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def take(path: Path, *, timeout: float = 0.1) -> None:
    with hold_lock(path, timeout=timeout):
        pass


def run_all(script: str, *arguments: list[str]) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", script, *each]) for each in arguments]
    assert [process.wait() for process in processes] == [0] * len(processes)


# --- one at a time


@pytest.mark.processes
def test_four_processes_lose_no_transaction(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    run_all(DECLARE, *[[str(store.folder), str(number)] for number in range(4)])
    assert sorted(facts(store)) == sorted(f"{who}-{number}" for who in range(4) for number in range(10))
    assert [line.seq for line in store.lines()] == list(range(1, 44))
    for who in range(4):
        mine = [name for name in facts(store) if name.startswith(f"{who}-")]
        assert mine == sorted(mine), "what one process wrote stays in its order"


# --- who holds it


@pytest.mark.processes
def test_a_time_out_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "state.json.lock"
    with held_by_another(path) as holder:
        with pytest.raises(StateError) as caught:
            take(path)
        said = re.fullmatch(
            r"state\.json\.lock was not free within 0\.1 s: held by pid (\d+) on (\S+) since (\S+) \((.*)\)",
            caught.value.problem,
        )
        assert said is not None, caught.value.problem
        assert said.group(1, 2, 4) == (str(holder.pid), socket.gethostname(), "pytest --phase=green")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said.group(3))
    assert (caught.value.slug, caught.value.exit_code) == ("lock-timeout", 11)
    assert "wait for that run to end" in caught.value.remedy


# --- what is no lock


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_lock(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", no_lock)
    (tmp_path / "run.lock").touch()
    with pytest.raises(StorageError, match="can't be locked") as caught:
        take(tmp_path / "state.json.lock")
    assert "PHASE_GATE_DIR" in caught.value.remedy
    with pytest.raises(StorageError, match="can't be locked"):
        KernelLock(tmp_path / "run.lock").acquire()
    assert not is_free(tmp_path / "run.lock"), "doubt: it may be held"


# --- a run's own lock


@pytest.fixture
def closed_by_others(tmp_path: Path) -> tuple[KernelLock, int]:
    """A lock whose descriptor somebody else has closed, as `os.closerange` does, and its number."""
    path = tmp_path / "run.lock"
    lock = KernelLock(path)
    next_number = os.dup(0)
    os.close(next_number)
    lock.acquire()
    assert os.path.samestat(os.fstat(next_number), path.stat())
    os.close(next_number)
    return lock, next_number


@pytest.mark.processes
def test_a_file_that_took_the_number_of_a_lock_stays_open(closed_by_others: tuple[KernelLock, int]) -> None:
    lock, number = closed_by_others
    other = os.open(os.devnull, os.O_WRONLY)
    try:
        assert other == number
        child = os.fork()
        if child == 0:
            os._exit(not _is_open(number))
        assert os.waitpid(child, 0)[1] == 0, "nor does a child close it"
        lock.release()
        assert _is_open(number)
    finally:
        if _is_open(other):
            os.close(other)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.mark.processes
def test_a_run_s_lock_is_free_once_its_process_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "run.lock"
    with held_by_another(path, "run") as holder:
        assert not is_free(path)
        with pytest.raises(PhaseGateError):
            KernelLock(path).acquire()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert path.exists()
        assert is_free(path)


def test_checks_disturb_neither_each_other_nor_who_takes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, seen = tmp_path / "drive.lock", fcntl.flock, list[bool]()
    path.touch()

    def check_again(descriptor: int, how: int) -> None:
        real(descriptor, how)
        monkeypatch.setattr(fcntl, "flock", real)
        seen.append(is_free(path))

    monkeypatch.setattr(fcntl, "flock", check_again)
    assert (is_free(path), seen) == (True, [True])
    check = os.open(path, os.O_RDWR)
    fcntl.flock(check, fcntl.LOCK_SH)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(end_soon, check)
        lock = KernelLock(path)
        lock.acquire()
    lock.release()


def end_soon(check: int) -> None:
    time.sleep(0.05)
    os.close(check)


def test_a_check_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.lock"
    with monkeypatch.context() as patched:
        patched.setattr(FileSystem, "stat", lambda *_: None)  # it was removed right after
        assert is_free(path)
    assert not path.exists()


# --- the operating system's lock


#: Two processes write into one pipe: a line is one write, for an unbuffered `print` makes two of it.
FORK = """
import os, signal, sys, time
from pathlib import Path
from phase_gate.storage.lock import KernelLock

lock = KernelLock(Path(sys.argv[1]))
lock.acquire()
child = os.fork()
if not child:
    if sys.argv[2] == "releases":
        lock.release()
    os.write(1, b"forked\\n")
    time.sleep(60)
    os._exit(0)
os.write(1, b"%d\\n" % child)
sys.stdin.read()
"""


@contextmanager
def held_by_one_with_a_child(path: Path, child_does: str) -> Iterator[subprocess.Popen[str]]:
    """Let a process hold the lock that has forked meanwhile; both are ended with the block."""
    command = [sys.executable, "-c", FORK, str(path), child_does]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = {process.stdout.readline().strip(), process.stdout.readline().strip()}
        (child,) = said - {"forked"}
        try:
            yield process
        finally:
            process.kill()
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.processes
def test_a_child_that_lives_on_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    with held_by_one_with_a_child(tmp_path / "run.lock", "sleeps") as parent:
        assert not is_free(tmp_path / "run.lock")
        parent.kill()
        parent.wait()
        assert is_free(tmp_path / "run.lock")


@pytest.mark.processes
def test_a_child_can_t_let_go_what_its_parent_holds(tmp_path: Path) -> None:
    with held_by_one_with_a_child(tmp_path / "run.lock", "releases"):
        assert not is_free(tmp_path / "run.lock")


def test_the_lock_on_a_file_that_was_taken_away_guards_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "run.lock", fcntl.flock

    def too_late(descriptor: int, how: int) -> None:
        path.unlink()
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with pytest.raises(BlockingIOError):
        KernelLock(path).take()


# --- which file system a folder is on, by the mount table


#: As the kernel writes it: source, mount point, type, options, and two numbers.
TABLE = """\
/dev/vda1 / ext4 rw,relatime 0 0
proc /proc proc rw,nosuid 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/vdb1 /home/dev/local xfs rw 0 0
//server/share /mnt/with\\040space cifs rw 0 0
/dev/vdc /mnt/twice ext4 rw 0 0
host:/x /mnt/twice fuse.sshfs rw 0 0
share /mnt/share 9p rw 0 0
nothing /mnt/cut
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        pytest.param("/homes/dev", "ext4", id="a-name-that-only-begins-like-a-mount"),
        pytest.param("/home/dev/local/project", "xfs", id="the-innermost-mount-counts"),
        pytest.param("/mnt/with space/project", "cifs", id="a-space-in-its-name"),
        pytest.param("/mnt/twice/project", "fuse.sshfs", id="mounted-over-another"),
        pytest.param("/mnt/cut/project", "ext4", id="a-row-that-is-cut-says-nothing"),
    ],
)
def test_a_network_is_warned_of_with_a_way_out(tmp_path: Path, folder: str, expected: str) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE, encoding="utf-8")
    assert filesystem_type(Path(folder), table) == expected
    warning = network_warning(Path(folder), table)
    assert warning.startswith(f"{folder} is on {expected}: locks may not work" if expected in NETWORK_TYPES else "")
    assert ("PHASE_GATE_DIR" in warning) is (expected in NETWORK_TYPES)
