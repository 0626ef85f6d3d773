"""Keep the count of the stop hook: a small file for each session of an agent, in the state folder's cache.

Outside the ledger: it is evidence of nothing, and may be lost at any time. One file each, so that two agents that ask
at once do not undo each other's count.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from phase_gate.agents.blocks import Blocks, Progress, digest
from phase_gate.codec import from_json, to_json
from phase_gate.errors import PhaseGateError
from phase_gate.storage.files import REAL, make_folder, read_bytes, remove_file, write_atomically

#: Sessions that are remembered at once; the oldest are forgotten first.
MOST_SESSIONS = 32
_MAX_BYTES = 4096


def block_file(state_folder: Path, *, agent: str, session: str, task: str) -> Path:
    """Return where the count of a session is kept; of the task, where the agent does not name its session."""
    return state_folder / "cache" / f"stops-{digest([agent, session, task])}.json"


def count_block(file: Path, now: Progress) -> Blocks | None:
    """Count one more block and return how many there are; None if that can't be kept."""
    if not file.parent.parent.is_dir():
        return None  # a hook makes no state folder
    blocks = _load(file).after(now)
    try:
        make_folder(REAL, file.parent)
        write_atomically(REAL, file, json.dumps(to_json(blocks)).encode(), durable=False)
    except PhaseGateError:
        return None
    _forget_oldest(file)
    return blocks


def _load(file: Path) -> Blocks:
    with contextlib.suppress(PhaseGateError, ValueError, TypeError, LookupError, RecursionError):
        blocks = from_json(Blocks, json.loads(read_bytes(file, limit=_MAX_BYTES) or b"{}"))
        if min(blocks.in_row, blocks.untested) >= 0:
            return blocks
    return Blocks()


def _forget_oldest(file: Path) -> None:
    with contextlib.suppress(OSError):
        others = [each for each in os.scandir(file.parent) if each.name.startswith("stops-") and each.name != file.name]
        others.sort(key=lambda each: each.stat().st_mtime_ns)
        for each in others[: len(others) + 1 - MOST_SESSIONS] if len(others) >= MOST_SESSIONS else ():
            remove_file(Path(each.path))
