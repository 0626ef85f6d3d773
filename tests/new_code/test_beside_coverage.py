"""New code beside a coverage tool: each gets the same lines as it would without the other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.new_code.test_gate import NOTE
from tests.support import Sample

pytestmark = pytest.mark.processes

#: Everything in it that ends a frame in a way of its own.
TRICKY = """\
import asyncio
import threading


def gen(n):
    for i in range(n):
        if i == 5:
            return
        yield i


def raises(x):
    try:
        if x:
            raise ValueError(x)
    except ValueError as error:
        return str(error)
    finally:
        x = None
    return "none"


async def later(x):
    await asyncio.sleep(0)
    return x


def in_thread(x):
    out = []
    thread = threading.Thread(target=lambda: out.extend(gen(x)))
    thread.start()
    thread.join()
    return out


class Thing:
    size = [n for n in range(3) if n]

    def unused(self):
        return self.size


def deep(n):
    return n if n <= 0 else deep(n - 1)


def loop(n):
    while n:
        n -= 1
        if n == 7:
            break
    return n
"""
TESTS = """\
import asyncio

import tricky


def test_gen():
    assert list(tricky.gen(3)) == [0, 1, 2]


def test_raises():
    assert tricky.raises(1) == "1"


def test_later():
    assert asyncio.run(tricky.later(4)) == 4


def test_thread():
    assert tricky.in_thread(2) == [0, 1]


def test_deep():
    assert tricky.deep(20) == 0
    assert tricky.loop(3) == 0
"""
#: What is not reached of it.
MISSED = [8, 20, 40, 51]


def coverage(sample: Sample, *words: str) -> Any:
    """Run with a coverage tool; return what it says of the file."""
    words = (*words, "--cov=.", "--cov-branch", "--cov-report=json:coverage.json")
    ran = sample.pytest_process("-q", *words, plugins=("pytest_cov.plugin", "xdist"))
    assert "passed" in ran.out, ran.out + ran.err
    found = json.loads((sample.root / "coverage.json").read_text(encoding="utf-8"))["files"]["tricky.py"]
    return ran, {
        key: found[key] for key in ("executed_lines", "missing_lines", "executed_branches", "missing_branches")
    }


@pytest.mark.parametrize(
    "words", [(), ("-n", "2"), ("--cov-context=test",)], ids=lambda words: " ".join(words) or "one"
)
def test_both_get_their_lines(sample: Sample, words: tuple[str, ...]) -> None:
    sample.write({"phase-gate.yaml": NOTE, ".gitignore": "coverage.json\n.coverage*\n"}, test_tricky=TESTS)
    assert sample.pytest("--phase=red", "--exit-signal=they fail").code == 0
    sample.write(tricky=TRICKY)
    _, alone = coverage(sample, *words)
    ran, beside = coverage(sample, "--phase=green", *words)
    assert beside == alone
    assert alone["missing_lines"] == MISSED
    assert ran.has("no test reaches 4 new lines: tricky.py:8, tricky.py:20, tricky.py:40")
    metrics = sample.status()["evaluation"]["metrics"]
    assert metrics["new_branches_untested"] == 3


def test_what_a_conftest_imports_is_reached(sample: Sample) -> None:
    sample.write(
        {"phase-gate.yaml": NOTE},
        conftest="import kept\n",
        kept="",
        test_kept="from kept import f\n\n\ndef test():\n    assert f() == 1\n",
    )
    assert sample.pytest_process("--phase=red", "--exit-signal=it fails").code == 0
    sample.write(kept="import sys\n\nif sys.argv:\n    def f():\n        return 1\n\n    def g():\n        return 2\n")
    ran = sample.pytest_process("--phase=green")
    assert ran.has("no test reaches 1 new line: kept.py:8")
    assert sample.status()["evaluation"]["metrics"]["new_branches_untested"] == 0


def test_a_line_is_told_by_every_test_that_reaches_it(sample: Sample) -> None:
    tests = "from calc import add\n\n\n" + "\n".join(
        f"def test_{number}():\n    for _ in range({times}):\n        assert add({number}, 2)\n\n"
        for number, times in enumerate((1, 30_000, 1))
    )
    sample.write({"phase-gate.yaml": NOTE}, test_calc=tests)
    assert sample.pytest("--phase=red", "--exit-signal=they fail").code == 0
    sample.write(calc="def add(a, b):\n    if a > 1:\n        return b\n    return a + b\n")
    sample.pytest("--phase=green", "--phase-report=verdict.json")
    (table,) = [each for each in sample.report()["tables"] if each["title"] == "New code"]
    assert [row[2] for row in table["rows"]] == [
        "an import",
        "test_calc.py::test_0, test_calc.py::test_1, test_calc.py::test_2",
        "test_calc.py::test_2",
        "test_calc.py::test_0, test_calc.py::test_1",
    ]
