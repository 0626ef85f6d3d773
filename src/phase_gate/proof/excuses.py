"""What keeps a comparison with an earlier revision from saying something about a target: then it is unknown.

Pure: texts and proofs in, proofs out. A reason is looked for only where it would change the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

from phase_gate.gate.inventory import split_id
from phase_gate.proof.model import Proof, TargetProof, Verdict
from phase_gate.source.functions import find_changed
from phase_gate.source.tests import find_tests, parse_source
from phase_gate.values import replace


def excuse_broken_base(proof: Proof, modules: Collection[str], is_test: Callable[[str], bool]) -> Proof:
    """Return the proof with those targets unknown whose control failed because the earlier revision is broken here.

    :param modules: the top-level modules that the project has or had.
    :param is_test: tells files of tests from sources.
    """

    def why(target: TargetProof) -> str:
        top = target.missing.partition(".")[0]
        if top and top not in modules:
            return f"the earlier revision does not import: no module {top!r}"
        if target.broken and not is_test(target.broken):
            return f"the earlier revision does not import: {target.broken}"
        return ""

    return _excuse(proof, "proven", why)


def excuse_shared_files(
    proof: Proof, now: Mapping[str, bytes], before: Mapping[str, bytes], sources: Collection[str]
) -> Proof:
    """Return the proof with those targets unknown that pass without the change because it lies in their own file.

    :param now: path -> text, of the changed files with tests; `before` likewise, as far as they were there.
    :param sources: top-level modules of the project that hold no tests.
    """

    def why(target: TargetProof) -> str:
        file = split_id(target.id)[0]
        if file not in now or _imports(now[file], sources):
            return ""
        names = list(changed_code(before.get(file), now[file]))
        return f"{names[0]} stands in the file of the test, so it can't be put back alone" if names else ""

    return _excuse(proof, "passes-without", why)


def excuse_outside(proof: Proof) -> Proof:
    """Return the proof with those targets unknown that may pass without the change because they used it elsewhere."""
    if not proof.outside:
        return proof
    said = f"{proof.outside[0]} changed, too, outside of this project: it is not put back"
    return _excuse(proof, "passes-without", lambda target: said)


#: Sources of compiled modules.
COMPILED = (
    *(".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hpp", ".m", ".mm"),
    *(".pyx", ".pxd", ".pxi", ".rs", ".go", ".zig", ".f", ".for", ".f90", ".f95"),
)


def excuse_built(proof: Proof, built: Collection[str], needed: Collection[str], changed: Collection[str]) -> Proof:
    """Return the proof with those targets unknown that may pass without the change as nothing is built in a sandbox.

    :param built: the compiled modules of the project that were imported without the change.
    :param needed: those that the targets can't do without although their sources have changed.
    :param changed: the files that are not what they were.
    """
    if needed:
        return _excuse(proof, "proven", lambda target: _say_built(min(needed), f"{min(needed).partition('.')[0]}.py"))
    # A module of Python may be compiled, too: it has the same name.
    stems = {path.partition(".")[0] for path in built}
    sources = sorted(
        path for path in changed if path.endswith(COMPILED) or (path.endswith(".py") and path[:-3] in stems)
    )
    if not built or not sources:
        return proof
    return _excuse(proof, "passes-without", lambda target: _say_built(min(built), sources[0]))


def _say_built(module: str, source: str) -> str:
    return f"{module} is as it was built last, and {source} has changed: nothing is built in a sandbox"


def find_uninstalled(proof: Proof, modules: Collection[str]) -> str:
    """Return the project's own module that no target finds with the change; empty where some find it.

    :param modules: the top-level modules that the project has or had.
    """
    missing = {each.missing if each.treatment in ("fails", "unknown") else "" for each in proof.targets}
    return min(missing) if missing and missing <= {*modules} else ""


def compare_with_nothing(proof: Proof) -> Proof:
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


def tolerate(proof: Proof, old: Collection[str]) -> Proof:
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


def _excuse(proof: Proof, verdict: Verdict, why: Callable[[TargetProof], str]) -> Proof:
    def settle(target: TargetProof) -> TargetProof:
        reason = why(target) if target.verdict == verdict else ""
        return replace(target, verdict="unknown", why=reason) if reason else target

    return replace(proof, targets=tuple(map(settle, proof.targets)))


def _imports(source: bytes, modules: Collection[str]) -> bool:
    """Tell whether a file imports one of these, or something beside it in its package."""
    for node in ast.walk(parse_source(source)):
        if isinstance(node, ast.ImportFrom):
            if node.level or (node.module or "").partition(".")[0] in modules:
                return True
        elif isinstance(node, ast.Import) and any(each.name.partition(".")[0] in modules for each in node.names):
            return True
    return False


def changed_code(before: bytes | None, now: bytes) -> Iterator[str]:
    """Yield the new or changed functions that are neither tests nor parts of them."""
    tests = {test.name.partition("::")[0] for test in find_tests(now, functions=("test",), classes=("*",))}
    for function in find_changed(before, now):
        if not function.left_out and function.name.partition(".")[0] not in tests:
            yield function.name
