"""What a user has seen of a folder: an old copy that comes back is noticed, and accepted only by a person."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.errors import RollbackError
from phase_gate.gate.state import Event
from phase_gate.storage.opening import guard_file
from phase_gate.storage.store import TaskStore
from tests.cli.terminals import terminal
from tests.storage.stores import assert_refused, begin, contents, declare, facts, open_store, pass_once
from tests.support import call


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".phase-gate"


def remembering(folder: Path, home: Path, **environment: str) -> TaskStore:
    return open_store(folder, guard=guard_file(folder, {"XDG_STATE_HOME": str(home), **environment}))


def forgetting(folder: Path) -> TaskStore:
    """The same task for somebody who keeps no memory: CI, another user."""
    return open_store(folder)


# --- what is remembered


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"XDG_STATE_HOME": "{tmp}/xdg"}, "xdg/phase-gate", id="xdg-names-it"),
        pytest.param({}, "user/.local/state/phase-gate", id="the-home-folder-otherwise"),
        pytest.param({"CI": "true"}, None, id="off-under-ci"),
    ],
)
def test_where_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    given = {name: value.format(tmp=tmp_path) for name, value in environment.items()}
    found = guard_file(tmp_path / "project", given)
    assert (found and found.parent) == (expected and tmp_path / expected)


@pytest.mark.parametrize("place", ["phase-gate", "."], ids=["our-folder-is-a-file", "the-home-is-a-file"])
def test_a_home_that_can_not_be_written_is_no_reason_to_fail(folder: Path, home: Path, place: str) -> None:
    blocked = home / place
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("in the way", encoding="utf-8")
    store = declare(begin(remembering(folder, home)), "one")
    assert facts(store) == ["one"]
    assert blocked.read_text(encoding="utf-8") == "in the way"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param('{"lineage": "LINEAGE", "serial": "9", "head": "", "cycle_is_open": 1}', id="wrong-types"),
    ],
)
def test_a_damaged_memory_is_no_guard(folder: Path, home: Path, content: str) -> None:
    store = begin(remembering(folder, home))
    (kept,) = (home / "phase-gate").iterdir()
    kept.write_text(content.replace("LINEAGE", store.read().lineage), encoding="utf-8")
    assert facts(declare(store, "one")) == ["one"]


# --- what is noticed


def restore_old_copy(folder: Path, home: Path) -> None:
    """One transaction is undone by an old copy of the folder."""
    store = declare(begin(remembering(folder, home)), "one")
    shutil.copytree(folder, folder.with_name("copy"))
    declare(store, "two")
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def fork(folder: Path, home: Path, *names: str) -> None:
    """An old copy, and then somebody without a memory goes on from there."""
    restore_old_copy(folder, home)
    declare(forgetting(folder), *names)


NOTICED: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "an-old-copy": ("it ends at line 4, but line 5 was seen", restore_old_copy),
    "a-fork-of-the-same-length": (
        "line 5 is not the one that was seen before",
        lambda folder, home: fork(folder, home, "other"),
    ),
    "a-longer-fork": (
        "line 5 is not the one that was seen before",
        lambda folder, home: fork(folder, home, "other", "and", "more"),
    ),
}


@pytest.mark.parametrize(("problem", "happens"), NOTICED.values(), ids=NOTICED)
def test_a_history_that_is_not_the_one_seen_is_refused(
    folder: Path, home: Path, problem: str, happens: Callable[[Path, Path], None]
) -> None:
    happens(folder, home)
    said = assert_refused(remembering(folder, home), RollbackError, problem)
    assert said.problem == f"the state folder is older than it was before: {problem}"
    assert "audit --accept-rollback" in said.remedy
    assert said.slug == "state-rolled-back"


@pytest.mark.parametrize("happens", [row[1] for row in NOTICED.values()], ids=NOTICED)
def test_what_is_refused_can_be_accepted(folder: Path, home: Path, happens: Callable[[Path, Path], None]) -> None:
    happens(folder, home)
    store = remembering(folder, home)
    with store.transaction(accept_rollback=True) as change:
        change.record(Event(kind="rollback-accepted", data={}))
    assert declare(store, "new").read().state.facts[-1].name == "new"


# --- who may accept it


class Rolled:
    """A project whose state folder was restored from an old copy, with a streak of 1 in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / ".phase-gate"
        store = pass_once(begin(self.store()), "first")
        shutil.copytree(self.folder, root / "copy")
        pass_once(store, "second")
        assert store.read().state.streak == 2
        shutil.rmtree(self.folder)
        (root / "copy").rename(self.folder)

    def store(self) -> TaskStore:
        return open_store(self.folder, guard=guard_file(self.folder, os.environ))

    def audit(self, *arguments: str, terminal_is_there: bool) -> tuple[int, dict[str, object]]:
        """Run `phase-gate audit` as somebody at a terminal would, or as a script would."""
        with terminal() as person, open(person, closefd=False) as at_terminal, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", at_terminal if terminal_is_there else io.StringIO())
            ran = call(self.root, "audit", "--json", *arguments)
        return ran.code, ran.document


@pytest.fixture
def rolled(tmp_path: Path) -> Rolled:
    return Rolled(tmp_path)


def test_a_person_at_a_terminal_accepts_and_the_streak_starts_anew(rolled: Rolled) -> None:
    code, document = rolled.audit(terminal_is_there=True)
    assert (code, document["intact"]) == (11, False)

    before = contents(rolled.folder)
    accept = ("--accept-rollback", "--reason", "backup", "--by", "dev")
    for arguments, is_there, refusal in (
        (accept, False, 13),
        (accept[:3], True, 2),
        (accept[:1] + accept[3:], True, 2),
    ):
        assert rolled.audit(*arguments, terminal_is_there=is_there)[0] == refusal
    assert contents(rolled.folder) == before

    code, document = rolled.audit(*accept, terminal_is_there=True)
    told = {"reason": "backup", "by": "dev", "serial": 5, "next_command": "pytest --phase=auto"}
    assert (code, document) == (0, told)
    state = rolled.store().read().state
    assert (state.streak, state.measurement, state.green_tree) == (0, None, None)
    last = list(rolled.store().lines())[-1].event
    assert (last.kind, last.data["reason"], last.data["by"]) == ("rollback-accepted", "backup", "dev")

    code, document = rolled.audit("--accept-rollback", "--reason", "again", "--by", "dev", terminal_is_there=True)
    assert (code, document["error"]) == (
        13,
        {"slug": "not-allowed", "problem": "nothing was rolled back", "remedy": "phase-gate status"},
    )
