"""Runs as a project has them: step after step, red and green, with mistakes and second thoughts in between."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.installed import environment

_OLD = "def test_old_{number}():\n    assert {number} + 1 == {after}\n"
_TEST = "from step_{number} import add\n\n\ndef test_add_{number}():\n    assert add({number}, 1) == {after}\n"
_MORE = "\n\ndef test_add_nothing_{number}():\n    assert add({number}, 0) == {number}\n"
_STUB = "def add(one, other):\n    return None\n"
_WRONG = "def add(one, other):\n    return one + 1\n"
_RIGHT = "def add(one, other):\n    return one + other\n"
_NICE = 'def add(one, other):\n    """Return the sum for step {number}."""\n    return sum((one, other))\n'
#: Counts the runs in the ledger.
_COUNT = """\
import os
from pathlib import Path
from phase_gate.project import Project

store = Project.find(Path.cwd(), environment=dict(os.environ)).store("bench")
print(sum(line.event.kind == "run-ended" for line in store.lines()))
"""


def write_project(folder: Path) -> None:
    """Write a project of twenty tests that is about to take its first step."""
    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n", encoding="utf-8")
    rows = [_OLD.format(number=number, after=number + 1) for number in range(20)]
    (folder / "test_old.py").write_text("\n\n".join(rows), encoding="utf-8")


def steps(folder: Path) -> Iterator[tuple[str, ...]]:
    """Change the project again and again, and yield what pytest is to be called with after each change."""
    number = 0
    while True:
        source, test = folder / f"step_{number}.py", folder / f"test_step_{number}.py"
        known: Mapping[str, int] = {"number": number, "after": number + 1}
        test.write_text(_TEST.format(**known), encoding="utf-8")
        yield ("--phase=red",)
        source.write_text(_STUB, encoding="utf-8")
        test.write_text((_TEST + _MORE).format(**known), encoding="utf-8")
        yield ("--phase=red", "--exit-signal=both cases are there")
        source.write_text(_WRONG, encoding="utf-8")
        yield ("--phase=green",)
        source.write_text(_RIGHT, encoding="utf-8")
        yield ("--phase=green", "-k", f"add_{number}")
        yield ("--phase=green",)
        yield ("--phase=green", "--exit-signal=it adds")
        if number % 2:
            source.write_text(_NICE.format(**known), encoding="utf-8")
            yield ("--phase=refactor",)
            yield ("--phase=refactor", "--exit-signal=it reads well")
        number += 1


def take_steps(python: str, folder: Path, runs: int) -> None:
    """Call pytest so many times, each time after a change; it may run more often than that by itself."""
    for _, words in zip(range(runs), steps(folder), strict=False):
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 10), done.stdout + done.stderr


def count_runs(python: str, folder: Path) -> int:
    """Return how many runs the ledger has."""
    done = subprocess.run(
        [python, "-c", _COUNT], cwd=folder, env=environment(folder), capture_output=True, text=True, check=True
    )
    return int(done.stdout)
