"""Take the fingerprint of the sources: which files there are, and what is in them.

With git, git looks: its index is a stat cache already. Without it we walk, with a stat cache of our own.
Staging, committing and touching change nothing here; editing, renaming, adding and deleting do. A file's mode is not
part of it: pytest imports files and runs none, and checkouts on other systems have other modes.

Two limits of git's. It compares times by whole seconds, so an edit that keeps the size, sets the old mtime again and
falls into the very second of the file's last change goes unseen until the file changes again. And where a file with
CRLF in its blob meets `core.autocrlf`, hash-object converts what `git add` would leave alone: staging an edit of such
a file looks like one more edit.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_phase_gate.core.settings import DEFAULT_DOCS
from pytest_phase_gate.storage.root import PYTEST_FILES, PYTEST_SECTIONS

if TYPE_CHECKING:
    from pathlib import Path

#: What a file has instead of a hash if nobody may read it.
UNREADABLE = "unreadable"

#: Longer than git takes on a cold disk with 100,000 files; a hanging network mount must not hang the run.
GIT_TIMEOUT = 10.0
#: Characters of names in one call: Windows allows 32,767 for a whole command line.
MAX_NAMES = 24_000
#: `core.*` settings that would make git look less closely, or start a daemon, whatever the user has set.
GIT_LOOKS = ("-c", "core.fsmonitor=false", "-c", "core.checkStat=default", "-c", "core.trustctime=true")
#: `-v` is `-t` that shows assume-unchanged entries in lower case: git does not look at those, so we have to.
GIT_LIST = ("ls-files", "-z", "-v", "-s", "-c", "-m", "-d", "-o", "--exclude-standard")
#: Settings that a person made. The rest of GIT_* comes from a hook that runs us, and speaks of its repository.
GIT_SETTINGS = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")

#: Never walked into: histories, caches, environments, outputs, and our own state.
SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".phase-gate"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
        *(".tox", ".nox", ".venv", "venv", "node_modules", "site-packages"),
        *(".eggs", "build", "dist"),
    )
)
#: A folder with one of these is an environment or a cache, whatever its name.
SKIP_MARKS = frozenset(("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"))
#: What a walk takes.
WALKED_SUFFIXES = (".py", ".cfg", ".ini", ".toml")

#: File systems with the coarsest times (FAT) count in steps of two seconds.
RACY_NS = 2_000_000_000
CACHE_SCHEMA = 1

_PYTEST_CONFIGURATION = frozenset((*PYTEST_FILES, *PYTEST_SECTIONS))


@dataclass(frozen=True, slots=True)
class Tree:
    """A fingerprint. The digest says how it was taken, too: `git:…` and `walk:…` can't be compared."""

    digest: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Names of files, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class _NoGitError(Exception):
    """git is missing, refuses, hangs, or knows nothing of this folder."""


def take_tree(
    root: Path,
    *,
    docs: Sequence[str] = DEFAULT_DOCS,
    always: Iterable[str] = (),
    state_folder: Path | None = None,
    cache_file: Path | None = None,
) -> Tree:
    """Return the fingerprint of the sources below `root`.

    :param always: paths relative to `root` that are part of it even if they are docs, untracked or ignored.
    :param cache_file: what a walk remembers; its folder has to exist.
    """
    top = os.path.realpath(root)
    is_state = _state_matcher(top, state_folder)
    wanted = {name for name in map(posixpath.normpath, always) if not is_state(name)}
    is_doc = compile_globs(docs)

    def keep(path: str) -> bool:
        return path in wanted or not (is_doc(path) or is_state(path))

    try:
        kind, files = "git", _git_files(top, keep, wanted)
    except _NoGitError:
        kind, files = "walk", _walk_files(top, keep, wanted, cache_file)
    text = "\0".join(part for pair in sorted(files.items()) for part in pair)
    return Tree(f"{kind}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}", files)


def changed_sources(before: Tree, after: Tree) -> tuple[str, ...]:
    """Return the Python files and pytest configurations of `before` that are gone or have another content.

    If the trees were taken in two ways (git broke in between), that is all of them: doubt closes the gate.
    """
    return tuple(sorted(path for path in before.files if _is_source(path) and _differs(path, before, after)))


