"""Keep the project's files as they are, so that a sandbox can show them later; and read what was kept.

What git has at HEAD is kept by the name of that commit, everything else by its content. Bounded: of files that are not
committed and no Python, the largest are not kept if there is too much of them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.gate.measured import BEGINNING
from phase_gate.gate.state import State
from phase_gate.storage import cache
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.tree.commits import blobs_at_head, files_of_commit
from phase_gate.storage.tree.contents import LINK
from phase_gate.storage.tree.git import head_of, read_blobs
from phase_gate.values import Value, field, replace

#: Bytes of data that are not in git, before they are compressed: more than one person changes between two commits.
MAX_BYTES = 32 * 1024 * 1024


class Kept(Value):
    """The files of a project at one moment."""

    #: Path -> content id, as the tree has it.
    files: Mapping[str, str] = field(default_factory=dict)
    #: The commit that has those whose content is not here; empty without git.
    commit: str = ""
    #: Path -> content, packed, of those that the commit does not have as they were.
    contents: Mapping[str, str] = field(default_factory=dict)
    #: Paths of those that the commit does not have either, because they are too large.
    too_large: tuple[str, ...] = ()


def keep_files(root: Path, files: Mapping[str, str]) -> Kept:
    """Return the files as they lie there now.

    :param files: path -> content id, as the tree has it.
    """
    commit = head_of(root)
    committed = blobs_at_head(root) if commit else {}
    waiting = [
        (not path.endswith(".py"), full.stat().st_size, path)
        for path, content in files.items()
        if committed.get(path) != content and not (full := root / path).is_symlink() and full.is_file()
    ]
    contents: dict[str, str] = {}
    too_large = []
    left = MAX_BYTES
    # Sources whatever their size: noise must not keep them from being kept. Then the small ones.
    for is_data, size, path in sorted(waiting):
        left -= size if is_data else 0
        if left < 0:
            too_large.append(path)
        else:
            contents[path] = base64.b64encode(zlib.compress((root / path).read_bytes())).decode("ascii")
    return Kept(files=dict(files), commit=commit, contents=contents, too_large=tuple(too_large))


def files_at_beginning(objects: ObjectStore, state: State, root: Path, now: Mapping[str, str]) -> Kept | None:
    """Return the files that the cycle began with, before RED; None: they are not known.

    :param now: path -> content id, as the tree has it.
    """
    remembered = state.memory.cycle.get(BEGINNING)
    if remembered is None:
        return None
    kept = kept_from(objects.load(remembered))
    return kept if kept.files else replace(kept, files=files_of_commit(root, kept.commit, now))


def hidden_sources(files: Mapping[str, str], beside: Mapping[str, str]) -> dict[str, str]:
    """Return the sources that runs have imported although git ignores them: a step may change these as well."""
    return {path: content for path, content in beside.items() if path.endswith(".py") and path not in files}


class LostError(Exception):
    """What was kept can't be read any more; says why."""


def read_kept(kept: Kept, root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path -> content of these files, as they were. Raises LostError if git does not have one any more."""
    found: dict[str, bytes] = {}
    others = []
    for path in paths:
        packed = kept.contents.get(path)
        if packed is not None:
            try:
                found[path] = zlib.decompress(base64.b64decode(packed))
            except (ValueError, zlib.error):
                raise LostError(f"what was kept of {path} can't be read") from None
        elif not kept.files.get(path, "").startswith(LINK):
            others.append(path)
    if others:
        found |= read_blobs(root, kept.commit, others)
        lost = [path for path in others if path not in found]
        if lost:
            raise LostError(f"git has no {lost[0]} of {kept.commit[:10]} any more")
    return found


def kept_from(document: Any) -> Kept:
    return Kept(**document)


# --- which files changed since the last run that failed, to show what was tried, and since the last run at all. Caches:
# they may be lost or lie damaged at any time, and then nothing is known.


#: Names that are kept: enough to see what was tried.
_NAMED = 20
#: Files of a project for which the last run's are kept at all: beyond that every run would feel it.
_MOST = 20_000
_FAILED, _LEFT = "last-files.json", "left-files.json"


class _Left(Value):
    """What a run left: the digest of it, and path -> content id."""

    tree: str
    files: Mapping[str, str] = field(default_factory=dict)


def changed_since_failed(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the files that are not what they were at the last failing run; None if that is not known."""
    before = cache.load(folder / "cache" / _FAILED)
    return _differing(before, files)[:_NAMED] if isinstance(before, dict) else None


def save_failed(folder: Path, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a failing run left them, with best effort."""
    cache.save(folder / "cache" / _FAILED, dict(files))


def changed_since_left(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that are not what the last run left; none if that is not known.

    :param tree: the digest of what it left.
    """
    before = cache.load_value(_Left, folder / "cache" / _LEFT)
    return _differing(before.files, files) if before is not None and before.tree == tree else ()


def save_left(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Keep the ids of all contents as a run left them, with best effort, where there are not too many."""
    before = cache.load_value(_Left, folder / "cache" / _LEFT)
    if len(files) <= _MOST and (before is None or before.tree != tree):
        cache.save(folder / "cache" / _LEFT, _Left(tree=tree, files=files))


def _differing(before: Mapping[str, object], files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in before.keys() | files.keys() if before.get(name) != files.get(name)))
