"""Prove the tests of a change against an earlier revision, without any phases: for pull requests.

The tests are those that are new or changed since the revision. In the control the sources are the revision's and
the tests are the present ones.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from phase_gate.errors import NotAllowedError
from phase_gate.gate.inventory import join_id, split_id
from phase_gate.proof.excuses import (
    COMPILED,
    changed_code,
    compare_with_nothing,
    excuse_broken_base,
    excuse_outside,
    excuse_shared_files,
    find_uninstalled,
    tolerate,
)
from phase_gate.proof.experiment import outcome_of
from phase_gate.proof.making import Experiment, Show, make_proof
from phase_gate.proof.model import Outcome, Proof, Verdict
from phase_gate.proof.sandbox import NoSandboxError
from phase_gate.proof.trial import Trial
from phase_gate.source.body_hash import hash_body
from phase_gate.source.criteria import PASSES_ALREADY, guards_in_source
from phase_gate.source.pytest_settings import FILES, file_patterns, is_test_side, matches, pytest_section, refuses_mark
from phase_gate.source.tests import SourceTest, find_tests, parse_source
from phase_gate.storage.keeping import Kept, LostError
from phase_gate.storage.references import ask_git, blobs_of, find_commit
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.storage.tree.git import read_blobs
from phase_gate.values import Value, field, replace
from phase_gate.visible import count


class Change(Value):
    """What a change brings, as far as tests go."""

    commit: str
    #: New or changed test functions.
    targets: tuple[str, ...]
    #: Those of them that stood there before, with another body.
    old: frozenset[str] = frozenset()
    #: Those that are marked as passing already, with or without the change.
    marked: tuple[str, ...] = ()
    #: Those whose body stood elsewhere before.
    moved: tuple[str, ...] = ()
    #: Where the targets begin.
    lines: Mapping[str, int] = field(default_factory=dict)
    #: No source changed that a test could ask for.
    has_only_tests: bool = False
    #: Changed sources of the repository that lie outside of the project: real path -> path from its top.
    outside: Mapping[str, str] = field(default_factory=dict)
    #: What it is compared with, as the user says it.
    base: str = "the base"
    #: pytest refuses the mark for what passes already, unless our plugin is there.
    must_register: bool = False


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


def find_change(
    root: Path,
    revision: str,
    commit: str,
    now: Mapping[str, str],
    then: Mapping[str, str],
    *,
    left_out: Iterable[str] = (),
) -> Change:
    """Return the tests that a change brings.

    :param commit: where the change left the revision.
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
        commit=commit,
        targets=tuple(lines),
        old=frozenset(old),
        marked=tuple(marked),
        moved=tuple(moved),
        lines=lines,
        has_only_tests=not outside and not _changes_sources(root, commit, now, then, is_test),
        outside=outside,
        base=revision,
        must_register=any(refuses_mark(name, _read_text(root / name), PASSES_ALREADY) for name in FILES),
    )


def _tests(source: bytes) -> tuple[SourceTest, ...]:
    try:
        return find_tests(source, functions=("test",), classes=("*",))
    except SyntaxError:
        return ()


def _bodies(source: bytes) -> Iterator[tuple[str, str]]:
    return ((test.name, test.body) for test in _tests(source))


