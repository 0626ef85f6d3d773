"""Which ledgers are opened: with their key, of this task and lineage, and not older than what this user has seen."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.errors import ForeignStateError, RollbackError, StateError
from phase_gate.gate.order import Entry, entry_events
from phase_gate.gate.state import Event, state_to_json
from phase_gate.project import load_compiled
from phase_gate.storage.opening import guard_file
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.cli.terminals import terminal
from tests.storage.stores import (
    assert_refused,
    begin,
    contents,
    declare,
    end_cycle,
    fact,
    facts,
    open_store,
    overwrite,
    pass_once,
)
from tests.support import call

# --- a key that is set is a key that is needed: keyed ledgers open with it, keyless ones do not


KEY = b"kept elsewhere"


def made_with(folder: Path, key: bytes | None) -> Path:
    """Return a folder with a task in it, made with that key or without one."""
    return declare(begin(open_store(folder, key=key)), "one").folder


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay", "without-a-checkpoint"])
@pytest.mark.parametrize(
    ("made", "key", "problem"),
    [
        pytest.param(None, None, "", id="no-key-at-all"),
        pytest.param(KEY, KEY, "", id="the-key-from-the-beginning"),
        pytest.param(KEY, None, "PHASE_GATE_KEY, which is not set", id="the-key-is-left-out"),
        pytest.param(KEY, b"another", "PHASE_GATE_KEY is not the key", id="another-key"),
        pytest.param(None, KEY, "the ledger was made without a key", id="a-ledger-without-the-key"),
    ],
)
def test_key_and_ledger(tmp_path: Path, made: bytes | None, key: bytes | None, problem: str, way: str) -> None:
    folder = made_with(tmp_path / "state", made)
    if way == "by-replay":
        os.utime(folder / "ledger.jsonl", ns=(1, 1))
    elif way == "without-a-checkpoint":
        (folder / "state.json").unlink()
    store = open_store(folder, key=key)
    if problem:
        assert_refused(store, StateError, problem)
        with pytest.raises(StateError):
            list(store.lines())
    else:
        assert facts(declare(store, "two")) == ["one", "two"]


def test_a_first_write_that_was_cut_short_is_no_ledger_without_a_key(tmp_path: Path) -> None:
    folder = made_with(tmp_path / "state", None)
    (folder / "state.json").unlink()
    (folder / "ledger.jsonl").write_bytes((folder / "ledger.jsonl").read_bytes()[:50])
    assert facts(declare(begin(open_store(folder, key=KEY)), "mine")) == ["mine"]


# --- a ledger from elsewhere is refused in the middle of a cycle, and a folder that vanished is not forgotten


class User:
    """Somebody with a memory, or without one, as in CI."""

    def __init__(self, home: Path | None) -> None:
        self._home = home

    def store(self, folder: Path, task: str = "default") -> TaskStore:
        environment = {"CI": "1"} if self._home is None else {"XDG_STATE_HOME": str(self._home)}
        return open_store(folder, task=task, guard=guard_file(folder, environment))


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path / "home")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".phase-gate"


def exchange(folder: Path, other: Path) -> None:
    """Put the files of another folder in this one's place."""
    shutil.rmtree(folder)
    shutil.copytree(other, folder)


# --- what is refused


def put_in_another_task(user: User, folder: Path) -> None:
    begin(user.store(folder / "tasks" / "t2", task="t2"))
    for name in ("ledger.jsonl", "state.json"):
        shutil.copy2(folder / "tasks" / "t2" / name, folder / name)


def put_in_another_clone(user: User, folder: Path) -> None:
    other = folder.parent.with_name("clone") / ".phase-gate"
    declare(begin(user.store(other)), "a", "b", "c", "d")
    exchange(folder, other)


def put_in_what_a_container_made(user: User, folder: Path) -> None:
    shutil.rmtree(folder)
    begin(User(None).store(folder))


def begin_anew(user: User, folder: Path) -> None:
    shutil.rmtree(folder)
    begin(user.store(folder))


FOREIGN: dict[str, tuple[str, Callable[[User, Path], None]]] = {
    "the-files-of-another-task": ("the ledger here belongs to task t2, and this is task default", put_in_another_task),
    "the-folder-of-another-clone": ("another ledger than the one seen here", put_in_another_clone),
    "one-made-by-somebody-without-a-memory": ("another ledger than the one seen here", put_in_what_a_container_made),
}


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay"])
@pytest.mark.parametrize(("problem", "happens"), FOREIGN.values(), ids=FOREIGN)
def test_a_ledger_from_elsewhere_is_refused_in_mid_cycle(
    user: User, folder: Path, problem: str, happens: Callable[[User, Path], None], way: str
) -> None:
    declare(begin(user.store(folder)), "one")
    happens(user, folder)
    if way == "by-replay":
        (folder / "state.json").unlink()
    store = user.store(folder)
    said = assert_refused(store, ForeignStateError, problem)
    assert said.slug == "state-foreign"
    assert "start again" in said.remedy
    before = contents(folder)
    with pytest.raises(ForeignStateError):
        repair(store)
    assert contents(folder) == before


