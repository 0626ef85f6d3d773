"""Writing is all or nothing, and whatever is refused is said with its cause and a remedy."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate import bound
from phase_gate.errors import StorageError
from phase_gate.storage.files import (
    REAL,
    FileSystem,
    append_durably,
    cut_off,
    make_folder,
    read_bytes,
    write_atomically,
)

Operation = Callable[[FileSystem, Path], object]

OPERATIONS: dict[str, Operation] = {
    "read": lambda files, path: read_bytes(path),
    "write": lambda files, path: write_atomically(files, path, b"new"),
    "append": lambda files, path: append_durably(files, path, b"more\n"),
    "cut-off": lambda files, path: cut_off(files, path, 0),
}


#: The calls that change something, and `open`.
NOTED = ("open", "write", "fsync", "truncate", "replace", "fsync_folder")


class FailsAt(FileSystem):
    """Fails in one call, and keeps a list of all."""

    def __init__(self, call: str, code: int = errno.ENOSPC) -> None:
        self.call, self.code = call, code
        self.calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        real = super().__getattribute__(name)
        return functools.partial(self._note, name, real) if name in NOTED else real

    def _note(self, name: str, real: Callable[..., Any], *arguments: Any) -> Any:
        self.calls.append(name)
        if name != self.call:
            return real(*arguments)
        if name == "write":
            real(arguments[0], arguments[1][:2])  # a full disk takes what still fits
        raise OSError(self.code, os.strerror(self.code))


# --- writing


def test_what_is_acknowledged_was_synced_file_and_folder(tmp_path: Path) -> None:
    written, appended = FailsAt("never"), FailsAt("never")
    write_atomically(written, tmp_path / "state.json", b"new")
    append_durably(appended, tmp_path / "ledger.jsonl", b"line\n")
    assert written.calls == ["open", "write", "fsync", "replace", "fsync_folder"]
    assert appended.calls == ["open", "fsync_folder", "write", "fsync"]


def test_a_folder_above_that_may_not_be_read_is_no_reason_to_fail(tmp_path: Path) -> None:
    make_folder(FailsAt("fsync_folder", errno.EACCES), tmp_path / ".phase-gate")
    assert (tmp_path / ".phase-gate").is_dir()


# --- what is refused


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_symbolic_link_is_refused_and_its_target_untouched(tmp_path: Path, operation: Operation) -> None:
    target, link = tmp_path / "elsewhere", tmp_path / "state.json"
    target.write_bytes(b"somebody else's")
    link.symlink_to(target)
    with pytest.raises(StorageError, match=r"^state\.json is a symbolic link") as caught:
        operation(REAL, link)
    assert str(link) in caught.value.remedy
    assert target.read_bytes() == b"somebody else's"
    assert link.is_symlink()


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_folder_in_its_place_is_refused(tmp_path: Path, operation: Operation) -> None:
    path = tmp_path / "state.json"
    path.mkdir()
    with pytest.raises(StorageError, match=r"^state\.json is a folder, not a file") as caught:
        operation(REAL, path)
    assert caught.value.remedy == f"move {path} out of the way"
    assert os.listdir(tmp_path) == ["state.json"]


def test_nobody_waits_at_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(StorageError, match=r"^state\.json could not be read or written: not a regular file"):
        read_bytes(tmp_path / "state.json")


@pytest.mark.parametrize("operation", [OPERATIONS["read"], OPERATIONS["write"], OPERATIONS["append"]])
@pytest.mark.parametrize("name", ["state.json", "tasks/x/state.json"])
def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path, operation: Operation, name: str) -> None:
    place = tmp_path / ".phase-gate"
    place.write_bytes(b"mine")
    with pytest.raises(StorageError, match=r"^\.phase-gate is a file, not a folder") as caught:
        operation(REAL, place / name)
    assert caught.value.remedy == f"move {place} out of the way"
    assert place.read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("code", "problem", "remedy"),
    [
        pytest.param(errno.ENOSPC, "could not be written: No space left", "free some disk space", id="disk-full"),
        pytest.param(errno.EDQUOT, "could not be written: Disk quota", "free some disk space", id="quota-used-up"),
        pytest.param(
            errno.EROFS,
            "can't be used: Read-only file system",
            "--phase-dir for pytest, --dir for phase-gate",
            id="read-only",
        ),
        pytest.param(errno.EACCES, "can't be used: Permission denied", "make {folder} writable", id="not-ours"),
        pytest.param(errno.EIO, "could not be read or written: Input/output", "check {folder}", id="disk-broken"),
    ],
)
def test_an_error_names_file_cause_and_remedy(tmp_path: Path, code: int, problem: str, remedy: str) -> None:
    with pytest.raises(StorageError) as caught:
        write_atomically(FailsAt("open", code), tmp_path / "state.json", b"new")
    assert caught.value.problem.startswith(f"state.json {problem}")
    assert remedy.format(folder=tmp_path) in caught.value.remedy
    assert (caught.value.slug, caught.value.exit_code) == ("state-storage", 11)


# --- Windows


class WindowsReplace:
    """os.replace on a machine where a scanner holds the file for a while."""

    def __init__(self, refusals: int, code: int) -> None:
        self.refusals, self.code, self.calls = refusals, code, 0

    def __call__(self, source: Path, target: Path) -> None:
        self.calls += 1
        if self.calls <= self.refusals:
            error = PermissionError(errno.EACCES, "held by a scanner")
            error.winerror = self.code  # type: ignore[attr-defined, unused-ignore]
            raise error


@pytest.mark.parametrize("code", [5, 32, 33])
def test_a_sharing_error_is_waited_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int) -> None:
    replace = WindowsReplace(3, code)
    monkeypatch.setattr(bound.os, "replace", replace)
    monkeypatch.setattr(bound.time, "sleep", lambda seconds: None)
    REAL.replace(tmp_path / "a", tmp_path / "b")
    assert replace.calls == 4


def test_a_link_is_refused_where_the_system_can_t_be_told_not_to_follow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.setattr("phase_gate.storage.files._NO_FOLLOW", 0)
    (tmp_path / "elsewhere").write_bytes(b"x")
    (tmp_path / "state.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match=r"^state\.json is a symbolic link"):
        read_bytes(tmp_path / "state.json")
    with pytest.raises(StorageError, match=r"^state\.json is a symbolic link"):
        append_durably(REAL, tmp_path / "state.json", b"y")
    assert (tmp_path / "elsewhere").read_bytes() == b"x"
