"""Small steps to prove: the project when RED exited, and what came then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from phase_gate.proof.experiment import make_proof
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, SandboxRun
from phase_gate.proof.trial import Trial
from phase_gate.proof.verdicts import Proof
from phase_gate.storage.fingerprint import take_tree
from phase_gate.storage.snapshots import take_snapshot

TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
ADD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 0\n"
#: Seconds: the machine may be busy.
LIMIT = 960.0


def write(root: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run_in(sandbox: Sandbox, path: str, *, limit: float = LIMIT, wanted: Collection[str] = ()) -> SandboxRun:
    """Run the tests of a file or folder in a sandbox."""
    return Laboratory((), limit, (path,)).run(sandbox, wanted)


def plan(
    root: Path,
    red: Mapping[str, str],
    green: Mapping[str, str | None],
    targets: Iterable[str],
    *,
    seconds: float = LIMIT,
    took: float | None = None,
) -> Trial:
    """Return a trial of a step: `red` lay there when RED exited, `green` came then."""
    write(root, red)
    then = take_snapshot(root, take_tree(root).files)
    write(root, green)
    chosen = tuple(targets)
    return Trial(
        root=root,
        targets=chosen,
        then=then,
        now=take_tree(root).files,
        frozen=frozenset(path for path in red if "test" in path),
        seconds=seconds,
        took=took,
    )


def prove(
    root: Path,
    red: Mapping[str, str],
    green: Mapping[str, str | None],
    targets: Iterable[str] = ("test_calc.py::test_add",),
) -> Proof:
    return make_proof(plan(root, red, green, targets))


def verdicts(proof: Proof) -> dict[str, str]:
    assert not proof.problem
    return {each.id.partition("::")[2]: each.verdict for each in proof.targets}
