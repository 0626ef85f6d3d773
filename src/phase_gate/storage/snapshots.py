"""Snapshots of the project's files, which a sandbox restores later.

A file that is unchanged since HEAD is stored by the name of that commit; any other file by its content. Size is
limited: if uncommitted files other than Python sources take too much space, the largest ones are left out. So is a file
that can't be read.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.gate.measured import BEGINNING
from phase_gate.gate.state import State
from phase_gate.storage.fingerprint import LINK
from phase_gate.storage.git_command import blobs_of, files_of_commit, head_of, read_blobs
from phase_gate.storage.objects import ObjectStore
from phase_gate.values import Value, field, replace

#: Bytes of uncommitted data, before compression: more than one person changes between two commits.
MAX_BYTES = 32 * 1024 * 1024


class FileSnapshot(Value):
    """The files of a project at one moment."""

    #: Path -> content id, as in the tree.
    files: Mapping[str, str] = field(default_factory=dict)
    #: The commit that has the files without an entry in `contents`; empty without git.
    commit: str = ""
    #: Path -> compressed content, of the files that differ from the commit.
    contents: Mapping[str, str] = field(default_factory=dict)
    #: Paths of the files that differ from the commit and were too large to store.
    too_large: tuple[str, ...] = ()
    #: Paths of the files that differ from the commit and could not be read.
    unreadable: tuple[str, ...] = ()

    @property
    def left_out(self) -> dict[str, str]:
        """Path -> why its content is not in the snapshot."""
        return {
            **dict.fromkeys(self.too_large, "was too large to be kept"),
            **dict.fromkeys(self.unreadable, "could not be read when it was to be kept"),
        }


class SnapshotError(Exception):
    """A file of a snapshot can't be read. The message gives the reason."""


def take_snapshot(root: Path, files: Mapping[str, str]) -> FileSnapshot:
    """Return a snapshot of these files.

    :param files: path -> content id, as in the tree.
    """
    commit = head_of(root)
    committed = blobs_of(root, commit) if commit else {}
    differing = [
        path for path, content in files.items() if committed.get(path) != content and not (root / path).is_symlink()
    ]
    contents: dict[str, str] = {}
    too_large, unreadable = [], []
    left = MAX_BYTES
    # Sources first, whatever their size, so that large data files can't crowd them out. Then the smallest files.
    for is_data, size, path in sorted((not path.endswith(".py"), _size(root / path), path) for path in differing):
        left -= size if is_data else 0
        if left < 0:
            too_large.append(path)
            continue
        try:
            content = (root / path).read_bytes()
        except OSError:
            unreadable.append(path)  # another process may have removed it since it was listed
        else:
            contents[path] = base64.b64encode(zlib.compress(content)).decode("ascii")
    return FileSnapshot(
        files=dict(files),
        commit=commit,
        contents=contents,
        too_large=tuple(too_large),
        unreadable=tuple(unreadable),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_snapshot(snapshot: FileSnapshot, root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """Return path -> content of these files. Raises SnapshotError if one was left out, or git no longer has it."""
    left_out = snapshot.left_out
    found: dict[str, bytes] = {}
    others = []
    for path in paths:
        packed = snapshot.contents.get(path)
        if packed is not None:
            try:
                found[path] = zlib.decompress(base64.b64decode(packed))
            except (ValueError, zlib.error):
                raise SnapshotError(f"the stored copy of {path} is damaged") from None
        elif path in left_out:
            raise SnapshotError(f"{path} {left_out[path]}")
        elif not snapshot.files.get(path, "").startswith(LINK):
            others.append(path)
    if others:
        found |= read_blobs(root, snapshot.commit, others)
        lost = [path for path in others if path not in found]
        if lost:
            raise SnapshotError(f"git no longer has {lost[0]} of {snapshot.commit[:10]}")
    return found


def files_at_cycle_start(objects: ObjectStore, state: State, root: Path, now: Mapping[str, str]) -> FileSnapshot | None:
    """Return the snapshot from the start of the cycle, before RED; None if there is none.

    :param now: path -> content id, as in the tree.
    """
    name = state.memory.cycle.get(BEGINNING)
    if name is None:
        return None
    snapshot = FileSnapshot(**objects.load(name))
    return snapshot if snapshot.files else replace(snapshot, files=files_of_commit(root, snapshot.commit, now))


def hidden_sources(files: Mapping[str, str], beside: Mapping[str, str]) -> dict[str, str]:
    """Return the sources that runs have imported although git ignores them. A step may change these, too."""
    return {path: content for path, content in beside.items() if path.endswith(".py") and path not in files}
