"""What we write stays where the user looks for it: no folder of ours is a link, and no setting leads out of the root.

A repository can bring both along. A person can name any folder, by an option or the environment: that is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from phase_gate.errors import ConfigurationError, StorageError

#: What we make in a state folder, and in the folder of a task.
_NAMES = ("cache", "objects", "packed", "runs", "tasks", "verify")


def own_folders(anchor: Path, state_folder: Path, folder: Path) -> Iterator[Path]:
    """Yield every folder of ours that leads to the files of a task.

    :param anchor: the last folder that is not ours: the root, or the state folder that a person named.
    """
    levels = [each for each in (folder, *folder.parents) if each != anchor and each.is_relative_to(anchor)]
    yield from reversed(levels)
    for place in dict.fromkeys((state_folder, folder)):
        yield from (place / name for name in _NAMES)


def refuse_links(folders: Iterable[Path]) -> None:
    """Raise StorageError if one of the folders is a link."""
    for folder in folders:
        if os.path.islink(folder):
            raise StorageError(
                f"{folder} is a symbolic link: nothing is read or written through it",
                remedy="replace the link by a folder; to keep the state elsewhere, name that folder with --phase-dir,"
                " --dir or PHASE_GATE_DIR",
            )


def place_below(root: Path, name: str, *, setting: str) -> Path:
    """Return the file that a setting names. Raises ConfigurationError if a link takes it out of the project."""
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ConfigurationError(
            f"{setting}: a link takes {name} out of the project", remedy="replace the link, or name another file"
        )
    return path
