"""List the files that git does not ignore, tracked or not, each with its content id.

git's index is a stat cache already, so a clean folder costs one process. Only what git is in doubt about is hashed, as
`git add` would do it: staging and committing change no id. What git does not track yet is hashed once, and remembered.
Files behind filters that the repository brings along are hashed by their own bytes, always: the index has what the
filter made of them, and we do not run it to compare.

Two limits of git's. It compares times by whole seconds, so an edit that keeps the size, sets the old mtime again and
falls into the very second of the file's last change goes unseen until the file changes again. And where a file with
CRLF in its blob meets `core.autocrlf`, hash-object converts what `git add` would leave alone: staging an edit of such
a file looks like one more edit.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from phase_gate.storage.tree.beside import LINK, UNREADABLE
from phase_gate.storage.tree.filtered_files import find_filtered, in_batches
from phase_gate.storage.tree.git import NoGitError, foreign_filters, is_linked_worktree, list_with_git, run_git
from phase_gate.storage.tree.outputs import find_untracked_outputs
from phase_gate.storage.tree.stat_cache import StatCache
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import hashlib
    from pathlib import Path


#: In the folder of caches: what is remembered of files behind filters, and of files that are not as the index has them.
FILTERED_CACHE = "filtered.json"
CHANGED_CACHE = "changed.json"
#: Larger files that git does not track are told by size and time: hashing one would be felt.
LARGE = 64 * 1024 * 1024
#: Bytes that are read at once where we hash: files behind filters are the large ones.
_PART = 1 << 20


class _Caches(Value, kw_only=False):
    filtered: StatCache
    changed: StatCache

    @classmethod
    def open(cls, folder: Path | None) -> _Caches:
        names = (FILTERED_CACHE, CHANGED_CACHE)
        return cls(*(StatCache(None if folder is None else folder / name) for name in names))

    def save(self, state_folder: Path | None) -> None:
        self.filtered.save(state_folder)
        self.changed.save(state_folder)


class GitFiles(Value, kw_only=False):
    #: Path -> content id.
    files: dict[str, str]
    #: Those of the folder itself that are checked out.
    submodules: tuple[str, ...]
    #: The files whose contents the listing does not tell; None where it leaves more open than that.
    looked_at: frozenset[str] | None = None


class _Listing(Value, kw_only=False):
    indexed: dict[str, str]  # path -> content id, as git sees it
    doubtful: set[str]  # whose content has to be looked at
    untracked: set[str]  # not in the index
    nested: set[str]  # folders with an index of their own
    submodules: set[str]  # those of them that are submodules
    filtered: set[str]  # not in doubt, but git has them as a filter made them, and we do not run it
    id_length: int
    #: No folder in it may be, or become, a repository of its own.
    is_flat: bool
    links: frozenset[str] = frozenset()  # of the doubtful ones, those that are links in the index


def take_git_files(
    top: str,
    keep: Callable[[str], bool],
    wanted: set[str],
    *,
    keep_new: Callable[[str], bool],
    listed: bytes | None = None,
    cache_folder: Path | None = None,
    state_folder: Path | None = None,
) -> GitFiles:
    """Return the files with their content ids; NoGitError if git knows nothing of the folder.

    :param wanted: paths that are part of it even if git does not list them.
    :param keep_new: as `keep`, of files that git does not track.
    :param listed: what git lists, where it was asked already.
    :param cache_folder: where is remembered what git can't tell.
    """
    listing = _list_with_git(top, listed)
    if not (listing.indexed or listing.doubtful or listing.untracked or listing.nested or listing.filtered):
        raise NoGitError  # wholly ignored, e.g. a scratch folder: git would never see an edit there
    files: dict[str, str] = {}
    caches = _Caches.open(cache_folder)
    wanted = wanted - listing.indexed.keys() - listing.untracked - listing.filtered
    _take_listing(top, "", listing, (keep, keep_new), wanted, files, caches)
    caches.save(state_folder)
    looked_at = None
    if listing.is_flat and not foreign_filters(top):
        looked_at = frozenset(filter(keep, listing.doubtful)) | wanted | frozenset(filter(keep_new, listing.untracked))
    return GitFiles(files, tuple(sorted(listing.submodules)), looked_at)


def take_filtered_files(top: str, *, cache_file: Path, state_folder: Path) -> dict[str, str]:
    """Return path -> content id of the files behind filters that the repository brings along."""
    foreign = foreign_filters(top)
    if not foreign:
        return {}
    listing = _list_with_git(top)
    paths = listing.filtered | find_filtered(top, foreign, listing.doubtful | listing.untracked)
    cache = StatCache(cache_file)
    files = dict(_hash_with_cache(top, "", sorted(paths), listing.id_length, cache))
    cache.save(state_folder)
    return files


def hash_files(top: str, paths: Iterable[str], *, ask: Callable[..., bytes] = run_git) -> dict[str, str]:
    """Return path -> content id, as it is or would be once git tracks them; what is not there is left out.

    :param ask: how git is called: as for a look, except before a commit.
    """
    return dict(_hash_with_git(top, paths, 40, ask))


def _take_listing(
    folder: str,
    prefix: str,
    listing: _Listing,
    keeps: tuple[Callable[[str], bool], Callable[[str], bool]],
    wanted: set[str],
    files: dict[str, str],
    caches: _Caches,
) -> None:
    keep, keep_new = keeps
    files.update((prefix + path, blob) for path, blob in listing.indexed.items() if keep(prefix + path))
    untracked = {path for path in listing.untracked if keep_new(prefix + path)}
    large = dict(_tell_large(folder, untracked))
    files.update((prefix + path, told) for path, told in large.items())
    doubtful = {path for path in listing.doubtful if keep(prefix + path)}
    filtered = {path for path in listing.filtered if keep(prefix + path)}
    for paths, cache in ((doubtful | wanted | (untracked - large.keys()), caches.changed), (filtered, caches.filtered)):
        hashed = _hash_with_cache(folder, prefix, sorted(paths), listing.id_length, cache)
        files.update((prefix + path, blob) for path, blob in hashed)
    files.update(
        (prefix + path, told) for path, told in _tell_links(folder, listing.links & doubtful, listing.id_length)
    )
    for path in listing.nested:
        below = os.path.join(folder, path)
        _take_listing(below, f"{prefix}{path}/", _list_with_git(below), keeps, set(), files, caches)


def _tell_links(folder: str, links: Iterable[str], id_length: int) -> Iterator[tuple[str, str]]:
    """Yield the links that are files here: git writes their targets into files on systems without links."""
    written = [
        path for path in links if os.path.isfile(full := os.path.join(folder, path)) and not os.path.islink(full)
    ]
    if not written or run_git(folder, "config", "--type=bool", "--default=true", "core.symlinks").strip() != b"false":
        return
    for path in written:
        with contextlib.suppress(OSError):
            yield path, LINK + _hash_file(os.path.join(folder, path), id_length)


def _list_with_git(folder: str, listed: bytes | None = None) -> _Listing:
    indexed: dict[str, str] = {}
    doubtful: set[str] = set()
    untracked: set[str] = set()
    nested: set[str] = set()
    submodules: set[str] = set()
    absent: set[str] = set()
    links: set[str] = set()
    is_flat = True
    for record in os.fsdecode(list_with_git(folder) if listed is None else listed).split("\0"):
        if not record:
            continue
        tag, rest = record[0], record[2:]
        if tag == "?":
            if rest.endswith("/"):
                is_flat = False
                # A clone; but a worktree is this very project once more, with other work in it.
                if not is_linked_worktree(os.path.join(folder, rest)):
                    nested.add(rest.rstrip("/"))
            else:
                untracked.add(rest)
            continue
        meta, _, path = rest.partition("\t")
        mode, blob, _stage = meta.split(" ")
        full = os.path.join(folder, path)
        is_flat = is_flat and mode != "160000"
        if mode == "160000" and is_repository(full):
            submodules.add(path)  # its files instead of its commit: git does not look into a submodule for edits
        elif mode == "160000" and not os.path.islink(full):
            indexed[path] = blob
            absent.add(path)
        elif tag == "H":
            indexed[path] = LINK + blob if mode == "120000" else blob
        else:  # modified, deleted, unmerged, skip-worktree, assume-unchanged
            doubtful.add(path)
            if mode == "120000":
                links.add(path)
    id_length = max(map(len, indexed.values()), default=40)
    for path in doubtful:
        indexed.pop(path, None)  # modified entries are listed twice, as cached ones first
    untracked -= find_untracked_outputs(untracked, itertools.chain(indexed, doubtful))
    filtered = find_filtered(folder, foreign_filters(folder), indexed.keys() - absent)
    for path in filtered:
        del indexed[path]
    return _Listing(
        indexed,
        doubtful,
        untracked,
        nested | submodules,
        submodules,
        filtered,
        id_length,
        is_flat,
        frozenset(links),
    )


def is_repository(folder: str) -> bool:
    """Tell whether a submodule is there. A link in its place is none: it may lead back to where we come from."""
    return os.path.lexists(os.path.join(folder, ".git")) and not os.path.islink(folder)


def _tell_large(folder: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            status = os.lstat(os.path.join(folder, path))
        except OSError:
            continue
        if status.st_size > LARGE:
            yield path, f"size:{status.st_size}:{status.st_mtime_ns}"


def _hash_with_cache(
    folder: str, prefix: str, paths: Iterable[str], id_length: int, cache: StatCache
) -> Iterator[tuple[str, str]]:
    unknown: dict[str, os.stat_result] = {}
    for path in paths:
        try:
            status = os.lstat(os.path.join(folder, path))
        except OSError:
            continue
        known = cache.find(prefix + path, status)
        if known is None:
            unknown[path] = status
        else:
            yield path, known
    for path, blob in _hash_with_git(folder, unknown, id_length):
        cache.add(prefix + path, unknown[path], blob)
        yield path, blob


def _hash_with_git(
    folder: str, paths: Iterable[str], id_length: int, ask: Callable[..., bytes] = run_git
) -> Iterator[tuple[str, str]]:
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
    # As arguments, since the names that --stdin-paths reads are relative to the repository, not to the folder.
    for batch in in_batches(regular):
        try:
            ids = ask(folder, "hash-object", "--", *batch).decode("ascii").split()
        except NoGitError:
            ids = []
        if len(ids) == len(batch):
            yield from zip(batch, ids, strict=True)
            continue
        # A file vanished under git's hands, or its filter broke. Filters are left out here, which can only make a
        # file look changed that is not.
        for path in batch:
            try:
                yield path, _hash_file(os.path.join(folder, path), id_length)
            except OSError:
                continue


def _hash_file(path: str, id_length: int) -> str:
    with open(path, "rb") as file:
        hashed = _hasher(id_length, os.fstat(file.fileno()).st_size)
        while part := file.read(_PART):
            hashed.update(part)
    return hashed.hexdigest()


def _blob_id(content: bytes, id_length: int) -> str:
    hashed = _hasher(id_length, len(content))
    hashed.update(content)
    return hashed.hexdigest()


def _hasher(id_length: int, size: int) -> hashlib._Hash:
    import hashlib

    return (hashlib.sha256 if id_length >= 64 else hashlib.sha1)(b"blob %d\0" % size, usedforsecurity=False)