#: Python files that tools read, and no test asks for.
_OF_TOOLS = frozenset({"setup.py", "noxfile.py", "conf.py"})


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
    change = find_change(root, revision, commit, files, before)
    proof = prove_change(root, change, files, before, seconds=seconds, at=at, show=show, keep_in=keep_in)
    if proof.targets and proof.count(*_NEEDING) == len(proof.targets):
        return proof
    return replace(proof, notes=(*proof.notes, sum_up(proof, change)))


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
        outside=change.outside,
        options=settings_of_root(root, change.targets),
        # Where no source changed, with and without the change are the same.
        has_control=not change.has_only_tests,
    )
    proof = make_proof(trial, at=at, show=show, keep_in=keep_in)
    own = _top_modules((*now, *then))
    if name := find_uninstalled(proof, own):
        return Proof(problem=f"no module named {name!r}: {_how_to_install(root)}", at=at)
    if change.has_only_tests:
        return compare_with_nothing(proof)
    proof = excuse_broken_base(proof, own, is_test)
    files = sorted({split_id(each.id)[0] for each in proof.targets if each.verdict == "passes-without"})
    texts = {path: (root / path).read_bytes() for path in files}
    sources = _top_modules(path for path in (*now, *then) if not is_test(path))
    known = [path for path in files if path in then]
    proof = excuse_shared_files(proof, texts, read_blobs(root, change.commit, known), sources)
    return tolerate(_try_old_versions(excuse_outside(proof), trial, change, show), change.old)


def _how_to_install(root: Path) -> str:
    where = "name its folder as `pythonpath` in pytest's settings"
    can_be_installed = any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    return f"install the project first (pip install -e .), or {where}" if can_be_installed else where


def _try_old_versions(proof: Proof, trial: Trial, change: Change, show: Show) -> Proof:
    """Return the proof with what the base versions of old tests say that pass with the change and without it."""
    ids = [each.id for each in proof.targets if each.verdict == "passes-without" and each.id in change.old]
    if not ids:
        return proof
    folders = tuple({posixpath.dirname(path) for path in trial.frozen} - {""})
    try:
        experiment = Experiment(replace(trial, has_present_tests=False, test_folders=folders), show)
        run = experiment.enter(experiment.sandboxes.treatment(), ids)
    except (LostError, NoSandboxError, OSError):
        return proof
    return replace(
        proof,
        starts=proof.starts + 1,
        targets=tuple(
            replace(each, old_version=outcome_of(each.id, run), why=_SAID_OF_OLD[outcome_of(each.id, run)])
            if each.id in ids
            else each
            for each in proof.targets
        ),
    )


#: How the base version of a test ends with the change -> what that says of the present one.
_SAID_OF_OLD: Mapping[Outcome, str] = {
    "passes": "it was changed without need, for its base version passes with the change, too",
    "fails": "its base version fails with the change, so see whether it checks less now",
    "skipped": "",
    "unknown": "",
}


def sum_up(proof: Proof, change: Change) -> str:
    """Return in a line what the change's tests say about it."""
    if not change.targets:
        return f"no test is new or changed since {change.base}: nothing to prove"
    passing = proof.count("no-change")
    if change.has_only_tests and passing == len(proof.targets):
        compared = "it" if passing == 1 else "them"
        them = f"{passing} pass{'es' if passing == 1 else ''}, and there is nothing to compare {compared} with"
        return f"only tests changed since {change.base}: {them}"
    all_of_them, needing = len(proof.targets), proof.count(*_NEEDING)
    said = [
        f"{needing} of {count(all_of_them, 'test')} {'needs' if 1 in (needing, all_of_them) else 'need'} the change"
    ]
    said += [
        f"{many} {one if many == 1 else several}"
        for verdict, (one, several) in _OTHERS.items()
        if (many := proof.count(verdict))
    ]
    return "; ".join(said)


#: It fails without the change and passes with it, whatever that shows.
_NEEDING: tuple[Verdict, ...] = ("proven", "checks-nothing", "nothing-raised")
#: What is said of one test that does not need the change, and of several.
_OTHERS: Mapping[Verdict, tuple[str, str]] = {
    "fails-with": ("fails with it", "fail with it"),
    "cannot-fail": ("can't fail", "can't fail"),
    "no-change": ("passes", "pass"),
    "passes-without": ("passes without it", "pass without it"),
    "flaky": ("is flaky", "are flaky"),
    "unknown": ("is unknown", "are unknown"),
    "skipped": ("is skipped", "are skipped"),
}


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
