"""List the files that git tracks, and the untracked sources, each with its content id.

git's index is a stat cache already, so a clean folder costs one process. Only what git is in doubt about is hashed, as
`git add` would do it: staging and committing change no id.

Two limits of git's. It compares times by whole seconds, so an edit that keeps the size, sets the old mtime again and
falls into the very second of the file's last change goes unseen until the file changes again. And where a file with
CRLF in its blob meets `core.autocrlf`, hash-object converts what `git add` would leave alone: staging an edit of such
a file looks like one more edit.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from pytest_phase_gate.core.values import Value
from pytest_phase_gate.storage.content_ids import LINK, UNREADABLE
from pytest_phase_gate.storage.git import NoGitError, is_linked_worktree, run_git

#: Characters of names in one call: Windows allows 32,767 for a whole command line.
MAX_NAMES = 24_000
#: `-v` is `-t` that shows assume-unchanged entries in lower case: git does not look at those, so we have to.
GIT_LIST = ("ls-files", "-z", "-v", "-s", "-c", "-m", "-d", "-o", "--exclude-standard")


class _Listing(Value, kw_only=False):
    indexed: dict[str, str]  # path -> content id, as git sees it
    doubtful: set[str]  # whose content has to be looked at
    nested: set[str]  # folders with an index of their own


def take_git_files(top: str, keep: Callable[[str], bool], wanted: set[str]) -> dict[str, str]:
    """Return path -> content id; NoGitError if git knows nothing of the folder.

    :param wanted: paths that are part of it even if git does not list them.
    """
    listing = _list_with_git(top)
    if not (listing.indexed or listing.doubtful or listing.nested):
        raise NoGitError  # wholly ignored, e.g. a scratch folder: git would never see an edit there
    files: dict[str, str] = {}
    _take_listing(top, "", listing, keep, wanted - listing.indexed.keys(), files)
    return files


def hash_files(top: str, paths: Sequence[str]) -> dict[str, str]:
    """Return path -> content id, as it is or would be once git tracks them; what is not there is left out."""
    return dict(_hash_with_git(top, paths, 40))


def _take_listing(
    folder: str, prefix: str, listing: _Listing, keep: Callable[[str], bool], wanted: set[str], files: dict[str, str]
) -> None:
    files.update((prefix + path, blob) for path, blob in listing.indexed.items() if keep(prefix + path))
    doubtful = {path for path in listing.doubtful if keep(prefix + path)} | wanted
    id_length = max(map(len, listing.indexed.values()), default=40)
    files.update((prefix + path, blob) for path, blob in _hash_with_git(folder, sorted(doubtful), id_length))
    for path in listing.nested:
        below = os.path.join(folder, path)
        _take_listing(below, f"{prefix}{path}/", _list_with_git(below), keep, set(), files)


def _list_with_git(folder: str) -> _Listing:
    listing = _Listing({}, set(), set())
    for record in os.fsdecode(run_git(folder, *GIT_LIST)).split("\0"):
        if not record:
            continue
        tag, rest = record[0], record[2:]
        if tag == "?":
            if rest.endswith("/"):  # a clone; but a worktree is this very project once more, with other work in it
                if not is_linked_worktree(os.path.join(folder, rest)):
                    listing.nested.add(rest.rstrip("/"))
            elif rest.endswith(".py"):
                listing.doubtful.add(rest)
            continue
        meta, _, path = rest.partition("\t")
        mode, blob, _stage = meta.split(" ")
        if mode == "160000" and os.path.lexists(os.path.join(folder, path, ".git")):
            listing.nested.add(path)  # its files instead of its commit: git does not look into a submodule for edits
        elif mode == "160000" or tag == "H":
            listing.indexed[path] = LINK + blob if mode == "120000" else blob
        else:  # modified, deleted, unmerged, skip-worktree, assume-unchanged
            listing.doubtful.add(path)
    for path in listing.doubtful:
        listing.indexed.pop(path, None)  # modified entries are listed twice, as cached ones first
    return listing


def _hash_with_git(folder: str, paths: Sequence[str], id_length: int) -> Iterator[tuple[str, str]]:
    """Yield the blob ids that `git add` would give; what is not there is not there."""
    regular = []
    for path in paths:
        full = os.path.join(folder, path)
        try:
            mode = os.lstat(full).st_mode
            target = os.readlink(full) if stat.S_ISLNK(mode) else ""
        except OSError:
            continue
        if target:
            yield path, LINK + _blob_id(os.fsencode(target), id_length)
        elif stat.S_ISREG(mode) and not os.access(full, os.R_OK):
            yield path, UNREADABLE
        elif stat.S_ISREG(mode):
            regular.append(path)
    while regular:
        batch = _pop_batch(regular)
        try:
            ids = run_git(folder, "hash-object", "--", *batch).decode("ascii").split()
        except NoGitError:
            ids = []
        if len(ids) == len(batch):
            yield from zip(batch, ids, strict=True)
            continue
        # A file vanished under git's hands, or its filter broke. Filters are left out here, which can only make a
        # file look changed that is not.
        for path in batch:
            try:
                with open(os.path.join(folder, path), "rb") as file:
                    yield path, _blob_id(file.read(), id_length)
            except OSError:
                continue


def _pop_batch(paths: list[str]) -> list[str]:
    # As arguments, since the names that --stdin-paths reads are relative to the repository, not to the folder.
    batch, length = [paths.pop()], 0
    while paths and (length := length + len(os.fsencode(paths[-1])) + 3) < MAX_NAMES:
        batch.append(paths.pop())
    return batch


def _blob_id(content: bytes, id_length: int) -> str:
    data = b"blob %d\0%s" % (len(content), content)
    return (hashlib.sha256 if id_length >= 64 else hashlib.sha1)(data, usedforsecurity=False).hexdigest()
