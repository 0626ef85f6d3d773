"""Prove the tests of a change against an earlier revision, without any phases: for pull requests.

The tests are those that are new or changed since the revision. In the control the sources are the revision's and
the tests are the present ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from phase_gate.errors import NotAllowedError
from phase_gate.gate.inventory import split_id
from phase_gate.proof.change import Change, changed_code, find_change, find_test_side, settings_of_root
from phase_gate.proof.experiment import excuse, outcome_of
from phase_gate.proof.making import Experiment, Show, make_proof
from phase_gate.proof.model import Outcome, Proof, TargetProof, Verdict
from phase_gate.proof.sandbox import NoSandboxError
from phase_gate.proof.trial import Trial
from phase_gate.source.tests import parse_source
from phase_gate.storage.keeping import Kept, LostError
from phase_gate.storage.tree.git import read_blobs
from phase_gate.values import replace
from phase_gate.visible import count


def prove_against(
    root: Path,
    revision: str,
    files: Mapping[str, str],
    *,
    seconds: float,
    show: Show = lambda text: None,
    keep_in: Path | None = None,
) -> Proof:
    """Return what the experiment shows about the tests since a revision, or why there is nothing to compare with."""
    try:
        change = find_change(root, revision, files)
    except NotAllowedError as error:
        return Proof(problem=f"{error.problem}; try: {error.remedy}")
    proof = prove_change(change, seconds=seconds, show=show, keep_in=keep_in)
    if proof.targets and proof.count(*_NEEDING) == len(proof.targets):
        return proof
    return replace(proof, notes=(*proof.notes, sum_up(proof, change)))


def prove_change(
    change: Change, *, seconds: float, show: Show = lambda text: None, keep_in: Path | None = None
) -> Proof:
    """Return what the experiment shows about the change's tests."""
    if not change.targets:
        return Proof()
    root, paths = change.root, {*change.now, *change.then}
    is_test = find_test_side(root)
    trial = Trial(
        root=root,
        targets=change.targets,
        then=Kept(files=dict(change.then), commit=change.commit),
        now=change.now,
        frozen=frozenset(filter(is_test, paths)),
        seconds=seconds,
        has_present_tests=True,
        outside=change.outside,
        options=settings_of_root(root, change.targets),
        # Where no source changed, with and without the change are the same.
        has_control=not change.has_only_tests,
    )
    proof = make_proof(trial, show=show, keep_in=keep_in)
    own = _top_modules(paths)
    if name := _find_uninstalled(proof, own):
        return Proof(problem=f"no module named {name!r}: {_how_to_install(root)}")
    if change.has_only_tests:
        return _compare_with_nothing(proof)
    proof = replace(proof, targets=excuse(proof.targets, _find_excuses(change, proof.outside, own)))
    return _tolerate(_try_old_versions(proof, trial, change, show), change.old)


def _find_excuses(change: Change, outside: tuple[str, ...], own: Collection[str]) -> Callable[[TargetProof], str]:
    """Return what tells why a comparison with the earlier revision says nothing about a target; empty if it does.

    A reason is looked for only where it would change the answer.

    :param outside: changed sources of the repository outside of the project that were imported.
    :param own: the top-level modules that the project has or had.
    """
    is_test = find_test_side(change.root)
    sources = _top_modules(path for path in (*change.now, *change.then) if not is_test(path))

    @cache
    def find_code_in(file: str) -> str:
        """Return a changed function that stands in a file of tests, where that file uses no source."""
        now = (change.root / file).read_bytes()
        before = read_blobs(change.root, change.commit, [file]) if file in change.then else {}
        return "" if _imports(now, sources) else next(changed_code(before.get(file), now), "")

    def find(target: TargetProof) -> str:
        if target.verdict == "proven":
            # Its control failed because the earlier revision is broken here.
            top = target.missing.partition(".")[0]
            if top and top not in own:
                return f"the earlier revision does not import: no module {top!r}"
            if target.broken and not is_test(target.broken):
                return f"the earlier revision does not import: {target.broken}"
        elif target.verdict == "passes-without":
            if code := find_code_in(split_id(target.id)[0]):
                return f"{code} stands in the file of the test, so it can't be put back alone"
            if outside:
                return f"{outside[0]} changed, too, outside of this project: it is not put back"
        return ""

    return find


def _imports(source: bytes, modules: Collection[str]) -> bool:
    """Tell whether a file imports one of these, or something beside it in its package."""
    for node in ast.walk(parse_source(source)):
        if isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").partition(".")[0] in modules:
                return True
        elif isinstance(node, ast.Import) and any(each.name.partition(".")[0] in modules for each in node.names):
            return True
    return False


def _find_uninstalled(proof: Proof, modules: Collection[str]) -> str:
    """Return the project's own module that no target finds with the change; empty where some find it.

    :param modules: the top-level modules that the project has or had.
    """
    missing = {each.missing if each.treatment in ("fails", "unknown") else "" for each in proof.targets}
    return min(missing) if missing and missing <= {*modules} else ""


def _how_to_install(root: Path) -> str:
    where = "name its folder as `pythonpath` in pytest's settings"
    can_be_installed = any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    return f"install the project first (pip install -e .), or {where}" if can_be_installed else where


def _compare_with_nothing(proof: Proof) -> Proof:
    """Return the proof of a change without sources: what passes with it passes without it, and that says nothing."""
    return replace(
        proof,
        targets=tuple(
            replace(each, verdict="no-change", control=each.treatment)
            if each.treatment == "passes" and each.verdict != "cannot-fail"
            else each
            for each in proof.targets
        ),
    )


def _tolerate(proof: Proof, old: Collection[str]) -> Proof:
    """Return the proof with those targets tolerated that pass without the change, unless they are all that it has.

    A test may guard what works already where others need the change, and an old one may be worded otherwise.

    :param old: targets that were there before.
    """
    telling = [each for each in proof.targets if each.verdict != "skipped"]
    is_bare = all(each.verdict == "passes-without" for each in telling) and any(each.id not in old for each in telling)
    if is_bare:
        return proof
    return replace(
        proof,
        targets=tuple(
            replace(each, is_tolerated=True) if each.verdict == "passes-without" else each for each in proof.targets
        ),
    )


def _try_old_versions(proof: Proof, trial: Trial, change: Change, show: Show) -> Proof:
    """Return the proof with what the base versions of old tests say that pass with the change and without it."""
    ids = [each.id for each in proof.targets if each.verdict == "passes-without" and each.id in change.old]
    if not ids:
        return proof
    try:
        experiment = Experiment(replace(trial, has_present_tests=False), show)
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
