"""How often git is asked, and its server: a list of tasks costs no more than one task does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import RollbackError
from phase_gate.stores import choosing
from phase_gate.stores.git import GitStore
from phase_gate.stores.git_repository import Repository
from phase_gate.stores.shared import UNKNOWN, Head, SharedStore
from phase_gate.tasks.board import TaskStatus
from phase_gate.tasks.next_task import NextOptions, hand_out
from tests.stores.handing_out import make_project, open_board, take_many
from tests.stores.kinds import GitServer, make_bare
from tests.stores.test_conformance import line

pytestmark = pytest.mark.processes


@pytest.fixture
def server(tmp_path: Path) -> GitServer:
    bare = make_bare(tmp_path / "remote.git")
    return GitServer(bare, str(bare))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What git was asked for, by its own words."""
    found: list[str] = []
    real: Callable[..., Any] = Repository.call

    def call(*words: Any, **more: Any) -> Any:
        found.append(words[1])
        return real(*words, **more)

    monkeypatch.setattr(Repository, "call", call)
    return found


def _at_server(asked: list[str]) -> list[str]:
    """Return what was asked of the server; a look at our own repository takes a few milliseconds."""
    return [word for word in asked if word not in ("log", "cat-file")]


def add(store: SharedStore, task: str, after: Head, text: str) -> Head:
    last, rows = line(after, f"{task} {text}")
    store.append(task, after, last, rows, {sha256(task.encode()).hexdigest(): task.encode()})
    return last


def test_many_tasks_take_as_many_questions_as_one(server: GitServer, tmp_path: Path, asked: list[str]) -> None:
    one, other = server.open(tmp_path / "one"), server.open(tmp_path / "other")
    tasks = [f"task-{number}" for number in range(6)]
    heads = {task: add(one, task, Head(), "first") for task in tasks[:1]}
    asked.clear()
    assert {task: tail.head for task, tail in other.read_all({}).items()} == heads
    for_one = _at_server(asked)
    heads = {task: add(one, task, heads.get(task, Head()), "next") for task in tasks}
    found = server.open(tmp_path / "third")
    asked.clear()
    assert {task: tail.head for task, tail in found.read_all({}).items()} == heads
    assert _at_server(asked) == for_one == ["ls-remote", "fetch"]
    asked.clear()
    assert {tail.head for tail in found.read_all(heads).values()} == {*heads.values()}
    assert asked == ["ls-remote"], "nothing is new"


@pytest.mark.parametrize("harm", ["rewritten", "the-same-as-another"])
def test_a_task_that_can_not_be_read_hides_no_other(server: GitServer, tmp_path: Path, harm: str) -> None:
    one, other = server.open(tmp_path / "one"), server.open(tmp_path / "other")
    heads = {task: add(one, task, Head(), "first") for task in ("bad", "good")}
    other.read_all({})
    later = {task: add(one, task, head, "second") for task, head in heads.items()}
    server.remove("bad")
    if harm == "rewritten":
        add(server.open(tmp_path / "third"), "bad", Head(), "another")
    else:
        server.replace("bad", "good")
    found = other.read_all(heads)
    assert found["good"].head == later["good"]
    assert found["good"].rows
    assert found["bad"] == UNKNOWN
    with pytest.raises(RollbackError):
        other.read("bad", heads["bad"])


def test_a_process_that_has_sent_more_is_no_rollback(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of one machine: the server's answer is older than what the machine knows by now."""
    one, same_machine = server.open(tmp_path / "one"), server.open(tmp_path / "one")
    head = add(one, "default", Head(), "first")
    real = GitStore._list_refs

    def list_refs(self: GitStore, *patterns: str) -> dict[str, str]:
        found = real(self, *patterns)
        monkeypatch.setattr(GitStore, "_list_refs", real)
        add(same_machine, "default", head, "second")
        return found

    monkeypatch.setattr(GitStore, "_list_refs", list_refs)
    assert one.read("default", head).rows == b""
    monkeypatch.setattr(GitStore, "_list_refs", real)
    assert one.read("default", head).head.serial == 2


def test_a_task_is_handed_out_by_one_question_one_fetch_and_one_push(
    server: GitServer, tmp_path: Path, clean_environment: pytest.MonkeyPatch, asked: list[str]
) -> None:
    environment = {**os.environ, "PHASE_GATE_STORE": f"git:{server.folder}#shop"}
    first = make_project(tmp_path / "first")
    take_many(first, 5, environment)
    shutil.copytree(first, tmp_path / "second", ignore=shutil.ignore_patterns(".phase-gate"))

    def next_task(root: Path) -> str:
        choosing._opened.clear()  # as another process
        asked.clear()
        found = hand_out(open_board(root, environment), NextOptions(by="worker", show=lambda text: None))
        assert isinstance(found, TaskStatus)
        return found.task

    assert [next_task(first), asked] == ["part-0000", ["ls-remote", "push"]]
    for number, root in enumerate((tmp_path / "second", first, tmp_path / "second"), 1):
        assert next_task(root) == f"part-{number:04}"
        assert _at_server(asked) == ["ls-remote", "fetch", "push"]
