"""Looking runs nobody's code: every kind of hostile folder, and every command that only looks.

Here each kind meets the commands that ask git in different ways, and one kind meets all of them. The whole product is
`tox -e sweeps`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

import pytest

from tests.cli.calls import LOOKS, typed
from tests.cli.conftest import Begin, CommandProject
from tests.cli.hostile_folders import KINDS, Folder, Maker, filter_clean
from tests.sweeps import IS_WHOLE

Kind = Callable[[Maker], Folder]

#: One for each way in which git is asked.
SAMPLE = (("check",), ("status",), ("hook", "stop", "--agent", "claude"), ("doctor",))


@pytest.fixture
def make(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], tuple[CommandProject, Folder]]:
    """Return a function that makes a folder of a kind, with a task in it whose last run was there."""

    def make(kind: Kind) -> tuple[CommandProject, Folder]:
        gated = begin("green")
        gated.project.write({".gitignore": "__pycache__\n.phase-gate\n"})
        gated.project.environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        folder = kind(Maker(gated.project, tmp_path_factory.mktemp("beside")))
        assert folder.bite(), "a canary that never sings says nothing"
        os.chdir(folder.place)
        return gated, folder

    return make


def run_tests(gated: CommandProject, folder: Folder) -> None:
    """Run the suite: its tests are the user's own code, and nothing else is run."""
    folder.touch()
    gated.project.run("--phase=green", "-q")
    assert folder.has_bitten() is ("pytest" in folder.runs_code)


def look(gated: CommandProject, folder: Folder, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    folder.touch()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    ran = gated.gate(*words)
    assert "Traceback" not in ran.err
    assert not folder.has_bitten(), words


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("unasked")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.replace("_", "-"))
def test_looking_runs_nobodys_code(
    make: Callable[[Kind], tuple[CommandProject, Folder]], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated, folder = make(kind)
    run_tests(gated, folder)
    is_whole = kind is filter_clean or IS_WHOLE
    for words in typed(LOOKS) if is_whole else SAMPLE:
        look(gated, folder, words, monkeypatch)
