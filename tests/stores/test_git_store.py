"""A store on a git remote: what only git has, as refs, forced pushes, hooks, locks, settings and odd trees."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import RollbackError, StorageError, StoreUnreachableError, TamperedError, UsageError
from phase_gate.stores import choosing, git_repository
from phase_gate.stores.choosing import parse_address
from phase_gate.stores.git_repository import Answer, Repository
from phase_gate.stores.git_store import GitStore, find_remote, open_store
from phase_gate.stores.shared import Head, Tail
from tests.evidence.processes import has_ended
from tests.storage.repositories import commit_all, git, posix_only, write, write_project
from tests.stores.kinds import GitServer, make_bare
from tests.stores.test_conformance import add, line

pytestmark = pytest.mark.processes

REF = "refs/phase-gate/shop/default"


@pytest.fixture
def server(tmp_path: Path) -> GitServer:
    return GitServer(make_bare(tmp_path / "remote.git"))


@pytest.fixture
def one(server: GitServer, tmp_path: Path) -> GitStore:
    return server.open(tmp_path / "one")


@pytest.fixture
def other(server: GitServer, tmp_path: Path) -> GitStore:
    return server.open(tmp_path / "other")


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing between tries."""
    monkeypatch.setattr("phase_gate.stores.git_store._pause", lambda number: None)


def repository(machine: Path) -> Path:
    (found,) = (machine / ".phase-gate" / "store").glob("git-*/repository.git")
    return found


# --- what is on the server


def test_a_transaction_is_a_commit_that_tells_no_more_than_its_lines(one: GitStore, server: GitServer) -> None:
    head = add(one, Head(), "first", **{"ab" * 32: b"packed"})
    last = add(one, head, "second")
    assert server.git("for-each-ref", "--format=%(refname)").split() == [REF]
    assert server.git("log", "--format=%an %ae %cn %at %ct %s", REF).splitlines() == [
        f"phase-gate phase-gate@localhost phase-gate 0 0 phase-gate {each.serial} {each.hash}" for each in (last, head)
    ]
    assert server.git("ls-tree", "--name-only", f"{REF}~1").split() == ["objects", "rows"]
    assert server.git("fsck", "--strict", "--no-dangling") == ""


def test_nothing_of_the_users_repository_is_touched(server: GitServer, tmp_path: Path) -> None:
    project = write_project(tmp_path / "project")
    git(project, "init", "-q")
    commit_all(project)
    git(project, "remote", "add", "origin", str(server.folder))

    def look() -> tuple[object, ...]:
        files = {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()}
        return git(project, "status", "--porcelain"), git(project, "for-each-ref"), files

    before = look()
    store = open_store(parse_address("git:origin#shop"), project / ".phase-gate" / "store", os.environ)
    store.read("default", add(store, Head(), "first"))
    assert look() == before


# --- pushes that are refused


@posix_only
def test_a_hook_that_refuses_is_not_another_machine(one: GitStore, server: GitServer, fast: None) -> None:
    head = add(one, Head(), "first")
    hook = write(server.folder / "hooks" / "pre-receive", "#!/bin/sh\necho we take no such refs; exit 1\n")
    hook.chmod(0o755)
    with pytest.raises(StoreUnreachableError) as caught:
        add(one, head, "second")
    assert "we take no such refs" in caught.value.problem
    assert "refs/phase-gate/*" in caught.value.remedy
    assert one.read("default", head) == Tail(head=head)


