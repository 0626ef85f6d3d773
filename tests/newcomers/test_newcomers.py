"""The tool that lets newcomers begin: it counts what is typed, and notices who gets no verdict.

The newcomers themselves need a package index: `tox -e newcomers`. One of them begins here, with what is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.newcomers.__main__ import row
from tests.newcomers.model import Newcomer, Went
from tests.newcomers.people import NEWCOMERS
from tests.newcomers.typing_in import begin

pytestmark = pytest.mark.processes

SHOWS = "echo 'phase gate: RED'; echo Verdict; echo Next"


def went(folder: Path, *typed: str, before: tuple[str, ...] = ()) -> Went:
    return begin(Newcomer(name="dev", files={"a/b.txt": "c"}, typed=typed, before=before), folder, "", None)


def test_a_newcomer_types_in_one_shell_and_what_was_there_before_is_not_counted(tmp_path: Path) -> None:
    found = went(tmp_path, "cat b.txt", SHOWS, before=("cd a",))
    assert (found.problem, found.commands) == ("", 2)
    assert found.seconds >= found.verdict_seconds > 0


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        pytest.param(("echo lost; false", SHOWS), "`echo lost; false` ended with 1: lost", id="a-step-fails"),
        pytest.param(("echo hello",), "ended with 0, and shows no verdict: hello", id="nothing-is-shown"),
        pytest.param((f"{SHOWS}; exit 4",), "no-verdict", id="it-leaves-the-shell"),
        pytest.param((f"{SHOWS}; (exit 4)",), "ended with 4, and shows no verdict", id="an-error-is-no-verdict"),
    ],
)
def test_who_gets_no_verdict_is_noticed(typed: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    found = went(tmp_path, *typed)
    assert problem in found.problem
    assert "no verdict" in row(found)


def test_a_newcomer_gets_a_verdict_for_real(tmp_path: Path) -> None:
    (first,) = (each for each in NEWCOMERS if each.name == "pip")
    call = f"{sys.executable} -m pytest --phase=red"
    installed = Newcomer(name="here", files=first.files, before=("unset PYTHONPATH",), typed=(call,))
    found = begin(installed, tmp_path, "", None)
    assert (found.problem, found.missing) == ("", "")
    assert row(found).startswith("| here | 1 | ")


def test_a_fresh_root_is_asked_for(tmp_path: Path) -> None:
    (fresh,) = (each for each in NEWCOMERS if each.in_fresh_root)
    assert "--fresh-root" in begin(fresh, tmp_path, "", None).missing
