"""A store on a git remote: what only git has, as refs, forced pushes, hooks, locks, settings and odd trees."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from phase_gate.errors import MovedError, RollbackError, StorageError, StoreUnreachableError, TamperedError, UsageError
from phase_gate.storage.files import FileSystem
from phase_gate.stores import git_repository
from phase_gate.stores.address import make_address, parse_address
from phase_gate.stores.git import GitStore, find_remote, open_store
from phase_gate.stores.git_repository import Answer
from phase_gate.stores.shared import Head, Tail
from tests.storage.repositories import commit_all, git, posix_only, write, write_project
from tests.stores.kinds import GitServer, make_bare
from tests.stores.test_conformance import add, line

pytestmark = pytest.mark.processes

REF = "refs/phase-gate/shop/default"


@pytest.fixture
def server(tmp_path: Path) -> GitServer:
    bare = make_bare(tmp_path / "remote.git")
    return GitServer(bare, str(bare))


@pytest.fixture
def one(server: GitServer, tmp_path: Path) -> GitStore:
    return server.open(tmp_path / "one")


@pytest.fixture
def other(server: GitServer, tmp_path: Path) -> GitStore:
    return server.open(tmp_path / "other")


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
    assert server.git("ls-tree", "--name-only", f"{REF}~1").split() == ["ab" * 32, "rows"]
    assert server.git("fsck", "--strict", "--no-dangling") == ""


def test_the_same_transaction_is_the_same_commit(server: GitServer, tmp_path: Path) -> None:
    found = set()
    for machine in ("one", "other"):
        add(server.open(tmp_path / machine), Head(), "first")
        found.add(server.git("rev-parse", REF))
        server.remove("default")
    assert len(found) == 1


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
    assert server.git("for-each-ref", "--format=%(refname)") == REF


def test_tidying_up_on_either_side_does_no_harm(server: GitServer, one: GitStore, tmp_path: Path) -> None:
    head = add(one, Head(), "first")
    for place in (server.folder, repository(tmp_path / "one")):
        subprocess.run(["git", f"--git-dir={place}", "gc", "-q", "--prune=now"], check=True)
    second = add(one, head, "second")
    assert one.read("default", Head()).head == second
    assert server.open(tmp_path / "third").read("default", Head()).head == second


def test_a_copy_packs_its_objects_by_itself(
    one: GitStore, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = add(one, Head(), "first")
    objects = repository(tmp_path / "one") / "objects"
    write(objects / "17" / "tmp_obj_one", "")
    monkeypatch.setattr(git_repository, "_MAX_LOOSE", 0)
    second = add(one, head, "second")
    assert list((objects / "pack").glob("*.pack"))
    assert add(one, second, "third") == server.open(tmp_path / "one").read("default", head).head


def test_a_copy_that_was_removed_is_made_anew(one: GitStore, server: GitServer, tmp_path: Path) -> None:
    head = add(one, Head(), "first")
    (tmp_path / "one" / ".phase-gate").rename(tmp_path / "away")
    second = add(server.open(tmp_path / "one"), head, "second")
    assert server.open(tmp_path / "one").read("default", second) == Tail(head=second)


# --- pushes that are refused


def hook(server: GitServer, script: str, name: str = "pre-receive") -> None:
    write(server.folder / "hooks" / name, f"#!/bin/sh\n{script}\n").chmod(0o755)


@posix_only
def test_a_hook_that_refuses_is_not_another_machine(one: GitStore, server: GitServer, fast: None) -> None:
    head = add(one, Head(), "first")
    hook(server, "echo we take no such refs; exit 1")
    with pytest.raises(StoreUnreachableError) as caught:
        add(one, head, "second")
    assert "we take no such refs" in caught.value.problem
    assert "refs/phase-gate/*" in caught.value.remedy
    assert one.read("default", head) == Tail(head=head)


@posix_only
def test_hidden_refs_are_said(one: GitStore, server: GitServer, fast: None) -> None:
    server.git("config", "receive.hideRefs", "refs/phase-gate")
    with pytest.raises(StoreUnreachableError, match="does not accept refs/phase-gate/shop/default"):
        add(one, Head(), "first")


def test_a_lock_on_the_server_is_waited_for(one: GitStore, server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    head = add(one, Head(), "first")
    lock = write(server.folder / f"{REF}.lock", "")
    waits: list[int] = []

    def wait(number: int) -> None:
        waits.append(number)
        lock.unlink()

    monkeypatch.setattr("phase_gate.stores.git._pause", wait)
    second = add(one, head, "second")
    assert one.read("default", head).head == second
    assert waits == [0]


def test_a_lock_that_stays_is_said(one: GitStore, server: GitServer, fast: None) -> None:
    head = add(one, Head(), "first")
    write(server.folder / f"{REF}.lock", "")
    with pytest.raises(StoreUnreachableError):
        add(one, head, "second")


@posix_only
def test_an_answer_that_is_lost_is_asked_for(
    server: GitServer, tmp_path: Path, fake_git: Callable[[str], Path]
) -> None:
    """The push arrives, and git fails all the same; and then another machine is fast."""
    store = server.open(tmp_path / "one")
    head = add(store, Head(), "first")
    fake_git('"$REAL" "$@"; case "$*" in *" push "*) exit 128;; esac')
    store = server.open(tmp_path / "one")
    second = add(store, head, "second")
    assert store.read("default", head).head == second
    assert server.git("rev-list", "--count", REF) == "2"


@posix_only
def test_an_answer_that_is_lost_is_asked_for_where_another_has_followed(server: GitServer, tmp_path: Path) -> None:
    store, other = server.open(tmp_path / "one"), server.open(tmp_path / "other")
    head = add(store, Head(), "first")
    push = store._push

    def lose(*words: str) -> Answer:
        push(*words)
        second = other.read("default", Head()).head
        add(other, second, "third")
        return Answer(128, b"", "gone")

    store._push = lose  # type: ignore[method-assign,assignment]
    last, rows = line(head, "second")
    store.append("default", head, last, rows, {})
    assert store.read("default", last).head.serial == 3


@posix_only
def test_by_ssh_with_the_users_own_command(server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is called stands in for ssh and its server: it runs what it is told, here."""
    ssh = write(tmp_path / "ssh", 'for word; do :; done\nexec sh -c "$word"\n')
    monkeypatch.setenv("GIT_SSH_COMMAND", f"sh {ssh}")
    for remote in (f"ssh://host{server.folder}", f"me@host:{server.folder}"):
        store = open_store(make_address("git", remote, "shop"), tmp_path / "one" / "store", os.environ)
        head = store.read("default", Head()).head
        assert add(store, head, "one more").serial == head.serial + 1
    assert server.git("rev-list", "--count", REF) == "2"


