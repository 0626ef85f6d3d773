"""A proof beside one run of the whole suite: it runs targets only, so that a large suite should not make it longer."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import run
from phase_gate.codec import to_json
from phase_gate.proof.making import make_proof
from phase_gate.proof.trial import Trial
from phase_gate.storage.keeping import keep_files
from phase_gate.storage.tree.fingerprint import take_tree

#: As many as a step has, and two functions that they are about.
TARGETS = 5
_TEST_FILE, _SOURCE = "test_step.py", "step.py"
_TEST = "def test_step_{0}():\n    assert {1}({2}) == {3}\n"
_BEFORE = "def double(number):\n    return None\n\n\ndef half(number):\n    return None\n"
_NOW = "def double(number):\n    return number * 2\n\n\ndef half(number):\n    return number // 2\n"


def _write_tests(targets: int) -> str:
    rows = [
        ("double", number, number * 2) if number % 2 else ("half", number, number // 2) for number in range(targets)
    ]
    tests = (_TEST.format(number, *row) for number, row in enumerate(rows))
    return "from step import double, half\n\n\n" + "\n\n".join(tests)


def prove_step(root: Path, targets: int) -> dict[str, Any]:
    """Prove a step with so many targets and two functions in a suite that lies there; return what it took."""
    (root / _TEST_FILE).write_text(_write_tests(targets), encoding="utf-8")
    (root / _SOURCE).write_text(_BEFORE, encoding="utf-8")
    then = keep_files(root, take_tree(root).files)
    (root / _SOURCE).write_text(_NOW, encoding="utf-8")
    ids = tuple(f"{_TEST_FILE}::test_step_{number}" for number in range(targets))
    trial = Trial(
        root=root,
        targets=ids,
        red_rows=frozenset(ids),
        then=then,
        now=take_tree(root).files,
        frozen=frozenset(path for path in then.files if path.startswith("test_")),
        seconds=600.0,
    )
    began = time.perf_counter()
    proof = make_proof(trial, at="")
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "processor": used.ru_utime + used.ru_stime,
        "starts": proof.starts,
        "proven": proof.count("proven"),
        "sandbox": proof.sandbox,
    }


def keep(root: Path) -> dict[str, Any]:
    """Keep the files of a project as RED's exit does; return what that took beside the tree, which a run has anyway."""
    files = take_tree(root).files
    began = time.perf_counter()
    text = json.dumps(to_json(keep_files(root, files)))
    return {"seconds": time.perf_counter() - began, "bytes": len(text)}


def take_proof(folder: Path, targets: int = TARGETS) -> dict[str, Any]:
    """Return what a proof took, made in a process of its own with nothing of this machine's settings."""
    here = str(Path(__file__).parents[1])
    code = f"import sys; sys.path.append({here!r}); from bench.proof import main; main()"
    found: dict[str, Any] = json.loads(run([sys.executable, "-c", code, str(folder), str(targets)], folder).stdout)
    assert found["proven"] == targets, found
    return found


def main() -> None:
    print(json.dumps(prove_step(Path(sys.argv[1]), int(sys.argv[2]))))
