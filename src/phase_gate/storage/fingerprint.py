"""Take the fingerprint of the sources: the names and contents of all files that count.

With git, these are all files that git does not ignore, tracked or not, except documents and outputs of common tools,
which are recognized by name. Without git, only sources and configuration files count, because it is unknown which other
files belong to the project. Contents are always read from disk.

Staging, committing and touching a file do not change the fingerprint; editing, renaming, adding and deleting do. File
modes do not count: pytest does not execute files, and checkouts on other systems have other modes.
"""

from __future__ import annotations

import contextlib
import functools
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from json import dumps, loads

from phase_gate.bound import blake2b, os, sha1, sha256, time
from phase_gate.errors import StorageError
from phase_gate.storage.files import (
    REAL,
    exists,
    load_value,
    make_folder,
    read_bytes,
    save_cache,
    write_atomically,
)
from phase_gate.storage.git_command import NoGitError
from phase_gate.storage.listing import is_output, is_source, list_with_git, walk_sources
from phase_gate.values import Value, field
from phase_gate.workflow.settings import DEFAULT_DOCS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class Tree(Value, kw_only=False):
    """A fingerprint. The digest starts with `git:` or `walk:`, which can't be compared with each other."""

    digest: str
    #: Path -> content id.
    files: Mapping[str, str]
    #: The same for files that are not listed, but that runs have imported.
    beside: Mapping[str, str] = field(default_factory=dict)


def take_tree(
    root: Path,
    *,
    docs: Sequence[str] = DEFAULT_DOCS,
    always: Iterable[str] = (),
    beside: Iterable[str] = (),
    reports: Iterable[str] = (),
    new_data: bool = True,
    state_folder: Path | None = None,
    cache_file: Path | None = None,
    key: bytes | None = None,
) -> Tree:
    """Return the fingerprint of the sources below `root`.

    :param always: paths relative to `root` that count even if they are documents, outputs or ignored.
    :param beside: paths relative to `root` of files that runs have imported: they count even if they are not listed.
    :param reports: paths relative to `root` of files that pytest's options write; folders end with a slash.
    :param new_data: whether untracked files count that are not sources.
    :param cache_file: the cache of contents; its folder is made inside an existing state folder.
    :param key: signs the cache, if one is set.
    """
    top = os.path.realpath(root)
    is_state, is_doc = _state_matcher(top, state_folder), compile_globs(docs)
    is_report = _report_matcher(reports)
    wanted = {name for name in map(posixpath.normpath, always) if not is_state(name)}

    def counts(path: str, *, is_new: bool) -> bool:
        if path in wanted:
            return True
        if is_new and not new_data and not path.endswith(".py"):
            return False
        return not (is_doc(path) or is_state(path) or is_output(path) or is_report(path))

    kind, names = _list_names(top)
    contents = Contents(top, cache_file, key=key)
    files = {}
    for path, is_new in {**dict.fromkeys(wanted, False), **names}.items():
        if counts(path, is_new=is_new) and (content := contents.find(path)) is not None:
            files[path] = content
    tree = _with_beside(Tree(f"{kind}:{_digest(files)}", files), contents, beside)
    contents.save(state_folder)
    return tree


def _list_names(top: str) -> tuple[str, Mapping[str, bool]]:
    """Return `git` or `walk`, and path -> whether the file is untracked."""
    try:
        return "git", list_with_git(top)
    except NoGitError:
        return "walk", dict.fromkeys(walk_sources(top), False)


def add_beside(tree: Tree, root: Path, paths: Iterable[str]) -> Tree:
    """Return the fingerprint with these files added, unless it includes them already.

    :param paths: relative to `root`.
    """
    return _with_beside(tree, Contents(os.path.realpath(root)), paths)


def _with_beside(tree: Tree, contents: Contents, paths: Iterable[str]) -> Tree:
    hidden = [path for path in sorted(paths) if not is_shown(path, tree.files)]
    beside = {path: found for path in hidden if (found := contents.find(path, follow=True)) is not None}
    if not beside:
        return tree
    kind, _, digest = tree.digest.partition(":")
    return Tree(f"{kind}:{_digest({'': digest, **beside})}", tree.files, beside)


