"""Take the fingerprint of the sources: which files there are, and what is in them.

With git, every file counts that it does not ignore, tracked or not: git's index is a stat cache already, and for the
others we have one of our own. Documents and outputs of common tools do not count, by their names. Without git we walk,
and take sources and configuration: nothing tells which other files belong to the project.

Staging, committing and touching change nothing here; editing, renaming, adding and deleting do. A file's mode is not
part of it: pytest imports files and runs none, and checkouts on other systems have other modes.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from phase_gate.hashing import sha256
from phase_gate.storage.tree.git import NoGitError, foreign_filters, list_with_git
from phase_gate.storage.tree.known_tree import TreeMemory
from phase_gate.values import Value
from phase_gate.workflow.settings import DEFAULT_DOCS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: In the folder of caches: the tree of the last listing.
KNOWN_FILE = "known-tree.json"


class Tree:
    """A fingerprint. The digest says how it was taken, too: `git:…` and `walk:…` can't be compared."""

    __slots__ = ("_files", "beside", "digest", "submodules")

    def __init__(
        self,
        digest: str,
        files: Mapping[str, str] | Callable[[], Mapping[str, str]],
        *,
        beside: Mapping[str, str] | None = None,
        submodules: tuple[str, ...] | None = None,
    ) -> None:
        """Take what is known.

        :param files: path -> content id; or a call that returns them, for runs that seldom ask.
        :param beside: contents that neither git nor a walk shows, and that runs have imported.
        :param submodules: those that are checked out; None where git was not asked.
        """
        self.digest, self._files = digest, files
        self.beside: Mapping[str, str] = {} if beside is None else beside
        self.submodules = submodules

    @property
    def files(self) -> Mapping[str, str]:
        """Path -> content id."""
        if callable(self._files):
            self._files = self._files()
        return self._files

    def look(self) -> None:
        """List the files now: later they may be others, and a listing does not tell the contents of all."""
        self._files = self.files

    @property
    def shown(self) -> str:
        """The digest of what git or a walk shows, without what was imported beside it."""
        return f"{self.digest.partition(':')[0]}:{_digest(self.files)}" if self.beside else self.digest

    @property
    def is_gits(self) -> bool:
        """Whether git made the ids of the contents."""
        return self.digest.startswith("git:")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._all() == other._all()

    __hash__ = None  # type: ignore[assignment]

    def _all(self) -> tuple[object, ...]:
        return self.digest, self.files, self.beside, self.submodules


class Difference(Value):
    """Names of files, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


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

    :param always: paths relative to `root` that are part of it even if they are docs, outputs or ignored.
    :param beside: paths relative to `root` of files that runs have imported: they count even if nothing shows them.
    :param reports: paths relative to `root` of files that runs write by their options, or of folders with a slash.
    :param new_data: whether files count that git does not track and that are no sources.
    :param cache_file: what a walk remembers, and beside it what git can't; its folder is made if it lies in a state
        folder that is there.
    :param key: signs what is remembered of the tree as a whole, where one is set.
    """
    top, beside = os.path.realpath(root), sorted(beside)
    is_state = _state_matcher(top, state_folder)
    wanted = {name for name in map(posixpath.normpath, always) if not is_state(name)}
    reports = sorted(reports)
    try:
        listed = list_with_git(top)
        settings = (list(docs), sorted(wanted), reports, new_data, beside, sorted(foreign_filters(top)))
    except NoGitError:
        listed = None
    memory: TreeMemory | None = None
    if listed is not None and cache_file is not None:
        folder = None if state_folder is None else os.path.realpath(state_folder)
        memory = TreeMemory(cache_file.with_name(KNOWN_FILE), top, listed, (*settings, folder), key=key)

    def look() -> _Look:
        from phase_gate.storage.tree.outputs import is_output, is_source

        is_doc = compile_globs(docs)
        is_report = _report_matcher(reports, is_source)

        def keep(path: str) -> bool:
            return path in wanted or not (is_doc(path) or is_state(path) or is_output(path) or is_report(path))

        def keep_new(path: str) -> bool:
            return keep(path) and (new_data or path in wanted or path.endswith(".py"))

        return _look_at_files(top, keep, keep_new, wanted, listed, cache_file=cache_file, state_folder=state_folder)

    known = None if memory is None else memory.find()
    if known is not None:
        tree = Tree(known.digest, lambda: look().tree.files, submodules=())
        return _with_beside(tree, top, known.hidden)
    found = look()
    hidden = _find_hidden(beside, found.tree.files)
    if memory is not None and found.looked_at is not None:
        memory.keep(
            found.tree.digest,
            found.tree.files,
            looked_at=found.looked_at,
            hidden=hidden,
            state_folder=state_folder,
        )
    return _with_beside(found.tree, top, hidden)


