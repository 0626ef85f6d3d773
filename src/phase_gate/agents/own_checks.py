"""Whether a client would run our hooks here: its own check is asked, where it has one.

That a hook answers says nothing about that: most clients pass over a hook that they do not trust, without a word. These
checks run nothing that a project brings along, no hook, helper or server: that was tried.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.values import Value

#: Seconds that a client's own check may take.
_TIMEOUT = 20
#: In Codex's answer, what lets a hook run.
_TRUSTED = frozenset({"trusted", "managed"})


class OwnCheck(Value):
    """What a client says about our hooks."""

    #: None: it does not tell.
    would_run: bool | None
    says: str = ""


def find_program(name: str, root: Path, environment: Mapping[str, str]) -> str | None:
    """Return a client's program; None if there is none, or if it came with the project: that is not run to look."""
    found = shutil.which(name, path=environment.get("PATH"))
    if found is None or Path(os.path.realpath(found)).is_relative_to(os.path.realpath(root)):
        return None
    return os.path.abspath(found)


# --- Claude Code: `claude doctor` names settings that it can't take


def ask_claude(program: str, root: Path, commands: frozenset[str], environment: Mapping[str, str]) -> OwnCheck:
    for place in _claude_settings(root, environment):
        if _read(place).get("disableAllHooks") is True:
            return OwnCheck(would_run=False, says=f"disableAllHooks is set in {_shown(place, root)}")
    # It looks for updates and policies otherwise.
    quiet = {**environment, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    said = _run((program, "doctor"), root, quiet)
    if said is None:
        return OwnCheck(would_run=None, says="claude doctor did not answer")
    ours = str(root / ".claude" / "settings.json")
    refused = [row.strip().removeprefix("- ") for row in said.splitlines() if ours in row]
    if refused:
        return OwnCheck(
            would_run=False, says=f"claude doctor says: {refused[0].replace(ours, '.claude/settings.json')}"
        )
    return OwnCheck(would_run=True, says="claude doctor finds no fault with them")


def _claude_settings(root: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    own = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(environment.get("HOME", ""), ".claude")
    yield Path(own) / "settings.json"
    yield from (root / ".claude" / name for name in ("settings.json", "settings.local.json"))


# --- Codex CLI: its server lists the hooks that it has read, and whether it trusts them


def ask_codex(program: str, root: Path, commands: frozenset[str], environment: Mapping[str, str]) -> OwnCheck:
    rows = list_codex_hooks(program, root, environment)
    if rows is None:
        return OwnCheck(would_run=None, says="codex app-server did not answer")
    ours = [row for row in rows if row.get("command") in commands]
    if {row["command"] for row in ours} != commands:
        return OwnCheck(would_run=False, says="it does not read them: this folder is not trusted")
    for row in ours:
        if row.get("enabled") is not True:
            return OwnCheck(would_run=False, says="they are switched off")
        if row.get("trustStatus") not in _TRUSTED:
            return OwnCheck(would_run=False, says=f"they are {row.get('trustStatus')}")
    return OwnCheck(would_run=True, says="Codex trusts them")


def list_codex_hooks(program: str, root: Path, environment: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Return the hooks that Codex would consider in a folder; None if it does not answer."""
    questions: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "phase-gate", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(root)]}},
    )
    try:
        process = subprocess.Popen(
            (program, "app-server"),
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError:
        return None
    try:
        with process:
            killer = _kill_after(process, _TIMEOUT)
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                for question in questions:
                    process.stdin.write(json.dumps(question) + "\n")
                process.stdin.flush()
                return _take_hooks(process.stdout)
            finally:
                killer.cancel()
                process.kill()
    except OSError:
        return None  # it ended without reading: closing the pipe says so once more


def _take_hooks(rows: Iterator[str]) -> list[dict[str, Any]] | None:
    for row in rows:
        try:
            answer = json.loads(row)
            if answer.get("id") == 2:
                return [hook for folder in answer["result"]["data"] for hook in folder["hooks"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
    return None


# --- what they have in common


def _kill_after(process: subprocess.Popen[str], seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def _run(command: tuple[str, ...], root: Path, environment: Mapping[str, str]) -> str | None:
    """Return what a command prints; None if it does not end well, or not in time."""
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _read(place: Path) -> Mapping[str, Any]:
    """Return settings; nothing where there are none, or none that can be read."""
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _shown(place: Path, root: Path) -> str:
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else str(place)


#: By client: asks it, given its program, the root, our commands and the environment. The others have no way to tell.
OWN_CHECKS: Mapping[str, Callable[[str, Path, frozenset[str], Mapping[str, str]], OwnCheck]] = {
    "claude": ask_claude,
    "codex": ask_codex,
}


def ask_client(name: str, root: Path, commands: frozenset[str], environment: Mapping[str, str]) -> OwnCheck:
    """Return what a client itself says about our hooks."""
    if name not in OWN_CHECKS:
        return OwnCheck(would_run=None)
    program = find_program(name, root, environment)
    if program is None:
        return OwnCheck(would_run=None, says=f"{name} is not on the path")
    return OWN_CHECKS[name](program, root, commands, environment)
