"""Real shells with our completion scripts, and a project that they complete in."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

from phase_gate.cli.completion import FOLDER, SHELLS

#: Seconds after which a shell is given up; nothing waits for it otherwise.
TIMEOUT = 60

#: The prompt: who types before it is there may type into a terminal that the shell has not set up yet.
READY = "what now? "
ENDED = "this was all"

_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07")


class Place:
    """A project, and a command `phase-gate` that writes down what it is called with."""

    def __init__(self, base: Path) -> None:
        self.root, self._commands, self._home = base / "project", base / "bin", base / "home"
        for folder in (self.root / "notes", self.root / ".phase-gate" / "tasks" / "login", self._commands, self._home):
            folder.mkdir(parents=True)
        (self.root / "claim.txt").write_text("done\n", encoding="utf-8")
        (self.root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (self.root / ".phase-gate" / "tasks" / "login" / "ledger.jsonl").write_text("", encoding="utf-8")
        self.calls = base / "calls"
        self.calls.write_text("", encoding="utf-8")
        command = self._commands / "phase-gate"
        command.write_text(
            f'#!/bin/sh\necho "$*" >> {shlex.quote(str(self.calls))}\n'
            f'exec {shlex.quote(sys.executable)} -m phase_gate.cli "$@"\n',
            encoding="utf-8",
        )
        command.chmod(0o755)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self._commands}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self._home),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "200",
            "LINES": "200",
        }

    def asked(self) -> list[str]:
        """Return what the shell has called us with."""
        return self.calls.read_text(encoding="utf-8").splitlines()


class Shell(ABC):
    """Tells what a shell offers when the tab key is pressed behind a text."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    def offers(self, typed: str) -> set[str]:
        """Return what is offered behind `phase-gate TYPED`, and whatever else is printed."""

    def script(self, shell: str) -> str:
        return str(FOLDER / SHELLS[shell])

    def at_terminal(self, command: list[str], typed: str) -> str:
        """Type into a shell at a terminal once it is ready, and return what is on it when it says that this was all."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.place.root)
            os.execvpe(command[0], command, self.place.environment())
        seen = b""
        try:
            while READY.encode() not in seen:
                seen += os.read(terminal, 65536)
            os.write(terminal, typed.encode())
            while ENDED.encode() not in seen:
                seen += os.read(terminal, 65536)
        except OSError as error:  # it ended
            raise AssertionError(seen.decode(errors="replace")) from error
        finally:
            os.close(terminal)
            os.waitpid(process, 0)
        return _CONTROL.sub(b"", seen).decode()


class Bash(Shell):
    def offers(self, typed: str) -> set[str]:
        settings = "set show-all-if-ambiguous on", "set completion-query-items 0", "set page-completions off"
        prepare = [
            f"source {shlex.quote(self.script('bash'))}",
            f"PS1='{READY}'",
            *(f"bind '{each}'" for each in settings),
        ]
        begin = self.place.root.parent / "bashrc"
        begin.write_text("\n".join([*prepare, "bind 'set enable-bracketed-paste off'", ""]), encoding="utf-8")
        # The tab key, then the end of the line, so that what was inserted is seen; then the line is thrown away.
        keys = f"phase-gate {typed}\t\x01echo \x05\necho th''is was all\nexit\n"
        screen = self.at_terminal(["bash", "--noprofile", "--rcfile", str(begin), "-i"], keys)
        shown = screen.partition(READY)[2]
        return {word.rstrip("/") for word in shown.split()} - {"phase-gate", *typed.split()}


class Zsh(Shell):
    def offers(self, typed: str) -> set[str]:
        found = self.place.root.parent / "found"
        found.write_text("", encoding="utf-8")
        folder = self.place.root.parent / "zsh"
        folder.mkdir(exist_ok=True)
        (folder / "_phase-gate").write_bytes(Path(self.script("zsh")).read_bytes())
        (folder / ".zshrc").write_text(
            f"""\
fpath=({shlex.quote(str(folder))} $fpath)
autoload -Uz compinit && compinit -u -D
PS1='{READY}'
unsetopt beep
# Writes down whatever matches, wherever it comes from.
compadd() {{
  local -a hits
  if [[ " ${{(j: :)@[1,(i)(-|--)]}} " == *" "-[OAD]" "* ]]; then
    builtin compadd "$@"
    return
  fi
  builtin compadd -A hits "$@"
  print -rl -- $hits >> {shlex.quote(str(found))}
  builtin compadd "$@"
}}
ask() {{
  zle complete-word
  print -r -- "th""is was all"
}}
zle -N ask
bindkey '^T' ask
""",
            encoding="utf-8",
        )
        environment = {**self.place.environment(), "ZDOTDIR": str(folder)}
        command = ["env", *(f"{name}={value}" for name, value in environment.items()), "zsh", "-i"]
        self.at_terminal(command, f"phase-gate {typed}\x14\x15exit\n")
        return {word.rstrip("/") for word in found.read_text(encoding="utf-8").split("\n") if word}


class Fish(Shell):
    def offers(self, typed: str) -> set[str]:
        lines = f"source {shlex.quote(self.script('fish'))}\ncomplete -C {shlex.quote(f'phase-gate {typed}')}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", lines],
            cwd=self.place.root,
            env=self.place.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=True,
        )
        return {row.partition("\t")[0].rstrip("/") for row in done.stdout.splitlines()}
