"""Prove the tests of a change against an earlier revision, without phases. For pull requests.

The targets are the tests that are new or changed since the revision. The control has the sources of the revision and
the current tests.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from phase_gate.evidence.context import ignore
from phase_gate.gate.inventory import join_id, split_id
from phase_gate.proof.experiment import COMPILED, Show, make_proof
from phase_gate.proof.trial import Trial
from phase_gate.proof.verdicts import MEANINGS, Proof, TargetProof, Targets
from phase_gate.source.body_hash import hash_body
from phase_gate.source.criterion_marks import guards_in_source
from phase_gate.source.pytest_settings import FILES, file_patterns, is_test_side, matches, pytest_section
from phase_gate.source.tests import SourceTest, find_tests, parse_source
from phase_gate.storage.fingerprint import compile_globs
from phase_gate.storage.git_command import blobs_of, find_commit, read_blobs
from phase_gate.storage.snapshots import FileSnapshot
from phase_gate.values import Value, replace
from phase_gate.visible import count

#: Python files for tools, which no test depends on.
_OF_TOOLS = frozenset({"setup.py", "noxfile.py", "conf.py"})
_INSTALL = "install the project first (pip install -e .), or name its folder as `pythonpath` in pytest's settings"


class Change(Value):
    """The tests and files of a change."""

    root: Path
    #: The revision to compare with, as the user typed it, and the commit where the change branched off.
    base: str
    commit: str
    #: Path -> content id: of the current files, and of the commit.
    now: Mapping[str, str]
    then: Mapping[str, str]
    #: New or changed test functions -> their first line.
    lines: Mapping[str, int]
    #: Those of them that existed before, with a different body.
    old: frozenset[str] = frozenset()
    #: Other new tests: those that are marked as passing already, and those that were moved with the same body.
    marked: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    #: How many new or changed tests the user left out.
    left_out: int = 0
    #: Test files.
    tests: frozenset[str] = frozenset()
    #: No source changed that a test could depend on.
    has_only_tests: bool = False


def find_change(root: Path, revision: str, now: Mapping[str, str], *, left_out: Iterable[str] = ()) -> Change:
    """Return the tests and files of a change. Raises NotAllowedError if the revision does not exist.

    :param now: path -> content id of the current files.
    :param left_out: globs of files whose tests are ignored.
    """
    commit = find_commit(root, revision)
    then, patterns = blobs_of(root, commit), _patterns(root)
    tests = frozenset(path for path in {*now, *then} if _has_tests(root, path, patterns))
    # `now` never includes documents.
    deleted = [path for path in then.keys() - now.keys() if not os.path.lexists(root / path)]
    there = {*now, *deleted}
    differing = sorted(path for path in there if now.get(path) != then.get(path))
    changed = [path for path in differing if path in tests and path.endswith(".py")]
    texts = read_blobs(root, commit, changed)
    before: dict[str, str] = {}
    after: dict[str, SourceTest] = {}
    guards: set[str] = set()
    for path in changed:
        before |= {join_id(path, test.name): test.body for test in _tests(texts.get(path, b""))}
        present = _read(root / path) if path in now else b""
        if found := _tests(present):
            after |= {join_id(path, test.name): test for test in found}
            guards |= {join_id(path, name) for name in guards_in_source(parse_source(present))}
    # A test has moved if its body was elsewhere and is no longer there.
    free = {body for test_id, body in before.items() if test_id not in after or after[test_id].body != body}
    is_left_out = compile_globs(tuple(left_out))
    lines: dict[str, int] = {}
    marked: list[str] = []
    moved: list[str] = []
    excluded = 0
    for test_id, test in after.items():
        if before.get(test_id) == test.body:
            continue
        if is_left_out(split_id(test_id)[0]):
            excluded += 1
        elif test.body in free:
            moved.append(test_id)
        elif test_id in guards:
            marked.append(test_id)
        else:
            lines[test_id] = test.line
    return Change(
        root=root,
        base=revision,
        commit=commit,
        now=now,
        then=then,
        lines=lines,
        old=frozenset(before.keys() & lines.keys()),
        marked=tuple(marked),
        moved=tuple(moved),
        left_out=excluded,
        tests=tests,
        has_only_tests=not _changes_sources(root, commit, {*differing} - tests, {*now, *then} - tests),
    )


def _has_tests(root: Path, path: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a file belongs to the tests, also in projects with their own file name patterns."""
    # A pattern such as *.py matches every source, so only files that contain tests count.
    is_named = path.endswith(".py") and matches(path, patterns)
    return is_test_side(path) or (is_named and any(_tests(_read(root / path))))


def _patterns(root: Path) -> tuple[str, ...]:
    texts = ((name, _read(root / name).decode("utf-8", "replace")) for name in FILES)
    return next((found for name, text in texts if text and (found := file_patterns(name, text))), ())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _tests(source: bytes) -> tuple[SourceTest, ...]:
    try:
        return find_tests(source, functions=("test",), classes=("*",))
    except SyntaxError:
        return ()


