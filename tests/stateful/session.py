"""A shell session in a small project: everything that is typed is done by the real commands, and can be read later."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from phase_gate.values import Value
from tests.warm import WarmServer, clean_environment

#: What an inner session loads in addition to pytest's own plugins.
_PLUGINS = ("-p", "phase_gate.plugin")

#: What RED freezes, as far as the machine touches it.
_FROZEN = ("tests/**/*.py", "conftest.py", "pytest.ini", "phase-gate.yaml")

#: Lines of an output that a printed session shows.
_SHOWN = 12


class Typed(Value):
    """A line of the session and what came of it."""

    line: str
    code: int = 0
    output: str = ""
    #: What stands in front of the line: who types it.
    prompt: str = "$"


class Session:
    """A project in a temporary folder with everything that was typed in it.

    :param server: forks pytest and the command; shared by the sessions of a process.
    """

    def __init__(self, server: WarmServer) -> None:
        self._server = server
        self._folder = Path(tempfile.mkdtemp(prefix="phase-gate-session-")).resolve()
        self.root = self._folder / "project"
        self.root.mkdir()
        self.typed: list[Typed] = []
        #: What the test files, and what they depend on, were when a phase last exited.
        self.frozen: dict[str, str] = {}
        #: How many lines made the project; they are always the same, and not shown.
        self.begun = 0
        #: Words behind `phase-gate status`: which task the steps are about.
        self.asks: tuple[str, ...] = ()
        #: Seconds that passed by waiting.
        self.later = 0
        #: Who types: `$` an agent, without a terminal; `person$` a person at a terminal.
        self.prompt = "$"
        self._environment = clean_environment(self._folder)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- typing --------------------------------------------------------------------------------------------------

    def type(self, line: str, *, killed: bool = False, person: bool = False) -> Typed:
        """Type a line and wait for its end."""
        program, *words = shlex.split(line, comments=True)
        if program == "git":
            code, output = self._git(*words)
        elif program in ("pytest", "phase-gate"):
            code, output = self._fork(program, words, killed=killed, at_terminal=person)
        else:
            raise AssertionError(f"a session can not type {line!r}")
        shown = f"timeout --signal=KILL 1 {line}" if killed else line
        done = Typed(line=shown, code=code, output=output, prompt="person$" if person else self.prompt)
        self.typed.append(done)
        if program == "phase-gate" and words[0] == "signal" and code == 0 and self.look().get("phase") == "RED":
            self.frozen = {name: self.read(name) for pattern in _FROZEN for name in self.find(pattern)}
        return done

    def look(self) -> dict[str, Any]:
        """Return what `phase-gate status --json` says; not shown: it changes nothing."""
        code, output = self._fork("phase-gate", ["status", "--json", *self.asks])
        try:
            document: dict[str, Any] = json.loads(output)
        except ValueError:
            raise AssertionError(f"phase-gate status --json ended with {code}:\n{output}") from None
        return document

    def _fork(
        self, program: str, words: list[str], *, killed: bool = False, at_terminal: bool = False
    ) -> tuple[int, str]:
        given = [*_PLUGINS, *(("-p", "xdist") if "-n" in words else ()), *words] if program == "pytest" else words
        code, out, err = self._server.run(
            self.root,
            (program, *given),
            self._environment,
            later=self.later,
            killed=killed,
            at_terminal=at_terminal,
        )
        return code, out + err

    def _git(self, *words: str) -> tuple[int, str]:
        done = subprocess.run(
            ("git", *words),
            cwd=self.root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def ask_git(self, *words: str) -> str:
        """Return what git says, or nothing where it fails; not shown: it changes nothing."""
        code, output = self._git(*words)
        return "" if code else output

    # --- files ---------------------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def write(self, name: str, text: str) -> bool:
        """Write a file; return whether that changed it."""
        path = self.root / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.touch(name)
        self.typed.append(Typed(line=f"cat > {name} <<'EOF'\n{text}EOF", prompt=self.prompt))
        return True

    def touch(self, name: str) -> None:
        """Let a file be as young as the session's clock says."""
        now = time.time() + self.later
        os.utime(self.root / name, (now, now))

    def remove(self, name: str) -> bool:
        path = self.root / name
        if not path.exists():
            return False
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.typed.append(Typed(line=f"rm -r {name}", prompt=self.prompt))
        return True

    def move(self, old: str, new: str) -> None:
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).rename(self.root / new)
        self.typed.append(Typed(line=f"mv {old} {new}", prompt=self.prompt))

    def wait(self, minutes: int) -> None:
        self.later += 60 * minutes
        self.typed.append(Typed(line=f"sleep {minutes}m", prompt=self.prompt))

    def say(self, comment: str) -> None:
        self.typed.append(Typed(line=f"# {comment}", prompt=self.prompt))

    def find(self, pattern: str) -> list[str]:
        """Return the files of that pattern, by name, without those of the state folder."""
        found = (path.relative_to(self.root).as_posix() for path in self.root.glob(pattern) if path.is_file())
        return sorted(name for name in found if not name.startswith((".phase-gate/", ".git/")))

    # --- reading it ----------------------------------------------------------------------------------------------

    def show(self) -> str:
        """Return the session as it would stand in a terminal, each output's last lines with it."""
        lines: list[str] = []
        for each in self.typed[self.begun :]:
            lines.append(f"{each.prompt} {each.line}")
            output = [line for line in each.output.splitlines() if line.strip()]
            lines += ["  ..."] * (len(output) > _SHOWN) + [f"  {line}" for line in output[-_SHOWN:]]
            if each.code:
                lines.append(f"  [exit status {each.code}]")
        return "\n".join(lines)
