"""Of a text with examples only these are frozen: the words around them may change with the code."""

from __future__ import annotations

import pytest

from tests.support import Sample

TEXT = "Sums\n====\n\n>>> from calc import add\n>>> add(1, 2)\n3\n\nThat is all.\n"


@pytest.fixture
def red(sample: Sample) -> Sample:
    """RED, exited: the example in a text fails."""
    sample.write({"pytest.ini": "[pytest]\npythonpath = .\naddopts = --doctest-glob=README.rst\n", "README.rst": TEXT})
    sample.write(calc="def add(a, b):\n    return 0\n")
    ran = sample.pytest("--phase=red", "--exit-signal=red")
    assert ran.code == 0, ran.out
    return sample


def test_other_words_change_nothing(red: Sample) -> None:
    red.write({"README.rst": TEXT.replace("all.", "new.")}, calc="def add(a, b):\n    return a + b\n")
    red.pytest("--phase=green")
    ran = red.pytest("--phase=green", "--exit-signal=done")
    assert ran.code == 0, ran.out


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n3\n", "\n0\n"),
        TEXT.replace(">>> add(1, 2)\n3\n", ""),
        TEXT.replace("add(1, 2)", "add(1, 2)  # doctest: +SKIP"),
        TEXT.replace(">>>", ""),
    ],
)
def test_other_examples_are_refused(red: Sample, text: str) -> None:
    red.write({"README.rst": text})
    ran = red.pytest("--phase=green", "-v")
    assert ran.code in (5, 10), ran.out
    assert "README.rst" in ran.out
    assert "tests-unchanged" in ran.out or "tests-kept" in ran.out
