"""Prove the tests of a change against an earlier revision, without any phases: for pull requests.

The tests are those that are new or changed since the revision. In the control the sources are the revision's and
the tests are the present ones.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from phase_gate.errors import NotAllowedError
from phase_gate.gate.inventory import join_id, split_id
from phase_gate.proof.excuses import excuse_broken_base, excuse_outside, excuse_shared_files
from phase_gate.proof.making import Show, make_proof
from phase_gate.proof.model import Proof
from phase_gate.proof.trial import Trial
from phase_gate.source.criteria import PASSES_ALREADY
from phase_gate.source.pytest_settings import FILES, file_patterns, is_test_side, matches, pytest_section
from phase_gate.source.tests import find_tests, parse_source
from phase_gate.storage.keeping import Kept
from phase_gate.storage.references import ask_git, blobs_of, find_commit
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import read_blobs
from phase_gate.values import Value, replace


class Change(Value):
    """What a change brings, as far as tests go."""

    commit: str
    #: New or changed test functions.
    targets: tuple[str, ...]
    #: Those that are marked as passing already, with or without the change.
    marked: tuple[str, ...] = ()
    #: Those whose body stood elsewhere before.
    moved: tuple[str, ...] = ()


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
        return named and any(_bodies(_read_text(root / path).encode("utf-8", "surrogateescape")))

    return is_test


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def find_change(
    root: Path, commit: str, now: Mapping[str, str], then: Mapping[str, str], *, left_out: Iterable[str] = ()
) -> Change:
    """Return the tests that a change brings.

    :param now: path -> content id, of the files as they are; `then` likewise, of the commit.
    :param left_out: globs of files whose tests are not asked for.
    """
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
    targets, marked, moved = [], [], []
    for path in sorted(changed):
        marks = _marked_tests(present[path])
        for name, body in _bodies(present[path]):
            test_id = join_id(path, name)
            if before.get(path, {}).get(name) == body:
                continue
            if free[body] > 0:
                free[body] -= 1
                moved.append(test_id)
            elif name in marks:
                marked.append(test_id)
            else:
                targets.append(test_id)
    return Change(commit=commit, targets=tuple(targets), marked=tuple(marked), moved=tuple(moved))


def _bodies(source: bytes) -> Iterator[tuple[str, str]]:
    try:
        for test in find_tests(source, functions=("test",), classes=("*",)):
            yield test.name, test.body
    except SyntaxError:
        return


def _marked_tests(source: bytes) -> set[str]:
    """Return the tests with the mark, by themselves or by their class."""
    found: set[str] = set()
    waiting: list[tuple[str, ast.AST, bool]]
    try:
        waiting = [("", parse_source(source), False)]
    except SyntaxError:
        return found
    while waiting:
        prefix, parent, is_marked = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            has_mark = is_marked or any(PASSES_ALREADY in ast.unparse(each) for each in node.decorator_list)
            if isinstance(node, ast.ClassDef):
                waiting.append((f"{prefix}{node.name}::", node, has_mark))
            elif has_mark:
                found.add(prefix + node.name)
    return found


def prove_against(
    root: Path,
    revision: str,
    files: Mapping[str, str],
    *,
    seconds: float,
    at: str,
    show: Show = lambda text: None,
    keep_in: Path | None = None,
) -> Proof:
    """Return what the experiment shows about the tests since a revision, or why there is nothing to compare with."""
    try:
        commit = find_commit(root, revision)
    except NotAllowedError as error:
        return Proof(problem=f"{error.problem}; try: {error.remedy}", at=at)
    before = blobs_of(root, commit)
    change = find_change(root, commit, files, before)
    proof = prove_change(root, change, files, before, seconds=seconds, at=at, show=show, keep_in=keep_in)
    if not change.targets:
        return replace(proof, notes=(f"no test is new or changed since {revision}: nothing to prove",))
    return proof


def prove_change(
    root: Path,
    change: Change,
    now: Mapping[str, str],
    then: Mapping[str, str],
    *,
    seconds: float,
    at: str,
    show: Show = lambda text: None,
    keep_in: Path | None = None,
) -> Proof:
    """Return what the experiment shows about the change's tests."""
    if not change.targets:
        return Proof(at=at)
    is_test = find_test_side(root)
    trial = Trial(
        root=root,
        targets=change.targets,
        then=Kept(files=dict(then), commit=change.commit),
        now=now,
        frozen=frozenset(path for path in {*now, *then} if is_test(path)),
        seconds=seconds,
        has_present_tests=True,
        outside=_changed_outside(root, change.commit),
        options=settings_of_root(root, change.targets),
    )
    proof = make_proof(trial, at=at, show=show, keep_in=keep_in)
    proof = excuse_broken_base(proof, _top_modules((*now, *then)), is_test)
    files = sorted({split_id(each.id)[0] for each in proof.targets if each.verdict == "passes-without"})
    if not files:
        return proof
    texts = {path: (root / path).read_bytes() for path in files}
    sources = _top_modules(path for path in (*now, *then) if not is_test(path))
    known = [path for path in files if path in then]
    proof = excuse_shared_files(proof, texts, read_blobs(root, change.commit, known), sources)
    return excuse_outside(proof)


def _top_modules(paths: Iterable[str]) -> set[str]:
    # Any folder may be one that modules are looked for in: that of a package among several, say.
    return {part for path in paths if path.endswith((".py", ".pyi")) for part in path.rpartition(".")[0].split("/")}


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
    """Return the changed sources of the repository that lie outside of the root: real path -> path from its top."""
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