def test_a_lock_on_the_server_is_waited_for(one: GitStore, server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    head = add(one, Head(), "first")
    lock = write(server.folder / f"{REF}.lock", "")
    monkeypatch.setattr("phase_gate.stores.git_store._pause", lambda number: lock.unlink() if number else None)
    second = add(one, head, "second")
    assert one.read("default", head).head == second
    lock = write(server.folder / f"{REF}.lock", "")
    monkeypatch.setattr("phase_gate.stores.git_store._pause", lambda number: None)
    with pytest.raises(StoreUnreachableError):
        add(one, second, "third")


@pytest.mark.parametrize("follows", [False, True], ids=["alone", "another-has-followed"])
def test_an_answer_that_is_lost_is_asked_for(server: GitServer, one: GitStore, other: GitStore, follows: bool) -> None:
    """The push arrives, and git fails all the same; and then another machine is fast."""
    head = add(one, Head(), "first")
    push = one._push

    def lose(*words: str) -> Answer:
        push(*words)
        if follows:
            add(other, other.read("default", Head()).head, "third")
        return Answer(128, b"", "gone")

    one._push = lose  # type: ignore[method-assign,assignment]
    last, rows = line(head, "second")
    one.append("default", head, last, rows, {})
    assert one.read("default", head).head.serial == 2 + follows
    assert server.git("rev-list", "--count", REF) == str(2 + follows)


# --- a ref that was rewritten


def test_the_same_head_with_another_history_is_seen(one: GitStore, server: GitServer) -> None:
    """The subject of a commit says whatever its writer likes."""
    head = add(one, Head(), "first")
    forged = _commit(server, f"{REF}^{{tree}}", f"phase-gate {head.serial} {head.hash}")
    server.git("update-ref", REF, forged)
    with pytest.raises(RollbackError):
        one.read("default", head)


# --- odd commits and trees


def _commit(server: GitServer, tree: str, subject: str, *parents: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    who = ("-c", "user.name=x", "-c", "user.email=x")
    return server.git(*who, "commit-tree", server.git("rev-parse", tree), *words, "-m", subject)


def _tree(server: GitServer, *rows: str) -> str:
    return subprocess.run(
        ["git", f"--git-dir={server.folder}", "mktree", "--missing"],
        input="".join(f"{row}\n" for row in rows), check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


@pytest.mark.parametrize("subject", ["x", "phase-gate", "phase-gate 0 " + "0" * 64, "phase-gate 1 " + "0" * 65])
def test_an_odd_commit_is_not_read(one: GitStore, server: GitServer, subject: str) -> None:
    server.git("update-ref", REF, _commit(server, _tree(server), subject))
    with pytest.raises(TamperedError):
        one.read("default", Head())


# --- which remote is meant


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("/srv/store.git", "/srv/store.git", id="a-folder"),
        pytest.param("https://host/store.git", "https://host/store.git", id="https"),
        pytest.param("team", "git@host:team.git", id="a-remote-by-its-name"),
        pytest.param("folder", "{above}/remote.git", id="a-remote-that-is-a-folder"),
        pytest.param("inside", None, id="a-remote-inside-of-the-project"),
        pytest.param("nothing", None, id="no-remote"),
    ],
)
def test_which_remote_is_meant(tmp_path: Path, place: str, expected: str | None) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    remotes = {"team": "git@host:team.git", "folder": "../remote.git", "inside": "./x.git"}
    for name, url in remotes.items():
        git(project, "config", f"remote.{name}.url", url)
    address = parse_address(f"git:{place}#shop")
    if expected is None:
        with pytest.raises(UsageError):
            find_remote(address, project)
    else:
        assert find_remote(address, project) == expected.format(root=project, above=tmp_path)


@pytest.mark.parametrize(
    "remote",
    [
        "ext::sh -c touch% canary",
        "http://127.0.0.1.example.com/s.git",
        "http://127.0.0.1@example.com/s.git",
        "ftp://example.com/s.git",
    ],
)
def test_a_protocol_that_runs_a_command_or_sends_in_the_clear_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnreachableError, match=r"transport '(ext|http|ftp)' not allowed"):
        open_store(parse_address(f"git:{remote}#shop"), tmp_path / "store", os.environ).read("default", Head())
    assert not list(tmp_path.rglob("canary"))


# --- settings that are not the user's


SETTINGS = (
    *("core.sshCommand", "core.fsmonitor", "core.askPass", "core.gitProxy", "credential.helper"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "url.ext::sh -c x.insteadOf", "gpg.program"),
)


@posix_only
@pytest.mark.sampled(5)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("place", ["project", "copy"])
def test_a_program_that_a_repository_names_is_not_run(
    server: GitServer, tmp_path: Path, setting: str, place: str
) -> None:
    project, canary = write_project(tmp_path / "project"), tmp_path / "canary"
    git(project, "init", "-q")
    git(project, "remote", "add", "origin", str(server.folder))
    program = write(tmp_path / "program", f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    program.chmod(0o755)
    address, cache = parse_address("git:origin#shop"), project / ".phase-gate" / "store"
    head = add(open_store(address, cache, os.environ), Head(), "first")
    value = str(server.folder) if "insteadOf" in setting else str(program)
    # The state folder may have come with the project, in an archive.
    folder = project / ".git" if place == "project" else repository(project)
    git(project, "config", "--file", str(folder / "config"), setting, value)
    if place == "copy":
        elsewhere = tmp_path / "elsewhere"
        git(project, "config", "--file", str(write(elsewhere / "config", "")), setting, value)
        write(folder / "commondir", f"{elsewhere}\n")
    for name in ("pre-push", "reference-transaction", "post-update", "pre-auto-gc"):
        write(folder / "hooks" / name, program.read_text()).chmod(0o755)
    store = open_store(address, cache, os.environ)
    assert store.read("default", add(store, head, "second")).head.serial == 2
    assert not canary.exists(), "a program of the repository was run"


@posix_only
def test_a_copy_that_is_a_link_is_not_used(server: GitServer, tmp_path: Path) -> None:
    add(server.open(tmp_path / "one"), Head(), "first")
    path = repository(tmp_path / "one") / "objects"
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "away")
    with pytest.raises(StorageError, match="symbolic link"):
        server.open(tmp_path / "one").read("default", Head())


