"""A folder with a project, a home and a client: what one scenario is played in, with nothing from outside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.values import Value
from tests.clients.model import Script
from tests.clients.server import Exchange, ModelServer
from tests.clients.table import Client, Command

TESTS = "from fare import fare\n\n\ndef test_children_pay_half():\n    assert fare(age=8) == 5\n"
CODE = "def fare(age: int) -> int:\n    return 5\n"

#: In the environment of everything that is started here, so that nothing of it is left behind.
MARK = "PHASE_GATE_STAGE"
_PAUSE = 0.05


class Played(Value):
    """What became of one start of a client."""

    #: None: it did not end by itself.
    code: int | None
    out: str
    err: str
    seconds: float
    asked: tuple[Exchange, ...]
    told: str
    #: Requests that the server could not make anything of.
    strange: tuple[str, ...]
    #: Processes that it left behind, by name.
    left: tuple[str, ...]


class ClientProject:
    def __init__(self, client: Client, folder: Path, programs: Path, *, rules: str = "") -> None:
        """Make a project with the client's hooks.

        :param programs: the folder with the clients.
        :param rules: what stands in `phase-gate.yaml`.
        """
        self.client = client
        self.root, self.home = folder / "project", folder / "home"
        for place in (self.root, self.home):
            place.mkdir(parents=True)
        own = [os.path.dirname(found) for name in (sys.executable, "node", "git") if (found := shutil.which(name))]
        path = os.pathsep.join([own[0], str(programs), *own[1:], os.defpath])
        self.environment = {
            "HOME": str(self.home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "TMPDIR": str(folder),
            MARK: str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        # Some clients run commands in a login shell, which makes a path of its own.
        for name in (".profile", ".bash_profile"):
            (self.home / name).write_text(f"PATH='{path}'\n", encoding="utf-8")
        for words in (
            ("init", "--quiet", "--initial-branch=main"),
            ("config", "user.name", "A User"),
            ("config", "user.email", "user@example.org"),
            ("commit", "--quiet", "--allow-empty", "--message=begin"),
        ):
            self.run("git", *words)
        # Others of the test environment have nothing to say here; one wants a socket, which a sandbox refuses.
        others = "-p no:rerunfailures -p no:randomly -p no:asyncio -p no:pytest-bdd -p no:cacheprovider"
        (self.root / "pytest.ini").write_text(f"[pytest]\naddopts = {others}\n", encoding="utf-8")
        if rules:
            (self.root / "phase-gate.yaml").write_text(rules, encoding="utf-8")
        self.run("phase-gate", "init", "--agent", client.name)

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run a command as the user would; it has to end with one of the codes."""
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False, timeout=300
        )
        if codes and done.returncode not in codes:
            raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def begin_green(self) -> None:
        """Write a test that fails, end RED with it, and run it in GREEN: it is frozen, and the gate closed."""
        (self.root / "test_fare.py").write_text(TESTS, encoding="utf-8")
        self.run("pytest", "--phase=red", "-q", "--exit-signal=children pay half")
        self.run("pytest", "--phase=green", "-q", codes=(1, 2))

    def diagnose(self) -> str:
        """Return what the doctor says about the client."""
        looks = json.loads(self.run("phase-gate", "doctor", "--json", codes=(0, 1)))["looks"]
        (row,) = (row for row in looks if row["what"] == self.client.name)
        return f"{row['mark']}: {row['says']}"

    def check(self) -> int:
        done = subprocess.run(
            ["phase-gate", "check"], cwd=self.root, env=self.environment, capture_output=True, check=False, timeout=120
        )
        return done.returncode

    def play(
        self,
        script: Script,
        command: Command,
        *,
        prompt: str,
        limit: float,
        kill_at: int | None = None,
        kills_client: bool = False,
        then: Command = (),
    ) -> Played:
        """Start a client, and let it work with a scripted model.

        :param kill_at: kill it when the model has been asked so often, as a crash would end it.
        :param kills_client: the command is a driver: kill the client that it started.
        :param then: what is started after that, with the same model; nothing by default.
        """
        with ModelServer(script, lambda step: self.client.translate(step, self.root)) as server:
            environment = {**self.environment, **self.client.settle(self.home, server.url)}
            environment |= self.client.trust(self.home, self.root, environment)
            began = time.monotonic()
            code = self._run_client(command, environment, prompt, _Killer(server, began + limit, kill_at, kills_client))
            if then:
                code = self._run_client(then, environment, "", _Killer(server, began + limit))
            seconds = time.monotonic() - began
            left = tuple(end_all(self.environment[MARK]))
            strange = tuple(each.path for each in server.seen if each.talk is None)
            out, err = (
                (self.home / name).read_text(encoding="utf-8", errors="replace") for name in ("out.txt", "err.txt")
            )
            return Played(
                code=code,
                out=out,
                err=err,
                seconds=seconds,
                asked=tuple(server.asked),
                told=server.told,
                strange=strange,
                left=left,
            )

    def _run_client(self, command: Command, environment: Mapping[str, str], prompt: str, killer: _Killer) -> int | None:
        with open(self.home / "out.txt", "ab") as out, open(self.home / "err.txt", "ab") as err:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            assert process.stdin is not None
            process.stdin.write(prompt.encode())
            process.stdin.close()
            return killer.wait(process)


class _Killer:
    """Waits for a program's end, and sees to it."""

    def __init__(self, server: ModelServer, end: float, kill_at: int | None = None, kills_client: bool = False) -> None:
        self._server, self._end = server, end
        self._kill_at, self._kills_client = kill_at, kills_client

    def wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """Return what it ends with; None: its time was over."""
        while process.poll() is None:
            if self._kill_at is not None and len(self._server.asked) >= self._kill_at:
                self._kill_at = None
                for pid in children_of(process.pid) if self._kills_client else (process.pid,):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > self._end:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None
            time.sleep(_PAUSE)
        return process.returncode


def children_of(parent: int) -> list[int]:
    """Return the processes that a process has started itself."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(place.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(place.parent.name))
        except OSError:
            continue  # it has ended
    return found


def end_all(mark: str) -> Iterator[str]:
    """End every process that was started here and is still there; yield their names."""
    wanted = f"{MARK}={mark}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                name = (place / "comm").read_text().strip()
                os.kill(int(place.name), signal.SIGKILL)
                yield name
        except OSError:
            continue  # it has ended, or it is another user's
