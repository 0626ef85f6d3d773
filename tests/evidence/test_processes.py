"""Running a command: real processes, how they end, what they leave behind, and what is kept of their output."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phase_gate.evidence.process import run as processes
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.evidence.process.tree import MARK, PatientInterrupts, end_marked
from phase_gate.storage.files import FileSystem
from tests.evidence.processes import Reached, has_ended, is_alive, wait_for

pytestmark = pytest.mark.processes


@pytest.fixture
def left_over() -> Iterator[list[int]]:
    """Pids that a test let live."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run(tmp_path: Path, command: str | list[str], **more: Any) -> Ended:
    given: dict[str, Any] = {
        "shell": False,
        "cwd": tmp_path,
        "environment": os.environ,
        "timeout": 60.0,
        "log": tmp_path / "log" / "verify.txt",
        "limit": 10_000,
    }
    return run_process(command, **{**given, **more})


def script(tmp_path: Path, code: str, name: str = "script.py") -> str:
    """Return the command that runs this code."""
    (tmp_path / name).write_text(textwrap.dedent(code), encoding="utf-8")
    return f"{sys.executable} {name}"


def text(path: Path | None) -> str:
    assert path is not None
    return path.read_text(encoding="utf-8")


def test_code_and_output(tmp_path: Path) -> None:
    code = """
    import sys
    print("one", flush=True)
    print("two", file=sys.stderr, flush=True)
    sys.exit(3)
    """
    shown = io.BytesIO()
    ended = run(tmp_path, script(tmp_path, code), stream=shown)
    assert (ended.code, ended.how, ended.problem) == (3, "ended", "")
    assert sorted(text(ended.output).split()) == ["one", "two"]
    assert (text(ended.stdout), text(ended.stderr)) == ("one\n", "two\n")
    assert shown.getvalue().decode() == text(ended.output)
    assert ended.seconds > 0


@pytest.mark.parametrize("most", [0, 1])
def test_a_command_that_can_not_be_read_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    started, start = list[threading.Thread](), threading.Thread.start

    def start_or_fail(thread: threading.Thread) -> None:
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run(tmp_path, script(tmp_path, "import time; time.sleep(60)"), mark="unread")
    assert end_marked("unread") == 0, "it was left running"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        pytest.param("no-such-program-here -x", "No such file or directory", id="no-program"),
        pytest.param("echo 'a", "No closing quotation", id="open-quote"),
    ],
)
def test_what_does_not_start(tmp_path: Path, command: str, problem: str) -> None:
    ended = run(tmp_path, command)
    assert (ended.code, ended.how) == (None, "not-started")
    assert problem in ended.problem
    assert ended.problem


def test_a_shell_only_where_asked(tmp_path: Path) -> None:
    assert text(run(tmp_path, "echo a && echo b").output) == "a && echo b\n"
    assert text(run(tmp_path, "echo a && echo b", shell=True).output) == "a\nb\n"


