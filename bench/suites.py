"""Suites to measure on: trivial passing tests, so that every microsecond beside them shows."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

#: Tests in one file; a file more costs an import, and real suites have about so many.
PER_FILE = 50


def write_suite(folder: Path, tests: int) -> Path:
    """Write a suite of `tests` trivial tests into the folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "counting.py").write_text(COUNTING, encoding="utf-8")
    (folder / ".gitignore").write_text(".phase-gate/\n.user-state/\nout.*\nassets/\n.claude/\n", encoding="utf-8")
    for number, start in enumerate(range(0, tests, PER_FILE)):
        rows = [f"def test_{index}():\n    assert True\n" for index in range(start, min(start + PER_FILE, tests))]
        (folder / f"test_{number}.py").write_text("\n\n".join(rows), encoding="utf-8")
    return folder


_WORDS = ("def", "return", "self", "name", "value", "import", "for", "in", "if", "class", "None", "result", "path")


def write_tree(folder: Path, files: int, *, size: int = 8192) -> Path:
    """Write a project of so many files, a hundred in a folder, committed to git."""
    chance = random.Random(0)
    # As dense as sources are: two of a kind beside each other would be compressed to nothing.
    block = " ".join(f"{chance.choice(_WORDS)}_{chance.randrange(300)}" for _ in range(20_000)).encode()
    for number in range(files):
        path = folder / f"part_{number // 100}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        begin = number * 97 % (len(block) - size)
        path.write_bytes(f"# {number}\n#".encode() + block[begin : begin + size])
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    return folder


#: The floor: a plugin that only counts.
COUNTING = """\
count = 0


def pytest_runtest_logreport(report):
    global count
    if report.when == "call" and report.outcome == "passed":
        count += 1
"""
