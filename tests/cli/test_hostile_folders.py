"""Looking runs nobody's code: every kind of hostile folder, and every command that only looks.

Here each kind meets the commands that ask git in different ways, and one kind meets all of them. The whole product is
`tox -e sweeps`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping

import pytest

from phase_gate.cli._table import COMMANDS
from phase_gate.cli.doctor import Diagnosis
from tests.cli.conftest import Begin, Desk
from tests.cli.hostile_folders import KINDS, Folder, Maker, filter_clean
from tests.sweeps import IS_WHOLE

Kind = Callable[[Maker], Folder]

#: Every command: how it is called to look. One that is not here is an error, so that a new one can't be forgotten.
LOOKS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "init": (("--dry-run",), ("--dry-run", "--agent", "claude")),
    "agent uninstall": (("--dry-run",),),
    "status": ((), ("--json",), ("--criteria",), ("--block",)),
    "check": ((), ("--gate1",)),
    "explain": ((), ("tests-unchanged",), ("--gate-result",), ("GREEN",)),
    "history": ((), ("--events",), ("--calibration",)),
    "report": ((),),
    "agent prompt": ((),),
    "verify show": ((),),
    "verify status": ((),),
    "pipeline vote": ((),),
    "pipeline request": (("list",),),
    "pipeline recover": ((),),
    "hook": (("stop", "--agent", "claude"), ("pre-tool", "--agent", "claude")),
    "audit": ((),),
    "doctor": ((),),
    "completion": (("bash",),),
    "store status": ((),),
    "workflow schema": ((), ("tdd", "--mermaid")),
    "workflow check": ((),),
}
#: These do something on purpose, and what they run is the user's own: see "Looking runs nobody's code" in the docs.
ACTS = frozenset(
    (
        *("demo", "signal", "claim", "withdraw", "declare", "advance", "rewind", "waive", "force"),
        *("breaker reset", "breaker skip"),
        *("baseline", "prove", "ci combine", "drive"),
        *("store trust", "store init"),
        *(f"verify {name}" for name in ("start", "next", "executor", "run", "review", "commit", "abandon")),
        *(f"verify {name}" for name in ("resume", "skip", "force")),
    )
)

ALL = tuple((*name.split(), *words) for name, calls in LOOKS.items() for words in calls)
#: One for each way in which git is asked.
SAMPLE = (("check",), ("status",), ("hook", "stop", "--agent", "claude"), ("doctor",))


def test_every_command_is_in_the_table() -> None:
    assert LOOKS.keys() | ACTS == COMMANDS.keys()
    assert not LOOKS.keys() & ACTS


@pytest.fixture
def make(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], tuple[Desk, Folder]]:
    """Return a function that makes a folder of a kind, with a task in it whose last run was there."""

    def make(kind: Kind) -> tuple[Desk, Folder]:
        desk = begin("green")
        desk.project.write({".gitignore": "__pycache__\n.phase-gate\n"})
        desk.project.environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        folder = kind(Maker(desk.project, tmp_path_factory.mktemp("beside")))
        assert folder.bite(), "a canary that never sings says nothing"
        os.chdir(folder.place)
        return desk, folder

    return make


def run_tests(desk: Desk, folder: Folder) -> None:
    """Run the suite: its tests are the user's own code, and nothing else is run."""
    folder.touch()
    desk.project.run("--phase=green", "-q")
    assert folder.has_bitten() is ("pytest" in folder.runs_code)


def look(desk: Desk, folder: Folder, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    folder.touch()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    ran = desk.gate(*words)
    assert "Traceback" not in ran.err
    assert not folder.has_bitten(), words


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` starts pytest, which takes long, and runs the project's own code: that is what it is asked for."""
    answer = Diagnosis(what="plugin", mark="good", says="not asked")
    monkeypatch.setattr("phase_gate.cli.doctor.check_plugin", lambda start: answer)


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("unasked")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.replace("_", "-"))
def test_looking_runs_nobodys_code(
    make: Callable[[Kind], tuple[Desk, Folder]], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, folder = make(kind)
    run_tests(desk, folder)
    is_whole = kind is filter_clean or IS_WHOLE
    for words in ALL if is_whole else SAMPLE:
        look(desk, folder, words, monkeypatch)