#: How a child gets away from its parent. Each writes its pid and goes on for a minute.
ESCAPES = {
    "a-child": "subprocess.Popen(child)",
    "a-grandchild": "subprocess.Popen([sys.executable, '-c', f'import subprocess; subprocess.run({child!r})'])",
    "a-session-of-its-own": "subprocess.Popen(child, start_new_session=True)",
    "an-orphan": "subprocess.Popen(['sh', '-c', shlex.join(child) + ' &'])",
    "an-orphan-with-a-session": "subprocess.Popen(['sh', '-c', 'setsid ' + shlex.join(child) + ' &'])",
    "one-that-does-not-listen": "subprocess.Popen(deaf)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ESCAPES)
def test_a_time_out_ends_the_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(processes, "_GRACE", 0.3)
    let_escape(tmp_path, how)


def test_where_processes_can_t_be_looked_at_it_is_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_GRACE", 0.3)
    monkeypatch.setattr(processes, "_PATIENCE", 0.3)
    monkeypatch.setattr("phase_gate.evidence.process.tree.IS_LINUX", False)
    let_escape(tmp_path, "one-that-does-not-listen")


def let_escape(tmp_path: Path, how: str) -> None:
    """Run a command whose child tries to get away, until its time is over."""
    code = f"""
    import os, shlex, subprocess, sys, time
    sleep = "import os, time; open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); time.sleep(99)"
    child = [sys.executable, "-c", sleep]
    deaf = [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + sleep]
    {ESCAPES[how]}
    while not os.path.exists("pid"):
        time.sleep(0.01)
    os.write(1, b"before the end\\n")
    time.sleep(600)
    """
    command = script(tmp_path, code)
    # Not after some seconds, but when the child is there: a busy machine is no reason to fail.
    ended = run(tmp_path, command, timeout=Reached(tmp_path / "log" / "verify.txt"))
    assert (ended.code, ended.how) == (None, "timed-out")
    assert text(ended.output) == "before the end\n"
    assert has_ended(int(text(tmp_path / "pid")))


def test_a_time_out_gives_time_to_tidy_up(tmp_path: Path) -> None:
    code = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"tidied up\\n"), sys.exit(0)))
    os.write(1, b"ready\\n")
    time.sleep(600)
    """
    ended = run(tmp_path, script(tmp_path, code), timeout=Reached(tmp_path / "log" / "verify.txt"))
    assert (ended.code, ended.how) == (None, "timed-out")
    assert text(ended.output) == "ready\ntidied up\n"


def test_after_its_end_its_group_is_ended_and_no_server(tmp_path: Path, left_over: list[int]) -> None:
    code = """
    import subprocess, sys
    one = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    two = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    print(one.pid, two.pid)
    """
    ended = run(tmp_path, script(tmp_path, code))
    child, server = map(int, text(ended.output).split())
    left_over.append(server)
    assert (ended.code, ended.how) == (0, "ended")
    assert has_ended(child)
    assert is_alive(server), "whoever holds the pipe open is not waited for"


def test_a_server_that_is_left_running_prints_as_much_as_it_likes(tmp_path: Path, left_over: list[int]) -> None:
    code = """
    import subprocess, sys
    flood = "for _ in range(200): print('x' * 65536)\\nopen('done', 'w').write('yes')"
    open("pid", "w").write(str(subprocess.Popen([sys.executable, "-c", flood], start_new_session=True).pid))
    """
    run(tmp_path, script(tmp_path, code))
    left_over.append(int(text(tmp_path / "pid")))
    assert wait_for(tmp_path / "done") == "yes"


# --- interrupted -----------------------------------------------------------------------------------------------------

OUTER = """
import os, signal, sys
from pathlib import Path
from phase_gate.evidence.process.run import run_process
{before}
ended = run_process(
    sys.argv[1], shell=True, cwd=Path("."), environment=os.environ, timeout=60.0, log=Path("log.txt"), limit=1000
)
print(ended.how, ended.code, ended.interrupted_by, flush=True)
{after}
"""


def interrupt(tmp_path: Path, number: int, *, before: str = "", after: str = "", twice: bool = False) -> str:
    (tmp_path / "outer.py").write_text(OUTER.format(before=before, after=after), encoding="utf-8")
    then = "while :; do sleep 0.1; done" if twice else "wait; wait"
    command = f"trap 'echo asked > asked' TERM; echo started; sleep 600 & echo $! > pid.new; mv pid.new pid; {then}"
    outer = subprocess.Popen(
        [sys.executable, "outer.py", command], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    pid = int(wait_for(tmp_path / "pid"))
    outer.send_signal(number)
    if twice:
        wait_for(tmp_path / "asked")
        outer.send_signal(number)
    out, _ = outer.communicate()
    assert has_ended(pid)
    return out.strip()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_us_ends_it_and_is_told_apart(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    # Whoever started the suite may have told it not to listen.
    before = "signal.signal(signal.SIGINT, signal.default_int_handler); signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    assert interrupt(tmp_path, number, before=before) == f"interrupted None {int(number)}"
    assert text(tmp_path / "log.txt").startswith("started\n")


def test_the_second_signal_hurries(tmp_path: Path) -> None:
    before = (
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import phase_gate.evidence.process.run as p\np._GRACE = 100_000.0"
    )
    assert interrupt(tmp_path, signal.SIGINT, before=before, twice=True) == f"interrupted None {int(signal.SIGINT)}"


# --- output ----------------------------------------------------------------------------------------------------------


def test_beginning_and_end_of_a_flood_are_kept(tmp_path: Path) -> None:
    code = "for number in range(60_000): print('line', number)"
    ended = run(tmp_path, script(tmp_path, code), limit=1000)
    rows = text(ended.output).splitlines()
    assert rows[:2] == ["line 0", "line 1"]
    assert rows[-2:] == ["line 59998", "line 59999"]
    gap = next(index for index, row in enumerate(rows) if row.startswith("[phase gate"))
    left_out = int(rows[gap].removeprefix("[phase gate: ").removesuffix(" bytes are left out here]"))
    assert rows[gap + 1].startswith("line 59"), "it goes on with a whole line"
    whole = sum(len(f"line {number}\n") for number in range(60_000))
    size = ended.output.stat().st_size
    assert size - len(rows[gap]) - 2 + left_out == whole
    assert size < 1100
    assert text(ended.stdout) == text(ended.output)


def test_secrets_are_blotted_out_everywhere(tmp_path: Path) -> None:
    code = """
    import os, sys, time
    key = os.environ["DEPLOY_TOKEN"]
    print("whole", key, flush=True)
    sys.stdout.write("half " + key[:9]); sys.stdout.flush()
    time.sleep(0.3)
    print(key[9:], flush=True)
    print("error", key, file=sys.stderr)
    print(os.environ["DATABASE_URL"], os.environ["HOME"])
    """
    environment = {
        **os.environ,
        "DEPLOY_TOKEN": "s3cr3t-s3cr3t-val",
        "DATABASE_URL": "postgres://me:hunter2hunter2@db/x",
        "HOME": "/home/me",
    }
    shown = io.BytesIO()
    ended = run(tmp_path, script(tmp_path, code), environment=environment, stream=shown)
    assert ended.code == 0
    assert text(ended.stdout) == "whole ***\nhalf ***\npostgres://me:***@db/x /home/me\n"
    assert text(ended.stderr) == "error ***\n"
    for kept in (text(ended.output), shown.getvalue().decode()):
        assert kept.count("***") == 4
        assert "s3cr3t" not in kept
        assert "hunter2" not in kept


@pytest.mark.parametrize("writes", [0, 1])
def test_a_full_disk_is_no_reason_to_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    left = [writes * 3]
    real = FileSystem.write

    def write(self: FileSystem, descriptor: int, data: bytes) -> int:
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        return real(self, descriptor, data)

    monkeypatch.setattr(FileSystem, "write", write)
    code = "for number in range(50_000): print('line', number)\nopen('ran', 'w').close()"
    shown = io.BytesIO()
    ended = run(tmp_path, script(tmp_path, code), stream=shown)
    assert (ended.code, ended.how) == (0, "ended")
    assert ended.problem == "its output could not be kept: No space left on device"
    assert (tmp_path / "ran").exists()
    assert shown.getvalue().endswith(b"line 49999\n"), "what is shown does not depend on it"


# --- what a drive asks of it


LEAVES = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid)
"""