@posix_only
def test_a_server_that_hangs_is_left_with_all_that_was_started(
    server: GitServer, tmp_path: Path, fake_git: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = tmp_path / "ids"
    fake_git(f"sleep 1000 & echo $! > {ids}; wait")
    monkeypatch.setattr(git_repository, "LIMIT", 1.0)
    with pytest.raises(StoreUnreachableError, match="nothing within 1 s"):
        server.open(tmp_path / "one").read("default", Head())
    assert has_ended(int(ids.read_text()))


def test_a_copy_that_git_cleans_up_knows_what_it_has_seen(
    server: GitServer, one: GitStore, other: GitStore, tmp_path: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    """As after some thousand objects: git packs them, in the middle of a fetch."""
    settings = write(tmp_path / "settings", "[gc]\n\tautoPackLimit = 1\n[fetch]\n\tunpackLimit = 1\n")
    clean_environment.setenv("GIT_CONFIG_GLOBAL", str(settings))
    reader, head = server.open(tmp_path / "reader"), Head()
    for number in range(3):
        head = add(one, head, f"number {number}")
        assert reader.read("default", Head()).head == head
    server.cut_back("default", 1)
    with pytest.raises(RollbackError):
        reader.read("default", Head())


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    address = parse_address("git:https://me:s3cret@127.0.0.1:1/x.git#shop")
    with pytest.raises(StoreUnreachableError) as caught:
        open_store(address, tmp_path / "store", os.environ).read("default", Head())
    assert "s3cret" not in str(caught.value)
    assert "not allowed" not in str(caught.value), "https may be used"


# --- how often git is asked, and its server: a list of tasks costs no more than one task does


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the server was asked for, by git's own words; a look at our own repository takes a few milliseconds."""
    found: list[str] = []
    real: Callable[..., Any] = Repository.call

    def call(self: Repository, *words: str, **more: Any) -> Any:
        found.extend({words[0]} & {"ls-remote", "fetch", "push"})
        return real(self, *words, **more)

    monkeypatch.setattr(Repository, "call", call)
    yield found
    choosing._opened.clear()


def add_to(store: GitStore, task: str, after: Head, text: str) -> Head:
    last, rows = line(after, f"{task} {text}")
    store.append(task, after, last, rows, {sha256(task.encode()).hexdigest(): task.encode()})
    return last


def test_many_tasks_take_as_many_questions_as_one(server: GitServer, tmp_path: Path, asked: list[str]) -> None:
    one, other = server.open(tmp_path / "one"), server.open(tmp_path / "other")
    heads = {"task-0": add_to(one, "task-0", Head(), "first")}
    asked.clear()
    assert {task: tail.head for task, tail in other.read_all({}).items()} == heads
    assert asked == ["ls-remote", "fetch"]
    heads = {
        f"task-{number}": add_to(one, f"task-{number}", heads.get(f"task-{number}", Head()), "next")
        for number in range(6)
    }
    for known in ({}, heads):
        asked.clear()
        assert {task: tail.head for task, tail in other.read_all(known).items()} == heads
        assert asked == (["ls-remote"] if known else ["ls-remote", "fetch"])


def test_a_process_that_has_sent_more_is_no_rollback(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes of one machine: the server's answer is older than what the machine knows by now."""
    one, same_machine = server.open(tmp_path / "one"), server.open(tmp_path / "one")
    head = add(one, Head(), "first")
    real = one._repository.call

    def call(*words: str, **given: bytes) -> Answer:
        found = real(*words, **given)
        monkeypatch.setattr(one._repository, "call", real)
        add(same_machine, head, "second")
        return found

    monkeypatch.setattr(one._repository, "call", call)
    assert one.read("default", head).rows == b""
    assert one.read("default", head).head.serial == 2
