"""Which files count does not depend on git's index: everyday work between runs harms nothing, and no edit is missed."""

from __future__ import annotations

import pytest

from tests.support import Project

pytestmark = pytest.mark.processes

#: The code reads its numbers from a file that git does not track yet; a test writes a database.
TESTS = """\
import time
from pathlib import Path


def test_total():
    from calc import total

    assert total() == 6


def test_keeps():
    from calc import total

    Path("app.db").write_text(f"at {time.time_ns()}")
    assert total() == 6
"""
CALC = """\
from pathlib import Path


def total():
    return sum(map(int, Path(__file__).with_name("data.csv").read_text().split()))
"""
DATA = "1 2 3\n"


@pytest.fixture
def red(project: Project) -> Project:
    """RED, exited, in a repository."""
    project.write({"pytest.ini": "[pytest]\n", ".gitignore": ".phase-gate/\n__pycache__/\n"}).commit_all()
    project.write(test_calc=TESTS)
    assert project.run("--phase=red").code == 0
    assert project.gate("signal", "--reason", "it fails").code == 0
    return project


@pytest.fixture
def once(red: Project) -> Project:
    """GREEN, with one green run."""
    red.write({"data.csv": DATA}, calc=CALC)
    assert red.run("--phase=green").code == 10
    return red


def test_an_edit_of_data_that_git_does_not_track_is_seen(once: Project) -> None:
    assert once.run("--phase=green").code == 0
    once.write({"data.csv": "1 2\n"})
    stale = once.gate("signal", "--reason", "it passes, twice")
    assert stale.code == 13
    assert stale.has("no run has tested them (data.csv)", "if a tool writes data.csv, name it in .gitignore")
    checked = once.gate("check")
    assert checked.code == 10
    assert checked.has("files have changed since the last run (data.csv)", ".gitignore")
    assert once.run("--phase=green").code == 1, "the test that reads it fails"


def test_what_an_agent_printed_is_no_work(once: Project) -> None:
    """It is written after the run, into the project mostly, and handed to `claim`."""
    assert once.run("--phase=green").code == 0
    once.write({"said.txt": "STATUS: done\n"})
    claimed = once.gate("claim", "said.txt")
    assert "files have changed" not in claimed.out + claimed.err
    once.write({"said.txt": "STATUS: really done\n"})
    assert once.gate("signal", "--reason", "it passes, twice").code == 0
