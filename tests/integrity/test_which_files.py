"""Which files count does not depend on git's index: everyday work between runs harms nothing, and no edit is missed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

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


NUMBERS = itertools.count()


def write_outputs(project: Project) -> None:
    text = str(next(NUMBERS))
    names = (".coverage", "htmlcov/index.html", "junit.xml", "coverage.xml", "app.log", "logs/a.log", ".idea/a.xml")
    project.write(dict.fromkeys(names, text))


def commit(project: Project) -> None:
    project.commit_all()


def stash(project: Project) -> None:
    project.git("stash", "-q", "-u")
    assert not (project.root / "data.csv").exists()
    project.git("stash", "pop", "-q")


#: What happens after the first green run, and what after the second.
TWINS: dict[str, tuple[Callable[[Project], None], Callable[[Project], None]]] = {
    "all is committed at the end": (write_outputs, commit),
    "all is stashed, and back": (stash, stash),
}


@pytest.mark.parametrize(("first", "second"), TWINS.values(), ids=TWINS)
def test_honest_work_is_not_disturbed(
    once: Project, first: Callable[[Project], None], second: Callable[[Project], None]
) -> None:
    first(once)
    assert once.run("--phase=green").code == 0, "two greens on the same files"
    second(once)
    signalled = once.gate("signal", "--reason", "it passes, twice")
    assert signalled.code == 0, signalled.out + signalled.err
    assert once.gate("check").code == 0


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


@pytest.mark.sweep
def test_runs_that_write_are_no_attempts_of_their_own(red: Project) -> None:
    """The breaker counts what was tried: a test that writes a file tries nothing."""
    red.write({"data.csv": "1 2\n"}, calc=CALC)
    for _ in range(6):
        assert red.run("--phase=green").code == 1
    breaker = red.gate("status", "--json").document
    assert (breaker["breaker"]["status"], breaker["breaker"]["no_progress"]) == ("closed", 0), breaker


def test_what_an_agent_printed_is_no_work(once: Project) -> None:
    """It is written after the run, into the project mostly, and handed to `claim`."""
    assert once.run("--phase=green").code == 0
    once.write({"said.txt": "STATUS: done\n"})
    claimed = once.gate("claim", "said.txt")
    assert "files have changed" not in claimed.out + claimed.err
    once.write({"said.txt": "STATUS: really done\n"})
    assert once.gate("signal", "--reason", "it passes, twice").code == 0