def test_without_git_it_says_so(server: GitServer, tmp_path: Path) -> None:
    address = make_address("git", server.remote, "shop")
    store = GitStore(address, tmp_path / "s" / "store", {"PATH": str(tmp_path)}, remote=server.remote)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(StoreUnreachableError, match="needs git"):
            store.read("default", Head())


# --- a ref that was rewritten


def test_a_forced_push_is_seen(one: GitStore, server: GitServer, tmp_path: Path) -> None:
    head = add(one, Head(), "first")
    server.remove("default")
    server.open(tmp_path / "forger").append("default", Head(), *line(Head(), "forged"), {})
    with pytest.raises(RollbackError):
        one.read("default", head)
    with pytest.raises((RollbackError, MovedError)):
        add(one, head, "second")
    # Also by a process that begins anew, and one whose folder is gone: what this machine knew, it knows.
    with pytest.raises(RollbackError):
        server.open(tmp_path / "one").read("default", Head())


def test_the_same_head_with_another_history_is_seen(one: GitStore, server: GitServer, tmp_path: Path) -> None:
    """The subject of a commit says whatever its writer likes."""
    head = add(one, Head(), "first")
    tree = server.git("rev-parse", f"{REF}^{{tree}}")
    forged = _commit(server, tree, f"phase-gate {head.serial} {head.hash}", "2001-01-01T00:00:00")
    server.git("update-ref", REF, forged)
    with pytest.raises(RollbackError):
        one.read("default", head)


# --- odd commits and trees


