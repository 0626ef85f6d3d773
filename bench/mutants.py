"""What one mutant costs, beside one start of pytest with the same test: processor seconds of all processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.measure import run
from phase_gate.mutation.engine import make_mutants
from phase_gate.mutation.model import Baseline
from phase_gate.mutation.trying import Ground, make_baseline, try_mutants
from phase_gate.source.new_code import find_new

_TEST_FILE, _SOURCE = "test_step.py", "step.py"
_TESTS = "from step import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
_NOW = "def double(number):\n    return number * 2\n"
#: It has as many: each of them is killed by the test, but for one.
MUTANTS = 5

#: What is measured: each in processor seconds.
START, BASELINE, MUTANT = "one start of pytest", "the baseline", "one mutant"


def try_step(root: Path) -> dict[str, float]:
    """Try the mutants of a step in a suite that lies there; return what each part took."""
    (root / _TEST_FILE).write_text(_TESTS, encoding="utf-8")
    (root / _SOURCE).write_text(_NOW, encoding="utf-8")
    files = tuple(sorted(path.name for path in root.glob("test_*.py")))
    ground = Ground(root=root, sources={_SOURCE: _NOW}, test_files=files, targets=(f"{_TEST_FILE}::test_double",))
    mutants = make_mutants(_SOURCE, _NOW, find_new({}, {_SOURCE: _NOW})[_SOURCE].statements)[:MUTANTS]
    made: list[Baseline] = []
    start = _spent(lambda: subprocess.run(_BARE, cwd=root, stdout=subprocess.DEVNULL, check=True))
    baseline = _spent(lambda: made.append(make_baseline(ground, seconds=600.0)))
    tried = _spent(lambda: list(try_mutants(ground, made[0], mutants, workers=1, ends_at=float("inf"))))
    return {START: start, BASELINE: baseline, MUTANT: tried / len(mutants)}


_BARE = [sys.executable, "-m", "pytest", "-q", _TEST_FILE]


def _spent(work: Any) -> float:
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def take_mutants(folder: Path) -> dict[str, float]:
    """Return what it took, in a process of its own with nothing of this machine's settings."""
    here = str(Path(__file__).parents[1])
    code = f"import sys; sys.path.append({here!r}); from bench.mutants import main; main()"
    found: dict[str, float] = json.loads(run([sys.executable, "-c", code, str(folder)], folder).stdout)
    return found


def main() -> None:
    print(json.dumps(try_step(Path(sys.argv[1]))))