def _digest(files: Mapping[str, str]) -> str:
    text = "\0".join(part for pair in sorted(files.items()) for part in pair)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def changed_sources(before: Tree, after: Tree) -> tuple[str, ...]:
    """Return the Python files and pytest configurations of `before` that are missing or changed."""
    return tuple(
        sorted(path for path, content in before.files.items() if is_source(path) and after.files.get(path) != content)
    )


def changed_paths(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Return the added, removed and changed files, sorted."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


# --- which files changed since the last run: a cache, so a missing or damaged one means that the changes are unknown


#: Above this number of files they are not saved, because every run would become slower.
_MOST = 20_000
#: How many names are shown: enough to see what was tried.
_NAMED = 20


def changed_before_run(folder: Path, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the first files that changed since the last run, to show them; None if that is unknown."""
    before = load_value(Tree, _last_run_file(folder))
    return None if before is None else changed_paths(before.files, files)[:_NAMED]


def changed_since_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that changed since the last run; empty if that is unknown.

    :param tree: the digest of the files after that run.
    """
    before = load_value(Tree, _last_run_file(folder))
    return changed_paths(before.files, files) if before is not None and before.digest == tree else ()


def save_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Save the content ids after a run, unless there are too many files. Failures are ignored."""
    if len(files) <= _MOST:
        save_cache(_last_run_file(folder), Tree(tree, files))


def _last_run_file(folder: Path) -> Path:
    return folder / "cache" / "last-files.json"


# --- which paths count


def _state_matcher(top: str, state_folder: Path | None) -> Callable[[str], bool]:
    given = "" if state_folder is None else os.path.realpath(state_folder)
    # Relative for a folder below the root. Any other stays absolute and matches nothing: a state folder that contains
    # the root must not hide the sources.
    inside = given.removeprefix(os.path.join(top, "")).replace(os.sep, "/") + "/"

    def is_state(path: str) -> bool:
        if ".phase-gate" in path and ".phase-gate" in path.split("/"):  # the first test is cheap and mostly false
            return True
        return path.startswith(inside)

    return is_state


def _report_matcher(reports: Iterable[str]) -> Callable[[str], bool]:
    names = frozenset(reports)
    folders = tuple(name for name in names if name.endswith("/"))
    # A source stays visible, even if an option names it as a report.
    return lambda path: (path in names or path.startswith(folders)) and not is_source(path)


def compile_globs(globs: Iterable[str]) -> Callable[[str], bool]:
    """Return a matcher. As in a .gitignore, a pattern without a slash matches in any folder."""
    return _compile_globs(tuple(globs))


@functools.cache
def _compile_globs(globs: tuple[str, ...]) -> Callable[[str], bool]:
    # Two forms need no regular expression, which takes long to compile and to try on each of many files.
    ends = {glob: glob[1:] for glob in globs if glob.startswith("*.") and not set(glob[1:]) & set("*?/")}
    starts = {glob: glob[:-2] for glob in globs if glob.endswith("/**") and not set(glob[:-3]) & set("*?./")}
    suffixes, folders = tuple(ends.values()), tuple(starts.values())
    others = [glob for glob in globs if glob not in ends and glob not in starts]
    if not others:
        return lambda path: path.endswith(suffixes) or path.startswith(folders)
    matches = re.compile("|".join(f"(?:{_glob_to_regex(glob)})" for glob in others), re.S).fullmatch
    return lambda path: path.endswith(suffixes) or path.startswith(folders) or matches(path) is not None


def _glob_to_regex(glob: str) -> str:
    regex = re.escape(glob.removeprefix("./").removeprefix("/") + ("**" if glob.endswith("/") else ""))
    # In this order, and on the escaped text: what is put in has none of these signs.
    for sign, meaning in ((r"\*\*/", "(?:.*/)?"), (r"\*\*", ".*"), (r"\*", "[^/]*"), (r"\?", "[^/]")):
        regex = regex.replace(sign, meaning)
    return regex if "/" in glob else f"(?:.*/)?{regex}"


def list_matcher(files: Iterable[str]) -> Callable[[str], bool]:
    """Return a matcher for the files that a task lists: paths, folders, or globs from the root."""
    plain = {each.rstrip("/") for each in files if not set(each) & set("*?")}
    globs = compile_globs(f"/{each.removeprefix('/')}" for each in files if set(each) & set("*?"))
    folders = tuple(f"{each}/" for each in plain)
    return lambda path: path in plain or path.startswith(folders) or globs(path)


# --- content ids: git's name for the same bytes, so that files can be compared with a commit without reading its blobs.
# git's filters, index and settings are not used, so that they can't hide an edit. They are cached by size, times and
# inode; without the cache, every file is read

#: The id of a file that can't be read.
UNREADABLE = "unreadable"
#: Precedes the hash of a link's target: a file with the link's text as its content is different.
LINK = "link:"

#: Increase it whenever the same file gets another id.
SCHEMA = 2
#: The coarsest file times (FAT) have a resolution of two seconds.
RACY_NS = 2_000_000_000
#: Bytes to read at a time.
_PART = 1 << 20
#: Bound at import, because a test may leave it mocked.
_open = open


class Contents:
    """The content ids of files below a folder. Files that are unchanged since an earlier process are not read again."""

    def __init__(self, top: str, file: Path | None = None, *, key: bytes | None = None) -> None:
        """Load the cache.

        :param file: the cache file.
        :param key: signs the cache, if one is set.
        """
        #: Taken before any file is read: a file that changes later may change again with the same times.
        self._started = time.time_ns()
        self._below, self._file, self._key = os.path.join(top, ""), file, key or b""
        self._written, self._known = self._load()
        self._seen: dict[str, list[int | str]] = {}
        self._is_stale = False

    def find(self, path: str, *, follow: bool = False) -> str | None:
        """Return the content id of a file; None if it is missing.

        :param follow: use the content of a link's target, not the target's name.
        """
        full = self._below + path
        try:
            status = os.stat(full) if follow else os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                return LINK + name_blob(os.fsencode(os.readlink(full)))
            if not stat.S_ISREG(status.st_mode):
                return None
            facts = [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]
            known = self._known.get(path)
            is_settled = max(status.st_mtime_ns, status.st_ctime_ns) + RACY_NS <= self._written
            if is_settled and known is not None and known[:-1] == facts:
                self._seen[path] = known
                return str(known[-1])
            found = _hash_file(full)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return UNREADABLE
        self._is_stale = True
        self._seen[path] = [*facts, found]
        return found

    def save(self, state_folder: Path | None) -> None:
        """Save the cache, and make its folder inside an existing state folder. Failures are ignored."""
        file = self._file
        if file is None or not (self._is_stale or self._seen.keys() != self._known.keys()):
            return
        document = dumps([SCHEMA, self._started, self._seen], separators=(",", ":")).encode("ascii")
        # Failing costs only speed. No fsync either, because a damaged cache is ignored.
        with contextlib.suppress(StorageError):
            # Never make the state folder itself: a run that records nothing leaves no trace.
            if state_folder is not None and state_folder in file.parents and exists(state_folder):
                make_folder(REAL, file.parent)
            write_atomically(REAL, file, self._sign(document) + document, durable=False)

    def _load(self) -> tuple[int, Mapping[str, list[int | str]]]:
        try:
            text = (None if self._file is None else read_bytes(self._file)) or b""
            signature, document = text[:64], text[64:]
            if signature != self._sign(document):
                return 0, {}
            schema, written, known = loads(document)
        except (StorageError, ValueError):
            return 0, {}
        return (written, known) if schema == SCHEMA else (0, {})

    def _sign(self, document: bytes) -> bytes:
        """Return a signature, which only a holder of the key can make if one is set."""
        key = blake2b(self._below.encode("utf-8", "surrogatepass") + b"\0" + self._key, digest_size=32).digest()
        return blake2b(document, key=key, digest_size=32).hexdigest().encode("ascii")


def name_blob(content: bytes) -> str:
    """Return the content id of bytes."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def is_shown(path: str, files: Mapping[str, str]) -> bool:
    """Return whether a tree includes a file's content. For a link it only has the target's name."""
    return not files.get(path, LINK).startswith(LINK)


def changed_before(top: str, path: str, at: float) -> bool:
    """Return whether a file exists and last changed before that time, so that the run did not create it."""
    try:
        # The change time can't be set by hand, unlike the modification time.
        return os.stat(os.path.join(top, path)).st_ctime < at
    except OSError:
        return False


def _hash_file(path: str) -> str:
    with _open(path, "rb") as file:
        hashed = sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size, usedforsecurity=False)
        while part := file.read(_PART):
            hashed.update(part)
    return hashed.hexdigest()


def take_contents(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return path -> content id. Missing files are left out."""
    contents = Contents(str(root))
    return {path: found for path in paths if (found := contents.find(path)) is not None}
