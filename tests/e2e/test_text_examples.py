"""Of a text with examples only these are frozen: the words around them may change with the code."""

from __future__ import annotations

import pytest

from tests.support import Project

TEXT = "Sums\n====\n\n>>> from calc import add\n>>> add(1, 2)\n3\n\nThat is all.\n"


@pytest.fixture
def red(project: Project) -> Project:
    """RED, exited: the example in a text fails."""
    project.write({"pytest.ini": "[pytest]\npythonpath = .\naddopts = --doctest-glob=README.rst\n", "README.rst": TEXT})
    project.write(calc="def add(a, b):\n    return 0\n")
    ran = project.run("--phase=red", "--exit-signal=red")
    assert ran.code == 0, ran.out
    return project


def test_other_words_change_nothing(red: Project) -> None:
    red.write({"README.rst": TEXT.replace("all.", "new.")}, calc="def add(a, b):\n    return a + b\n")
    red.run("--phase=green")
    ran = red.run("--phase=green", "--exit-signal=done")
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
def test_other_examples_are_refused(red: Project, text: str) -> None:
    red.write({"README.rst": text})
    ran = red.run("--phase=green", "-v")
    assert ran.code in (5, 10), ran.out
    assert "README.rst" in ran.out
    assert "tests-unchanged" in ran.out or "tests-kept" in ran.out
