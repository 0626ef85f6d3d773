"""Take the fingerprint of the sources: which files there are, and what is in them.

With git, every file counts that it does not ignore, tracked or not. Documents and outputs of common tools do not count,
by their names. Without git we walk, and take sources and configuration: nothing tells which other files belong to the
project. What is in them we always read ourselves.

Staging, committing and touching change nothing here; editing, renaming, adding and deleting do. A file's mode is not
part of it: pytest imports files and runs none, and checkouts on other systems have other modes.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from phase_gate.hashing import sha256
from phase_gate.storage.tree.contents import Contents, is_shown
from phase_gate.storage.tree.git import NoGitError
from phase_gate.storage.tree.names import list_with_git
from phase_gate.values import Value, field
from phase_gate.workflow.settings import DEFAULT_DOCS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


class Tree(Value, kw_only=False):
    """A fingerprint. The digest says how it was taken, too: `git:…` and `walk:…` can't be compared."""

    digest: str
    #: Path -> content id.
    files: Mapping[str, str]
    #: The same of files that neither git nor a walk shows, and that runs have imported.
    beside: Mapping[str, str] = field(default_factory=dict)


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
    :param cache_file: where contents are remembered; its folder is made if it lies in a state folder that is there.
    :param key: signs what is remembered, where one is set.
    """
    from phase_gate.storage.tree.outputs import is_output, is_source

    top = os.path.realpath(root)
    is_state, is_doc = _state_matcher(top, state_folder), compile_globs(docs)
    is_report = _report_matcher(reports, is_source)
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
        if counts(path, is_new=is_new) and (content := contents.find(path, is_new=is_new)) is not None:
            files[path] = content
    tree = _with_beside(Tree(f"{kind}:{_digest(files)}", files), contents, beside)
    contents.save(state_folder)
    return tree


def _list_names(top: str) -> tuple[str, Mapping[str, bool]]:
    """Return how files are listed, and path -> whether git does not track it."""
    try:
        return "git", list_with_git(top)
    except NoGitError:
        from phase_gate.storage.tree.names import walk_sources

        return "walk", dict.fromkeys(walk_sources(top), False)


def add_beside(tree: Tree, root: Path, paths: Iterable[str]) -> Tree:
    """Return the fingerprint with the contents of these files, as far as it does not show them already.

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
    """Return the Python files and pytest configurations of `before` that are gone or have another content."""
    from phase_gate.storage.tree.outputs import is_source

    return tuple(
        sorted(path for path, content in before.files.items() if is_source(path) and after.files.get(path) != content)
    )


def describe_difference(before: Mapping[str, str], after: Mapping[str, str]) -> Difference:
    """Return which files came, went and changed."""
    return Difference(
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(path for path in before.keys() & after.keys() if before[path] != after[path])),
    )


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