def _changes_sources(root: Path, commit: str, changed: Collection[str], sources: Collection[str]) -> bool:
    """Return whether anything changed that a test could depend on: code, apart from its formatting, or data files."""

    def is_code(path: str) -> bool:
        return path.endswith((".py", *COMPILED)) and posixpath.basename(path) not in _OF_TOOLS

    folders = {posixpath.dirname(path) for path in sources if is_code(path)} - {""}
    code = [path for path in changed if path.endswith(".py") and is_code(path)]
    data = [PurePosixPath(path) for path in changed if not path.endswith(".py")]
    if any(path.suffix in COMPILED or not folders.isdisjoint(map(str, path.parents)) for path in data):
        return True
    before = read_blobs(root, commit, code)
    try:
        return any(
            path not in before or hash_body(parse_source(before[path])) != hash_body(parse_source(_read(root / path)))
            for path in code
        )
    except SyntaxError:
        return True


def settings_of_root(root: Path) -> tuple[str, ...]:
    """Return options that make pytest use the root's settings where it would use those of a subfolder.

    pytest searches for settings upwards from the files on its command line. Users run it for the whole project.
    """
    top = root.resolve()
    for folder in (top, *top.parents):
        for name in FILES:
            text = _read(folder / name).decode("utf-8", "replace")
            if text and pytest_section(name, text) is not None:
                return (f"--rootdir={folder}", "-c", str(folder / name))
    return (f"--rootdir={top}", "-c", os.devnull)


# --- the proof of a change


def prove_change(change: Change, *, seconds: float, show: Show = ignore) -> Proof:
    """Return the proof of the change's tests."""
    if not change.lines:
        return Proof()
    trial = Trial(
        root=change.root,
        targets=tuple(change.lines),
        then=FileSnapshot(files=dict(change.then), commit=change.commit),
        now=change.now,
        frozen=change.tests,
        seconds=seconds,
        as_now=change.tests,
        is_change=True,
        words=settings_of_root(change.root),
        # If no source changed, the control would equal the treatment.
        has_control=not change.has_only_tests,
    )
    proof = make_proof(trial, show=show)
    # Any folder may be on the import path, for example the folder of one package in a monorepo.
    files = [path for path in (*change.now, *change.then) if path.endswith(".py")]
    own = {part for path in files for part in path.rpartition(".")[0].split("/")}
    missing = {each.missing if each.treatment in ("fails", "unknown") else "" for each in proof.targets}
    if missing and missing <= own:
        return Proof(problem=f"no module named {min(missing)!r}: {_INSTALL}")
    targets = tuple(_settle(each, change, own) for each in proof.targets)
    return replace(proof, targets=_tolerate(targets, change.old))


def _settle(target: TargetProof, change: Change, own: Collection[str]) -> TargetProof:
    """Return the target with another verdict if it can't be compared with the earlier revision.

    :param own: names of the project's own modules.
    """
    if change.has_only_tests and target.treatment == "passes" and target.verdict != "cannot-fail":
        return replace(target, verdict="no-change", control="passes")
    top = target.missing.partition(".")[0]
    if target.verdict == "proven" and top and top not in own:
        return replace(target, verdict="unknown", why=f"the earlier revision does not import: no module {top!r}")
    return target


def _tolerate(targets: Targets, old: Collection[str]) -> Targets:
    """Return the targets. Those that pass without the change are tolerated, unless the change has no others.

    A test may guard code that works already while others need the change, and an old test may be reworded.

    :param old: targets that existed before.
    """
    ran = [each for each in targets if each.verdict != "skipped"]
    if all(each.verdict == "passes-without" for each in ran) and any(each.id not in old for each in ran):
        return targets
    return tuple(replace(each, is_tolerated=each.verdict == "passes-without") for each in targets)


def sum_up(proof: Proof, change: Change) -> str:
    """Return a one-line summary of what the change's tests show."""
    if not change.lines and change.left_out:
        left = f"--exclude leaves out {count(change.left_out, 'test')}"
        return f"{left}, no other one is new or changed since {change.base}: nothing to prove"
    if not change.lines:
        return f"no test is new or changed since {change.base}: nothing to prove"
    total, needing = len(proof.targets), sum(each.has("needs") for each in proof.targets)
    if proof.count("no-change") == total:
        passing, compared = ("passes", "it") if total == 1 else ("pass", "them")
        them = f"{total} {passing}, and there is nothing to compare {compared} with"
        return f"only tests changed since {change.base}: {them}"
    parts = [f"{needing} of {count(total, 'test')} {'needs' if 1 in (needing, total) else 'need'} the change"]
    parts += [
        f"{many} {meaning.one if many == 1 else meaning.several}"
        for verdict, meaning in MEANINGS.items()
        if meaning.one and (many := proof.count(verdict))
    ]
    return "; ".join(parts)
