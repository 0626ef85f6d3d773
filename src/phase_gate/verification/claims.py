"""What an executor claims of the verify command, against the task: a claim that does not fit makes a pass a weak one.

Pure. Our own run of the command decides whether it passes at all; this is about whom to believe besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def doubts(result: Mapping[str, Any], command: str) -> tuple[str, ...]:
    """Return what speaks against a report of success: another command, or an exit code other than 0.

    :param command: the task's verify command.
    """
    claimed = result.get("verification")
    if result.get("status") != "success" or not claimed:
        return ()
    found = []
    if not is_same_command(claimed["command"], command):
        shown = " ".join(claimed["command"].split())
        shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
        found.append(f"the executor ran another command than the task's: `{shown}`")
    if claimed["exit_code"] != 0:
        found.append(f"the executor reports success, and claims exit code {claimed['exit_code']}")
    return tuple(found)


def is_same_command(claimed: str, command: str) -> bool:
    """Tell whether two texts are one command: spaces, quotes, a prompt and the marks around code make no other one."""
    claimed, command = _bare(claimed), _bare(command)
    return claimed.split() == command.split() or _words(claimed) == _words(command)


def _bare(text: str) -> str:
    return text.replace("\\\n", " ").strip().strip("`").strip().removeprefix("$ ").strip()


def _words(text: str) -> list[str]:
    # Only where they differ: a replay of the ledger need not load it.
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return [text]