def _commit(server: GitServer, tree: str, subject: str, date: str = "1970-01-01T00:00:00Z", *parents: str) -> str:
    environment = {
        **os.environ,
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }
    words = [word for parent in parents for word in ("-p", parent)]
    return subprocess.run(
        ["git", f"--git-dir={server.folder}", "commit-tree", tree, *words, "-m", subject],
        env=environment, check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


def _tree(server: GitServer, *rows: str) -> str:
    return subprocess.run(
        ["git", f"--git-dir={server.folder}", "mktree", "--missing"],
        input="".join(f"{row}\n" for row in rows), check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param((), id="no-rows"),
        pytest.param(("100644 blob {blob}\trows", "100644 blob {blob}\tmore"), id="another-file"),
        pytest.param(("100755 blob {blob}\trows",), id="a-program"),
        pytest.param(("120000 blob {blob}\trows",), id="a-link"),
        pytest.param(("040000 tree {tree}\trows",), id="a-folder"),
        pytest.param(("160000 commit " + "1" * 40 + "\trows",), id="a-submodule"),
        pytest.param(("100644 blob {blob}\trows", "100644 blob {blob}\t" + "A" * 64), id="an-odd-digest"),
    ],
)
def test_an_odd_tree_is_not_read(one: GitStore, server: GitServer, rows: tuple[str, ...]) -> None:
    blob = server.git("hash-object", "-w", "-t", "blob", os.devnull)
    tree = _tree(server, *(row.format(blob=blob, tree=_tree(server)) for row in rows))
    server.git("update-ref", REF, _commit(server, tree, f"phase-gate 1 {'0' * 64}"))
    with pytest.raises((TamperedError, StoreUnreachableError)):
        one.read("default", Head())


@pytest.mark.parametrize(
    "subject", ["", "phase-gate", "phase-gate 0 " + "0" * 64, "phase-gate 1 " + "0" * 64 + "\n\nx"]
)
def test_an_odd_commit_is_not_read(one: GitStore, server: GitServer, subject: str) -> None:
    server.git("update-ref", REF, _commit(server, _tree(server), subject))
    with pytest.raises(TamperedError):
        one.read("default", Head())


def test_a_merge_is_not_read(one: GitStore, server: GitServer) -> None:
    add(one, Head(), "first")
    before = server.git("rev-parse", REF)
    tree = server.git("rev-parse", f"{REF}^{{tree}}")
    side = _commit(server, tree, f"phase-gate 1 {'1' * 64}")
    server.git(
        "update-ref", REF, _commit(server, tree, f"phase-gate 2 {'2' * 64}", "1970-01-01T00:00:00Z", before, side)
    )
    with pytest.raises(TamperedError):
        one.read("default", Head())


