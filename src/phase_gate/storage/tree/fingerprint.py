"""Take the fingerprint of the sources: the names and contents of all files that count.

With git, these are all files that git does not ignore, tracked or not, except documents and outputs of common tools,
which are recognized by name. Without git, only sources and configuration files count, because it is unknown which other
files belong to the project. Contents are always read from disk.

Staging, committing and touching a file do not change the fingerprint; editing, renaming, adding and deleting do. File
modes do not count: pytest does not execute files, and checkouts on other systems have other modes.
"""

from __future__ import annotations

import functools
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from phase_gate.bound import sha256
from phase_gate.storage.files import load_value, save_cache
from phase_gate.storage.tree.contents import Contents, is_shown
from phase_gate.storage.tree.git_command import NoGitError
from phase_gate.storage.tree.listing import is_output, is_source, list_with_git, walk_sources
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
    before = _load_last_run(folder)
    return None if before is None else changed_paths(before.files, files)[:_NAMED]


def changed_since_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that changed since the last run; empty if that is unknown.

    :param tree: the digest of the files after that run.
    """
    before = _load_last_run(folder)
    return changed_paths(before.files, files) if before is not None and before.digest == tree else ()


def save_last_run(folder: Path, tree: str, files: Mapping[str, str]) -> None:
    """Save the content ids after a run, unless there are too many files. Failures are ignored."""
    before = _load_last_run(folder)
    if len(files) <= _MOST and (before is None or before.digest != tree):
        save_cache(_last_run_file(folder), Tree(tree, files))


def _load_last_run(folder: Path) -> Tree | None:
    return load_value(Tree, _last_run_file(folder))


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


def _report_matcher(reports: Iterable[str], is_source: Callable[[str], bool]) -> Callable[[str], bool]:
    names = frozenset(reports)
    folders = tuple(name for name in names if name.endswith("/"))
    # A source stays visible, even if an option names it as a report.
    return lambda path: (path in names or path.startswith(folders)) and not is_source(path)


def compile_globs(globs: Iterable[str]) -> Callable[[str], bool]:
    """Return a matcher. As in a .gitignore, a pattern without a slash matches in any folder."""
    return _compile_globs(tuple(globs))


@functools.cache
def _compile_globs(globs: tuple[str, ...]) -> Callable[[str], bool]:
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
    """Return a matcher for the files that a task lists: paths, folders, or globs from the root."""
    plain = {each.rstrip("/") for each in files if not set(each) & set("*?")}
    globs = compile_globs(f"/{each.removeprefix('/')}" for each in files if set(each) & set("*?"))
    folders = tuple(f"{each}/" for each in plain)
    return lambda path: path in plain or path.startswith(folders) or globs(path)