def describe_difference(before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Return which files came, went and changed."""
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
    )


def _is_source(path: str) -> bool:
    return path.endswith(".py") or posixpath.basename(path) in _PYTEST_CONFIGURATION


def _differs(path: str, before: Tree, after: Tree) -> bool:
    return after.files.get(path) != before.files[path]


# --- which paths count


def _state_matcher(top: str, state_folder: Path | None) -> Callable[[str], bool]:
    given = "" if state_folder is None else os.path.realpath(state_folder)
    # Relative if it lies below the root. Else it stays absolute and matches nothing: a state folder that is the root
    # itself, or above it, must not make the sources vanish.
    inside = given.removeprefix(os.path.join(top, "")).replace(os.sep, "/") + "/"

    def is_state(path: str) -> bool:
        if ".phase-gate" in path and ".phase-gate" in path.split("/"):  # the first is cheap, and mostly false
            return True
        return path.startswith(inside)

    return is_state


def compile_globs(globs: Sequence[str]) -> Callable[[str], bool]:
    """Return a matcher; like in a .gitignore, a pattern without a slash speaks of names in any folder."""
    if not globs:
        return lambda path: False
    matches = re.compile("|".join(f"(?:{_glob_to_regex(glob)})" for glob in globs), re.S).fullmatch
    return lambda path: matches(path) is not None


def _glob_to_regex(glob: str) -> str:
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    whole = glob.removeprefix("./").removeprefix("/") + ("**" if glob.endswith("/") else "")
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", whole)
    regex = "".join(meanings.get(token) or re.escape(token) for token in tokens)
    return regex if "/" in glob else f"(?:.*/)?{regex}"


# --- with git


@dataclass(frozen=True, slots=True)
class _Listing:
    indexed: dict[str, str]  # path -> content id, as git sees it
    doubtful: set[str]  # whose content has to be looked at
    nested: set[str]  # folders with an index of their own


def _git_files(top: str, keep: Callable[[str], bool], wanted: set[str]) -> dict[str, str]:
    listing = _list_with_git(top)
    if not (listing.indexed or listing.doubtful or listing.nested):
        raise _NoGitError  # wholly ignored, e.g. a scratch folder: git would never see an edit there
    files: dict[str, str] = {}
    _take_listing(top, "", listing, keep, wanted - listing.indexed.keys(), files)
    return files


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
    for record in os.fsdecode(_run_git(folder, *GIT_LIST)).split("\0"):
        if not record:
            continue
        tag, rest = record[0], record[2:]
        if tag == "?":
            if rest.endswith("/"):  # a clone; but a worktree is this very project once more, with other work in it
                if not _is_linked_worktree(os.path.join(folder, rest)):
                    listing.nested.add(rest.rstrip("/"))
            elif rest.endswith(".py"):
                listing.doubtful.add(rest)
            continue
        meta, _, path = rest.partition("\t")
        mode, blob, _stage = meta.split(" ")
        if mode == "160000" and os.path.lexists(os.path.join(folder, path, ".git")):
            listing.nested.add(path)  # its files instead of its commit: git does not look into a submodule for edits
        elif mode == "160000" or tag == "H":
            listing.indexed[path] = f"link:{blob}" if mode == "120000" else blob
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
            yield path, "link:" + _blob_id(os.fsencode(target), id_length)
        elif stat.S_ISREG(mode) and not os.access(full, os.R_OK):
            yield path, UNREADABLE
        elif stat.S_ISREG(mode):
            regular.append(path)
    while regular:
        batch = _pop_batch(regular)
        try:
            ids = _run_git(folder, "hash-object", "--", *batch).decode("ascii").split()
        except _NoGitError:
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


def _run_git(folder: str, *arguments: str) -> bytes:
    import subprocess

    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(GIT_SETTINGS)
    }
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        return subprocess.run(
            ["git", *GIT_LOOKS, "-C", folder, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_TIMEOUT,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise _NoGitError from error


def _is_linked_worktree(folder: str) -> bool:
    try:
        with open(os.path.join(folder, ".git"), encoding="utf-8", errors="replace") as file:
            parts = file.read(4096).strip().replace("\\", "/").split("/")
    except OSError:
        return False
    return len(parts) > 2 and parts[0].startswith("gitdir:") and parts[-2] == "worktrees"


# --- without git


def _walk_files(top: str, keep: Callable[[str], bool], wanted: set[str], cache_file: Path | None) -> dict[str, str]:
    started = _now_ns()
    written, known = _load_cache(cache_file)
    files: dict[str, str] = {}
    fresh: dict[str, list[int | str]] = {}
    is_stale = False
    for path, full in {**dict(_walk(top)), **{path: os.path.join(top, path) for path in wanted}}.items():
        if not keep(path):
            continue
        try:
            status = os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                files[path] = "link:" + hashlib.sha256(os.fsencode(os.readlink(full))).hexdigest()
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            facts = [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]
            # What changed about when the cache was begun may have changed again without its times showing it.
            is_settled = max(status.st_mtime_ns, status.st_ctime_ns) + RACY_NS <= written
            entry = known.get(path)
            if is_settled and entry is not None and entry[:-1] == facts:
                files[path] = str(entry[-1])
            else:
                is_stale = True
                files[path] = _hash_file(full)
            fresh[path] = [*facts, files[path]]
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone since it was listed
        except OSError:
            files[path] = UNREADABLE
    if cache_file is not None and (is_stale or fresh.keys() != known.keys()):
        _save_cache(cache_file, started, fresh)
    return files


def _walk(top: str) -> Iterator[tuple[str, str]]:
    """Yield sources and configurations as relative and full path; links to folders are not followed."""
    folders = [("", top)]
    while folders:
        prefix, folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:
            continue
        # The root is what somebody asked for: it is looked at even if it is an environment or a worktree.
        if prefix and (not SKIP_MARKS.isdisjoint(entry.name for entry in entries) or _is_linked_worktree(folder)):
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info"):
                    folders.append((f"{prefix}{name}/", entry.path))
            elif name.endswith(WALKED_SUFFIXES) or name == "phase-gate.yaml":
                yield prefix + name, entry.path


def _hash_file(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _now_ns() -> int:
    return time.time_ns()


def _load_cache(cache_file: Path | None) -> tuple[int, dict[str, list[int | str]]]:
    if cache_file is None:
        return 0, {}
    import json

    try:
        document = json.loads(cache_file.read_bytes())
        if document["schema"] != CACHE_SCHEMA:
            return 0, {}
        known = {path: entry for path, entry in document["files"].items() if isinstance(entry, list)}
        return int(document["written_ns"]), known
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        return 0, {}  # damaged, or not there yet: everything is hashed, as it would be without one


def _save_cache(cache_file: Path, started: int, fresh: Mapping[str, list[int | str]]) -> None:
    import json

    document = {"schema": CACHE_SCHEMA, "written_ns": started, "files": fresh}
    draft = f"{cache_file}.{os.getpid()}.tmp"
    try:
        with open(draft, "w", encoding="ascii") as file:
            json.dump(document, file, separators=(",", ":"))
        os.replace(draft, cache_file)
    except OSError:
        # Only speed is lost. No fsync either: a torn cache is damaged, and a damaged one is ignored.
        try:
            os.unlink(draft)
        except OSError:
            return