def test_nothing_is_left_where_that_is_asked_for(tmp_path: Path, left_over: list[int]) -> None:
    ended = run(tmp_path, script(tmp_path, LEAVES), leaves_none=True)
    pid = int(text(ended.output))
    left_over.append(pid)
    assert (ended.how, ended.code, has_ended(pid)) == ("ended", 0, True)


@pytest.mark.skipif(sys.platform != "linux", reason="processes can't be looked at elsewhere")
def test_what_a_dead_starter_left_is_found_by_its_mark(tmp_path: Path, left_over: list[int]) -> None:
    sleeps = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text('here'); time.sleep(600)"
    environment = {**os.environ, MARK: "0:feedface"}
    child = subprocess.Popen([sys.executable, "-c", sleeps, str(tmp_path / "child")], env=environment)
    other = subprocess.Popen([sys.executable, "-c", sleeps, str(tmp_path / "other")])
    left_over += [child.pid, other.pid]
    wait_for(tmp_path / "child")
    wait_for(tmp_path / "other")
    assert end_marked("feedface") == 1
    assert child.wait() == -signal.SIGKILL
    assert other.poll() is None
    assert end_marked("feedface") == 0
    other.kill()
    other.wait()


def test_the_first_ctrl_c_is_a_wish_and_the_second_an_order(tmp_path: Path) -> None:
    with PatientInterrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert (interrupts.is_asked_to_end, interrupts.number) == (True, 0)
        assert run(tmp_path, script(tmp_path, "print(1)"), interrupts=interrupts).how == "ended"
        signal.raise_signal(signal.SIGINT)
        assert interrupts.number == signal.SIGINT
        sleeps = script(tmp_path, "import time; time.sleep(600)")
        assert run(tmp_path, sleeps, interrupts=interrupts).how == "interrupted"
    with PatientInterrupts() as interrupts:
        signal.raise_signal(signal.SIGTERM)
        assert (interrupts.is_asked_to_end, interrupts.number) == (True, signal.SIGTERM)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_what_a_process_hides_no_other_of_the_user_can_read() -> None:
    """Root may read everything, so the test asks the kernel's mark as well."""
    code = """
import ctypes, subprocess
from phase_gate.evidence.process.tree import hide_environment
hide_environment()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)
subprocess.run(["sh", "-c", "cat /proc/$PPID/environ"])
"""
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PHASE_GATE_KEY": "sesame"}, capture_output=True, text=True
    )
    mark, _, seen = told.stdout.partition("\n")
    assert mark == "0"
    assert not seen or os.geteuid() == 0