class _Look(Value, kw_only=False):
    tree: Tree
    #: The files whose contents git's listing does not tell; None where it leaves more open than that.
    looked_at: frozenset[str] | None = None


def _look_at_files(
    top: str,
    keep: Callable[[str], bool],
    keep_new: Callable[[str], bool],
    wanted: set[str],
    listed: bytes | None,
    *,
    cache_file: Path | None,
    state_folder: Path | None,
) -> _Look:
    try:
        if listed is None:
            raise NoGitError
        from phase_gate.storage.tree.git_files import take_git_files

        cache_folder = None if cache_file is None else cache_file.parent
        found = take_git_files(
            top,
            keep,
            wanted,
            keep_new=keep_new,
            listed=listed,
            cache_folder=cache_folder,
            state_folder=state_folder,
        )
    except NoGitError:
        from phase_gate.storage.tree.walk import take_walked_files

        files = take_walked_files(top, keep, wanted, cache_file=cache_file, state_folder=state_folder)
        return _Look(Tree(f"walk:{_digest(files)}", files))
    return _Look(Tree(f"git:{_digest(found.files)}", found.files, submodules=found.submodules), found.looked_at)


def add_beside(tree: Tree, root: Path, paths: Iterable[str]) -> Tree:
    """Return the fingerprint with the contents of these files, as far as it does not show them already.

    :param paths: relative to `root`.
    """
    return _with_beside(tree, os.path.realpath(root), _find_hidden(sorted(paths), tree.files))


def _find_hidden(paths: Sequence[str], files: Mapping[str, str]) -> Sequence[str]:
    """Return the paths that the tree does not show."""
    if not paths:
        return ()
    from phase_gate.storage.tree.beside import is_shown

    return [path for path in paths if not is_shown(path, files)]


def _with_beside(tree: Tree, top: str, hidden: Sequence[str]) -> Tree:
    if not hidden:
        return tree
    from phase_gate.storage.tree.beside import take_beside

    beside = take_beside(top, hidden)
    if not beside:
        return tree
    kind, _, digest = tree.digest.partition(":")
    digest = f"{kind}:{_digest({'': digest, **beside})}"
    return Tree(digest, tree._files, beside=beside, submodules=tree.submodules)


def _digest(files: Mapping[str, str]) -> str:
    text = "\0".join(part for pair in sorted(files.items()) for part in pair)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def changed_sources(before: Tree, after: Tree) -> tuple[str, ...]:
    """Return the Python files and pytest configurations of `before` that are gone or have another content.

    If the trees were taken in two ways (git broke in between), that is all of them: doubt closes the gate.
    """
    from phase_gate.storage.tree.outputs import is_source

    return tuple(sorted(path for path in before.files if is_source(path) and _differs(path, before, after)))


def describe_difference(before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Return which files came, went and changed."""
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
    )


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


def _report_matcher(reports: Iterable[str], is_source: Callable[[str], bool]) -> Callable[[str], bool]:
    names = frozenset(reports)
    folders = tuple(name for name in names if name.endswith("/"))
    # An option that names a source would hide it.
    return lambda path: (path in names or path.startswith(folders)) and not is_source(path)


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


def list_matcher(files: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a path is one of those that a task lists: a path, a folder, or a glob from the root."""
    plain = {each.rstrip("/") for each in files if not set(each) & set("*?")}
    globs = compile_globs([f"/{each.removeprefix('/')}" for each in files if set(each) & set("*?")])
    folders = tuple(f"{each}/" for each in plain)
    return lambda path: path in plain or path.startswith(folders) or globs(path)
