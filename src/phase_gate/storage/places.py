"""Where else a root has its state: folders other than its own `.phase-gate`, kept beside the user's memory.

Whoever names another state folder leaves an open freeze behind in the first one; somebody has to remember where that
is. Best effort, and off under CI, as the memory is.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import PhaseGateError
from phase_gate.storage.files import REAL, make_folder, read_bytes, write_atomically
from phase_gate.storage.memory import memory_file

#: Folders that are remembered of one root: nobody works in more of them at once.
_MOST = 50


def remember_place(root: Path, state_folder: Path, environment: Mapping[str, str]) -> None:
    """Remember that this root has state there."""
    file = _file(root, environment)
    place = os.path.realpath(state_folder)
    known = [] if file is None else _load(file)
    if file is None or place in known:
        return
    kept = [each for each in known if os.path.isdir(each)][1 - _MOST :]
    with contextlib.suppress(PhaseGateError):
        make_folder(REAL, file.parent)
        write_atomically(REAL, file, json.dumps({"root": str(root), "folders": [*kept, place]}).encode(), durable=False)


def recall_places(root: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the state folders that are remembered of this root, and that are still there."""
    file = _file(root, environment)
    return [] if file is None else [Path(each) for each in _load(file) if os.path.isdir(each)]


def _file(root: Path, environment: Mapping[str, str]) -> Path | None:
    file = memory_file(root, environment)
    return None if file is None else file.with_suffix(".places.json")


def _load(file: Path) -> list[str]:
    try:
        found = json.loads(read_bytes(file) or b"")["folders"]
    except (PhaseGateError, ValueError, KeyError, TypeError, RecursionError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
