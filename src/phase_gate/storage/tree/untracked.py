"""Files that the tree may not have: data beside tests whatever it is called, and texts that count as docs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from phase_gate.storage.tree.beside import UNREADABLE
from phase_gate.storage.tree.git import try_git
from phase_gate.storage.tree.git_files import hash_files
from phase_gate.storage.tree.outputs import is_no_data
from phase_gate.storage.tree.walk import MAX_LOOKED_AT, refuse_to_walk, walk


def take_data(
    root: Path, folders: tuple[str, ...], *, state_folder: Path, keep: Callable[[str], bool] = lambda path: True
) -> dict[str, str]:
    """Return path -> content id of the files below these folders that git does not ignore; of all without git.

    An id is what the tree has for the file once git tracks it: committing new data changes nothing.

    :param keep: tells which paths are wanted; the others are not read.
    """
    existing = [folder for folder in folders if (root / folder).is_dir()]
    if not existing:
        return {}
    listed = try_git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *existing)
    if listed is not None:
        names = sorted(set(os.fsdecode(listed).split("\0")) - {""})
    else:
        names = sorted(path.relative_to(root).as_posix() for path in _walk_data(root, existing) if path.is_file())
    wanted = [
        name for name in names if not is_no_data(name) and not (root / name).is_relative_to(state_folder) and keep(name)
    ]
    if listed is not None:
        return hash_files(str(root), wanted)
    return {name: _hash_file(root / name) for name in wanted}


def take_contents(root: Path, paths: Sequence[str], *, with_git: bool) -> dict[str, str]:
    """Return path -> content id as `take_data` has it; what is not there is left out."""
    if with_git:
        return hash_files(str(root), paths)
    return {path: _hash_file(root / path) for path in paths if (root / path).is_file()}


def list_files(root: Path, *, state_folder: Path, keep: Callable[[str], bool]) -> list[str]:
    """Return the wanted files of the project, those too that git does not track yet; none that it ignores."""

    def is_wanted(name: str) -> bool:
        return keep(name) and not is_no_data(name) and not (root / name).is_relative_to(state_folder)

    listed = try_git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard")
    if listed is None:
        return sorted(name for name, _ in walk(str(root), is_wanted))
    names = {name for name in os.fsdecode(listed).split("\0") if name and is_wanted(name)}
    return sorted(name for name in names if (root / name).is_file())


def _walk_data(root: Path, folders: Iterable[str]) -> Iterator[Path]:
    """Yield all that is below these folders. Raises TooManyFilesError as a walk for sources does."""
    found = (path for folder in folders for path in (root / folder).rglob("*"))
    for number, path in enumerate(found):
        if number >= MAX_LOOKED_AT:
            raise refuse_to_walk(str(root), f"{MAX_LOOKED_AT:,} files and folders beside its tests")
        yield path


def _hash_file(file: Path) -> str:
    import hashlib

    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return UNREADABLE