def test_no_more_is_read_than_a_ledger_has(one: GitStore, other: GitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add(one, Head(), "first")
    monkeypatch.setattr(git_repository, "_MAX_ALL", 100)
    with pytest.raises(TamperedError, match="more in it"):
        other.read("default", Head())


# --- time


def test_a_line_is_as_old_as_this_machine_has_known_of_it(server: GitServer, tmp_path: Path) -> None:
    clock = [10_000.0]

    def observer() -> GitStore:
        return server.open(tmp_path / "other", clock=lambda: clock[0])

    head = add(server.open(tmp_path / "one"), Head(), "start")
    clock[0] += 3600
    assert observer().age("default", head.serial) == 0
    clock[0] += 60
    assert observer().age("default", head.serial) == 60
    # A clock that is put back counts from then on.
    clock[0] -= 3600
    assert observer().age("default", head.serial) == 0
    clock[0] += 5
    assert observer().age("default", head.serial) == 5


def test_what_was_seen_may_be_damaged(server: GitServer, tmp_path: Path) -> None:
    store = server.open(tmp_path / "other")
    store.age("default", 1)
    (file,) = (tmp_path / "other").rglob("seen/*.json")
    file.write_text("no document", encoding="utf-8")
    assert store.age("default", 1) == 0


# --- which remote is meant


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param("/srv/store.git", "/srv/store.git", id="a-folder"),
        pytest.param("./store.git", "{root}/store.git", id="beside-the-project-file"),
        pytest.param("../store.git", "{above}/store.git", id="above"),
        pytest.param("file:///srv/store.git", "file:///srv/store.git", id="file"),
        pytest.param("git@host:team/store.git", "git@host:team/store.git", id="scp"),
        pytest.param("host:store.git", "host:store.git", id="scp-without-a-user"),
        pytest.param("ssh://host/store.git", "ssh://host/store.git", id="ssh"),
        pytest.param("https://host/store.git", "https://host/store.git", id="https"),
        pytest.param("http://127.0.0.1:80/s.git", "http://127.0.0.1:80/s.git", id="http-here"),
        pytest.param("http://localhost/s.git", "http://localhost/s.git", id="http-here-by-name"),
        pytest.param("http://[::1]:80/s.git", "http://[::1]:80/s.git", id="http-here-by-six"),
        pytest.param("http://127.0.0.1.example.com/s.git", None, id="http-elsewhere-by-a-trick"),
        pytest.param("http://127.0.0.1@example.com/s.git", None, id="http-elsewhere-by-a-user"),
        pytest.param("http://example.com/s.git", None, id="http-elsewhere"),
        pytest.param("team", "git@host:team.git", id="a-remote-by-its-name"),
        pytest.param("folder", "{above}/remote.git", id="a-remote-that-is-a-folder"),
        pytest.param("inside", None, id="a-remote-inside-of-the-project"),
        pytest.param("evil", None, id="a-remote-that-is-a-command"),
        pytest.param("nothing", None, id="no-remote"),
    ],
)
def test_which_remote_is_meant(tmp_path: Path, place: str, expected: str | None) -> None:
    project = tmp_path / "project"
    remotes = {
        "team": "git@host:team.git",
        "folder": "../remote.git",
        "inside": "./tests/x.git",
        "evil": "ext::sh -c id",
    }
    sections = (f'[remote "{name}"]\n\turl = {url}\n' for name, url in remotes.items())
    write(project / ".git" / "config", "".join(("[core]\n\tbare = false\n", *sections)))
    write(project / ".git" / "HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir()
    address = make_address("git", place, "shop")
    if expected is None:
        with pytest.raises(UsageError):
            find_remote(address, project)
    else:
        assert find_remote(address, project) == expected.format(root=project, above=tmp_path)


# --- settings that are not the user's


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    found = tmp_path / "canary"
    yield found
    assert not found.exists(), "a program of the repository was run"


SETTINGS = (
    "core.sshCommand",
    "core.fsmonitor",
    "core.askPass",
    "core.gitProxy",
    "credential.helper",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "url.ext::sh -c x.insteadOf",
    "gpg.program",
)


@posix_only
@pytest.mark.sampled(5)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("place", ["project", "copy"])
def test_a_program_that_a_repository_names_is_not_run(
    server: GitServer, tmp_path: Path, canary: Path, setting: str, place: str
) -> None:
    project = write_project(tmp_path / "project")
    git(project, "init", "-q")
    git(project, "remote", "add", "origin", str(server.folder))
    program = write(tmp_path / "program", f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    program.chmod(0o755)
    address, cache = parse_address("git:origin#shop"), project / ".phase-gate" / "store"
    head = add(open_store(address, cache, os.environ), Head(), "first")
    value = str(server.folder) if "insteadOf" in setting else str(program)
    # The state folder may have come with the project, in an archive.
    folder = project if place == "project" else repository(project)
    git(folder, "config", "--file", str(folder / (".git/config" if place == "project" else "config")), setting, value)
    for name in ("pre-push", "reference-transaction", "post-update", "pre-auto-gc"):
        write(folder / ("hooks" if place == "copy" else ".git/hooks") / name, program.read_text()).chmod(0o755)
    store = open_store(address, cache, os.environ)
    assert store.read("default", add(store, head, "second")).head.serial == 2


@pytest.mark.parametrize("name", ["commondir", "config.worktree", "info/grafts", "objects/info/alternates", "shallow"])
def test_a_copy_that_leads_elsewhere_is_not_used(server: GitServer, tmp_path: Path, name: str) -> None:
    add(server.open(tmp_path / "one"), Head(), "first")
    write(repository(tmp_path / "one") / name, f"{tmp_path}\n")
    with pytest.raises(StorageError, match="not ours"):
        server.open(tmp_path / "one").read("default", Head())


@posix_only
def test_a_copy_that_is_a_link_is_not_used(server: GitServer, tmp_path: Path) -> None:
    add(server.open(tmp_path / "one"), Head(), "first")
    objects = repository(tmp_path / "one") / "objects"
    objects.rename(tmp_path / "objects")
    objects.symlink_to(tmp_path / "objects")
    with pytest.raises(StorageError, match="not ours"):
        server.open(tmp_path / "one").read("default", Head())


def test_a_process_that_dies_leaves_no_broken_ref(
    one: GitStore, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of any name among the refs is one, and git fetches nothing any more."""
    head = add(one, Head(), "first")
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(FileSystem, "open", _die_among_refs)
        add(one, head, "second")
    there = server.open(tmp_path / "other")
    third = add(there, there.read("default", Head()).head, "third")
    assert server.open(tmp_path / "one").read("default", head).head == third


def _die_among_refs(files: FileSystem, path: Path, flags: int) -> int:
    descriptor = os.open(path, flags, 0o666)
    if "refs" in path.parts:
        raise KeyboardInterrupt
    return descriptor


@posix_only
def test_the_environment_of_a_hook_is_not_ours(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests are run by a hook of git, too, which speaks of its own repository."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    store = server.open(tmp_path / "one")
    assert store.read("default", add(store, Head(), "first")).head.serial == 1


@posix_only
def test_a_server_that_hangs_is_left(
    server: GitServer, tmp_path: Path, fake_git: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it has started."""
    ids = tmp_path / "ids"
    fake_git(f"sleep 1000 & echo $! > {ids}; wait")
    monkeypatch.setattr("phase_gate.stores.git_repository.LIMIT", 1.0)
    with pytest.raises(StoreUnreachableError, match="within 1 s"):
        server.open(tmp_path / "one").read("default", Head())
    child = Path(f"/proc/{int(ids.read_text())}/stat")
    end = time.monotonic() + 60  # what is killed ends when it is its turn
    while _lives(child):
        assert time.monotonic() < end, "it was to be ended"
        time.sleep(0.05)


@posix_only
@pytest.mark.parametrize("accepts", [True, False], ids=["accepts-and-says-nothing", "accepts-no-connection"])
@pytest.mark.parametrize("scheme", ["http", "ssh"])
def test_a_server_that_is_away_is_left_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accepts: bool, scheme: str
) -> None:
    """Long before git, or its libraries, would give up: 300 s."""
    with socket.socket() as listening, contextlib.ExitStack() as waiting:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8 if accepts else 0)
        port = listening.getsockname()[1]
        for _ in range(0 if accepts else 4):  # those that fill the queue
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        monkeypatch.setattr("phase_gate.stores.git_repository.LIMIT", 0.5)
        address = parse_address(f"git:{scheme}://127.0.0.1:{port}/x.git#shop")
        with pytest.raises(StoreUnreachableError, match="does not answer: nothing within"):
            open_store(address, tmp_path / "store", os.environ).read("default", Head())


def _lives(status: Path) -> bool:
    try:
        return not status.read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return False


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    address = parse_address("git:https://me:s3cret@127.0.0.1:1/x.git#shop")
    store = open_store(address, tmp_path / "store", os.environ)
    with pytest.raises(StoreUnreachableError) as caught:
        store.read("default", Head())
    assert "s3cret" not in str(caught.value)


# --- many at once


def test_writers_at_once_lose_nothing(server: GitServer, tmp_path: Path) -> None:
    def write_some(name: str) -> None:
        store = server.open(tmp_path / name)
        done = 0
        while done < 3:
            head = store.read("default", Head()).head
            try:
                add(store, head, f"{name} {done}")
            except MovedError:
                continue
            done += 1

    threads = [Thread(target=write_some, args=(f"machine{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = server.open(tmp_path / "reader").read("default", Head()).rows.splitlines()
    assert len(rows) == 9


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for nothing between tries."""
    monkeypatch.setattr("phase_gate.stores.git._pause", lambda number: None)