def test_another_task_s_ledger_can_not_be_accepted(user: User, folder: Path) -> None:
    begin(user.store(folder))
    put_in_another_task(user, folder)
    with pytest.raises(ForeignStateError), user.store(folder).transaction(accept_rollback=True) as change:
        change.record(fact("lost"))


# --- twins: what goes on


def move(folder: Path) -> Path:
    return folder.parent.rename(folder.parent.with_name("elsewhere")) / folder.name


def link(folder: Path) -> Path:
    (place := folder.parent.with_name("link")).symlink_to(folder.parent)
    return place / folder.name


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(move, id="the-project-was-moved"),
        pytest.param(link, id="a-linked-parent"),
    ],
)
def test_twin_the_same_ledger_by_another_path(user: User, folder: Path, happens: Callable[[Path], Path]) -> None:
    declare(begin(user.store(folder)), "one")
    assert facts(declare(user.store(happens(folder)), "two")) == ["one", "two"]


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(put_in_another_clone, id="another-clone-s-folder"),
        pytest.param(put_in_what_a_container_made, id="somebody-without-a-memory"),
        pytest.param(begin_anew, id="begun-anew"),
    ],
)
def test_twin_another_ledger_between_cycles(user: User, folder: Path, happens: Callable[[User, Path], object]) -> None:
    end_cycle(begin(user.store(folder)))
    happens(user, folder)
    store = declare(user.store(folder), "mine")
    assert facts(store)[-1] == "mine"
    assert not store.read().state.vanished


# --- a folder that vanished in mid-cycle: it may begin anew, and that is not forgotten until a cycle has ended


def enter_green(store: TaskStore) -> TaskStore:
    """Begin in GREEN, as a run does."""
    workflow = load_compiled("tdd")
    assert workflow is not None
    with store.transaction() as change:
        entry = Entry(workflow.phases[1], "begin")
        change.record(*entry_events(change.state, entry, workflow, run="run", allow_non_interactive=False))
    return store


def begin_with_red(store: TaskStore) -> TaskStore:
    """Go through RED: something would be lost with the folder."""
    with begin(store).transaction() as change:
        change.record(Event(kind="phase-exited", data={"next": "GREEN", "freezes": True}))
    return store


def take_back(store: TaskStore) -> None:
    """A run that turns out to be void takes back the cycle that it began."""
    with store.transaction() as change:
        before = state_to_json(change.state)
    with enter_green(store).transaction() as change:
        change.record(Event(kind="run-started", data={"run": "run", "phase": "GREEN", "tree": "", "rules": None}))
        change.record(Event(kind="run-ended", data={"run": "run", "kind": "void", "before": before}))
    assert store.read().state.phase is None


def take_baseline(store: TaskStore) -> None:
    with store.transaction() as change:
        change.record(Event(kind="baseline-taken", data={"inventory": "i", "outcomes": "o"}))


def damage_and_repair(store: TaskStore) -> None:
    begin(User(None).store(store.folder))
    store.ledger_file.write_bytes(b"{}\n")
    repair(store)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(lambda store: None, id="at-once"),
        pytest.param(take_baseline, id="after-a-baseline"),
        pytest.param(take_back, id="after-a-void-run"),
        pytest.param(damage_and_repair, id="after-a-repair-of-nothing"),
    ],
)
def test_a_folder_that_vanished_in_mid_cycle_is_not_forgotten(
    user: User, folder: Path, first: Callable[[TaskStore], None]
) -> None:
    begin_with_red(user.store(folder))
    shutil.rmtree(folder)
    first(user.store(folder))
    store = enter_green(user.store(folder))
    assert store.read().state.vanished
    assert not enter_green(User(None).store(folder.with_name("new"))).read().state.vanished


def test_twin_a_folder_without_a_red_may_go(user: User, folder: Path) -> None:
    """After one trial, say: nothing that was seen is lost."""
    begin(user.store(folder))
    shutil.rmtree(folder)
    assert not enter_green(user.store(folder)).read().state.vanished


def test_twin_after_a_whole_cycle_it_is_past(user: User, folder: Path) -> None:
    begin_with_red(user.store(folder))
    shutil.rmtree(folder)
    end_cycle(enter_green(user.store(folder)))
    shutil.rmtree(folder)
    assert not enter_green(user.store(folder)).read().state.vanished


def test_a_repair_that_cuts_the_open_cycle_off_asks_for_red_again(user: User, folder: Path) -> None:
    store = end_cycle(declare(begin(user.store(folder)), "one"))
    with store.transaction() as change:
        change.record(Event(kind="cycle-began", data={"workflow": "tdd"}))
        change.record(Event(kind="phase-entered", data={"phase": "RED"}))
        change.record(Event(kind="phase-exited", data={"next": "GREEN", "freezes": True}))
    overwrite(store.ledger_file, b'"freezes":true', b'"freezes":fals')
    repair(store)
    state = store.read().state
    assert (state.phase, state.vanished, state.freeze.red_exited) == ("DONE", True, False)


# --- an old copy that comes back is noticed, and accepted only by a person


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


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
