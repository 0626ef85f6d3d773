"""What a change since a revision brings, as far as tests go: which are new or changed, and whether a source is."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from phase_gate.gate.inventory import join_id, split_id
from phase_gate.proof.experiment import COMPILED
from phase_gate.source import PASSES_ALREADY
from phase_gate.source.body_hash import hash_body
from phase_gate.source.criteria import guards_in_source
from phase_gate.source.functions import find_changed
from phase_gate.source.pytest_settings import FILES, file_patterns, is_test_side, matches, pytest_section, refuses_mark
from phase_gate.source.tests import SourceTest, find_tests, parse_source
from phase_gate.storage.tree.commits import ask_git, blobs_of, find_commit
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import read_blobs
from phase_gate.values import Value

#: Python files that tools read, and no test asks for.
_OF_TOOLS = frozenset({"setup.py", "noxfile.py", "conf.py"})


class Change(Value):
    """What a change brings, as far as tests go."""

    root: Path
    #: What it is compared with, as the user says it; and where the change left that.
    base: str
    commit: str
    #: Path -> content id, of the files as they are; and of the commit.
    now: Mapping[str, str]
    then: Mapping[str, str]
    #: New or changed test functions, and where they begin.
    lines: Mapping[str, int]
    #: Changed sources of the repository that lie outside of the project: real path -> path from its top.
    outside: Mapping[str, str]
    #: Those of the tests that stood there before, with another body.
    old: frozenset[str] = frozenset()
    #: Other new tests: those that are marked as passing already, and those whose body stood elsewhere before.
    marked: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    #: No source changed that a test could ask for.
    has_only_tests: bool = False
    #: pytest refuses the mark for what passes already, unless our plugin is there.
    must_register: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.lines)


def find_change(root: Path, revision: str, now: Mapping[str, str], *, left_out: Iterable[str] = ()) -> Change:
    """Return what a change brings. Raises NotAllowedError where the revision is not there.

    :param now: path -> content id, of the files as they are.
    :param left_out: globs of files whose tests are not asked for.
    """
    commit = find_commit(root, revision)
    then = blobs_of(root, commit)
    is_left_out, is_test = compile_globs(tuple(left_out)), find_test_side(root)
    changed = [
        path
        for path, content in now.items()
        if path.endswith(".py") and is_test(path) and then.get(path) != content and not is_left_out(path)
    ]
    gone = [path for path in then if path.endswith(".py") and is_test(path) and now.get(path) != then[path]]
    before = {path: dict(_bodies(text)) for path, text in read_blobs(root, commit, gone).items()}
    present = {path: (root / path).read_bytes() for path in changed}
    # What stood elsewhere and is not there any more has moved: one new test is one old one at most.
    free = Counter(
        body
        for path, bodies in before.items()
        for name, body in bodies.items()
        if dict(_bodies(present.get(path, b""))).get(name) != body
    )
    lines: dict[str, int] = {}
    marked, moved, old = [], [], set()
    for path in sorted(changed):
        tests = _tests(present[path])
        marks = guards_in_source(parse_source(present[path])) if tests else {}
        for test in tests:
            test_id = join_id(path, test.name)
            if before.get(path, {}).get(test.name) == test.body:
                continue
            if free[test.body] > 0:
                free[test.body] -= 1
                moved.append(test_id)
            elif test.name in marks:
                marked.append(test_id)
            else:
                lines[test_id] = test.line
                old |= {test_id} if test.name in before.get(path, ()) else set()
    outside = _changed_outside(root, commit)
    return Change(
        root=root,
        base=revision,
        commit=commit,
        now=now,
        then=then,
        lines=lines,
        old=frozenset(old),
        marked=tuple(marked),
        moved=tuple(moved),
        has_only_tests=not outside and not _changes_sources(root, commit, now, then, is_test),
        outside=outside,
        must_register=any(refuses_mark(name, _read_text(root / name), PASSES_ALREADY) for name in FILES),
    )


def find_test_side(root: Path) -> Callable[[str], bool]:
    """Return what tells files of the tests from sources, also where the project names its tests otherwise."""
    texts = ((name, _read_text(root / name)) for name in FILES)
    patterns = next((found for name, text in texts if text and (found := file_patterns(name, text))), ())

    @cache
    def is_test(path: str) -> bool:
        if is_test_side(path):
            return True
        # A pattern such as *.py takes in every source: those with tests in them count.
        named = path.endswith(".py") and matches(path, patterns)
        return named and any(_tests(_read(root / path)))

    return is_test


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _read_text(path: Path) -> str:
    return _read(path).decode("utf-8", "surrogateescape")


def _tests(source: bytes) -> tuple[SourceTest, ...]:
    try:
        return find_tests(source, functions=("test",), classes=("*",))
    except SyntaxError:
        return ()


def _bodies(source: bytes) -> Iterator[tuple[str, str]]:
    return ((test.name, test.body) for test in _tests(source))


def _changes_sources(
    root: Path, commit: str, now: Mapping[str, str], then: Mapping[str, str], is_test: Callable[[str], bool]
) -> bool:
    """Tell whether something changed that a test could ask for: code that means something else now, or its data."""
    changed = {path for path, content in now.items() if then.get(path) != content}
    # Documents are never among the present files.
    changed |= {path for path in then.keys() - now.keys() if not os.path.lexists(root / path)}
    changed = {path for path in changed if not is_test_side(path)}
    folders = {posixpath.dirname(path) for path in (*now, *then) if _is_code(path) and not is_test_side(path)} - {""}
    if any(path.endswith(COMPILED) for path in changed):
        return True
    data = (PurePosixPath(path) for path in changed if not path.endswith(".py"))
    if not folders.isdisjoint(str(folder) for path in data for folder in path.parents):
        return True
    code = sorted(path for path in changed if path.endswith(".py") and _is_code(path))
    before = read_blobs(root, commit, [path for path in code if path in then])
    return any(_means_something_else(before.get(path), _read(root / path), has_tests=is_test(path)) for path in code)


def _is_code(path: str) -> bool:
    return path.endswith((".py", *COMPILED)) and posixpath.basename(path) not in _OF_TOOLS


def _means_something_else(before: bytes | None, now: bytes, *, has_tests: bool) -> bool:
    try:
        if has_tests:
            return any(changed_code(before, now))
        return before is None or hash_body(parse_source(before)) != hash_body(parse_source(now))
    except SyntaxError:
        return True


def changed_code(before: bytes | None, now: bytes) -> Iterator[str]:
    """Yield the new or changed functions that are neither tests nor parts of them."""
    tests = {test.name.partition("::")[0] for test in find_tests(now, functions=("test",), classes=("*",))}
    for function in find_changed(before, now):
        if not function.left_out and function.name.partition(".")[0] not in tests:
            yield function.name


def settings_of_root(root: Path, targets: Iterable[str]) -> tuple[str, ...]:
    """Return what makes pytest follow the settings of the root where it would take those of a folder below it.

    It looks for them from the files upwards that it is asked for, and a user asks for the whole project.
    """
    top = root.resolve()
    folders = {folder for each in targets for folder in (top / split_id(each)[0]).parents if top in folder.parents}
    if not any((folder / name).exists() for folder in folders for name in (*FILES, "setup.py")):
        return ()
    for folder in (top, *top.parents):
        for name in FILES:
            if (text := _read_text(folder / name)) and pytest_section(name, text) is not None:
                return (f"--rootdir={folder}", "-c", str(folder / name))
    return (f"--rootdir={top}", "-c", os.devnull)


def _changed_outside(root: Path, commit: str) -> dict[str, str]:
    """Return the changed sources of the repository that lie outside of the root."""
    prefix = ask_git(root, "rev-parse", "--show-prefix")
    if not prefix:
        return {}
    top = os.path.realpath(ask_git(root, "rev-parse", "--show-toplevel"))
    names = ask_git(root, "diff", "--name-only", "--no-relative", "-z", commit).split("\0")
    return {
        os.path.realpath(os.path.join(top, each)): each
        for each in names
        if each.endswith(".py") and not each.startswith(prefix) and not is_test_side(each)
    }
