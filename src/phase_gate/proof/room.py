"""Run tests in a room: a copy of the project in which some files are laid out and others are left out.

At the project's own path where the system allows it (`namespace`), else in a copied folder. What the tests did comes
back through a socket; nothing of the user's is written, and nothing stays behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.proof import namespace
from phase_gate.proof.copied import copy_project, remove_left_rooms, room_folder
from phase_gate.proof.model import Kind, Report, RoomRun
from phase_gate.proof.reporter import VARIABLE
from phase_gate.storage.ownership import is_in_environment
from phase_gate.values import Value, field, replace

#: How much of what pytest printed is kept, for those who ask why a room told nothing.
_OUTPUT_KEPT = 4000
#: What must not reach the tests in a room: they are no run of any task.
_OURS = "PHASE_GATE_"


class Room(Value):
    """What differs from the project as it lies there."""

    root: Path
    #: Path from the root -> content.
    contents: Mapping[str, bytes] = field(default_factory=dict)
    #: Paths that are not there.
    left_out: frozenset[str] = frozenset()
    #: Folders with sources: their bytecode is not there, so that none of it is believed.
    folders: frozenset[str] = frozenset()


class NoRoomError(Exception):
    """No room can be made here; says why."""


def run_in_room(
    room: Room,
    arguments: tuple[str, ...],
    *,
    timeout: float,
    wanted: Iterable[str] = (),
    watched: Mapping[str, Mapping[str, str]] | None = None,
    kind: Kind | None = None,
    environment: Mapping[str, str] | None = None,
) -> RoomRun:
    """Run pytest with these arguments in the room. Raises NoRoomError where none can be made.

    :param wanted: the tests to run, without their parameters; where left out, all that are collected.
    :param watched: file -> first line -> name, of functions to watch.
    :param kind: insists on one kind of room; where left out, one at the same path is tried first.
    """
    given = {name: text for name, text in (environment or os.environ).items() if not name.startswith(_OURS)}
    order: dict[str, Any] = {"watched": {path: dict(names) for path, names in (watched or {}).items()}}
    order["wanted"] = sorted(wanted)
    remove_left_rooms()
    if kind != "copied" and _may_mount(room.root):
        run = _run_mounted(room, arguments, timeout, order, given)
        if run is not None:
            return run
        if kind == "mounted":
            raise NoRoomError("this system does not allow a mount over the project")
    elif kind == "mounted":
        raise NoRoomError("this system does not allow a mount over the project")
    return _run_copied(room, arguments, timeout, order, given)


#: Every target has its say: the first one that fails, or can't be imported, ends nothing.
_TO_THE_END = ("--maxfail=0", "--continue-on-collection-errors")


def _command(arguments: tuple[str, ...], temporary: Path) -> list[str]:
    # What tests write into temporary folders: not among the user's, of which pytest keeps only the last three.
    ours = ("-p", "phase_gate.proof.reporter", *_TO_THE_END, f"--basetemp={temporary / 'made'}")
    return [sys.executable, "-m", "pytest", *arguments, *ours]


#: Once it was refused here, it will be refused again.
_refused: set[str] = set()


def _may_mount(root: Path) -> bool:
    if not sys.platform.startswith("linux") or "mounted" in _refused:
        return False
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    inside = f"{os.path.realpath(root)}/"
    # Something is mounted below the root: an overlay would not show it.
    return not any(row.split()[4].startswith(inside) for row in mounts.splitlines() if row.count(" ") > 4)


def _run_mounted(
    room: Room, arguments: tuple[str, ...], timeout: float, order: dict[str, Any], environment: dict[str, str]
) -> RoomRun | None:
    """Return what the run showed; None where no room can be made this way."""
    root = os.path.realpath(room.root)
    plan_out, plan_in = os.pipe()
    with room_folder() as temporary, _Conversation({**order, "root": root}) as conversation:
        plan = {
            "root": root,
            "cwd": root,
            "uid": os.getuid(),
            "gid": os.getgid(),
            "left_out": sorted(room.left_out),
            "caches": sorted(room.folders),
            "command": _command(arguments, temporary),
            "environment": {**environment, VARIABLE: str(conversation.number)},
        }
        launcher = [sys.executable, "-I", "-S", namespace.__file__, str(plan_out)]
        try:
            process = _start(launcher, root, dict(os.environ), (plan_out, conversation.number))
        finally:
            os.close(plan_out)
        with contextlib.suppress(BrokenPipeError), os.fdopen(plan_in, "wb") as target:
            namespace.write_plan(target, plan, dict(room.contents))
        run = conversation.hear(process, timeout, "mounted")
    if process.returncode == namespace.NO_ROOM and not run.reports:
        _refused.add("mounted")
        return None
    return run


def _run_copied(
    room: Room,
    arguments: tuple[str, ...],
    timeout: float,
    order: dict[str, Any],
    environment: dict[str, str],
) -> RoomRun:
    with room_folder() as folder, room_folder() as temporary:
        _furnish(room, folder)
        roots = [str(folder / path) if path != "." else str(folder) for path in import_roots(room.root)]
        others = [environment["PYTHONPATH"]] if environment.get("PYTHONPATH") else []
        with _Conversation({**order, "root": str(folder)}) as conversation:
            given = {
                **environment,
                VARIABLE: str(conversation.number),
                "PYTHONPATH": os.pathsep.join([*roots, *others]),
                # Its bytecode must not be taken for that of the sources that it was copied from, nor the other way.
                "PYTHONDONTWRITEBYTECODE": "1",
                "GIT_OPTIONAL_LOCKS": "0",
            }
            words = tuple(word.replace(os.path.realpath(room.root), str(folder)) for word in arguments)
            process = _start(_command(words, temporary), str(folder), given, (conversation.number,))
            run = conversation.hear(process, timeout, "copied")
        return _judge_origins(run, room.root, folder)


def keep_room(room: Room, folder: Path) -> None:
    """Copy the room to a folder that stays, for people who want to look."""
    folder.mkdir(parents=True)
    _furnish(room, folder)


def _furnish(room: Room, folder: Path) -> None:
    try:
        copy_project(room.root, folder)
        namespace.lay_out(
            str(folder), {"left_out": sorted(room.left_out), "caches": sorted(room.folders)}, dict(room.contents)
        )
    except (OSError, shutil.Error) as error:
        raise NoRoomError(f"the project could not be copied: {error}") from error


def _judge_origins(run: RoomRun, root: Path, folder: Path) -> RoomRun:
    """Return the run, as nothing that can be believed if a module of the project came from elsewhere."""
    top = os.path.realpath(root)
    strays = [
        file
        for file in map(os.path.realpath, run.modules)
        if file.startswith(top + os.sep) and not is_in_environment(file, top)
    ]
    if not strays or run.problem:
        return run
    shown = os.path.relpath(strays[0], top)
    return replace(run, problem=f"{shown} was imported from the project itself, not from the room")


def import_roots(root: Path) -> list[str]:
    """Return the folders of the project that Python looks for modules in, from the root."""
    top = os.path.realpath(root)
    found = [os.path.realpath(each or os.getcwd()) for each in sys.path]
    inside = [each for each in found if each.startswith(top + os.sep) and not is_in_environment(each + os.sep, top)]
    inside += [os.path.join(top, name) for name in ("src",) if os.path.isdir(os.path.join(top, name))]
    return [os.path.relpath(each, top) for each in dict.fromkeys(each for each in inside if os.path.isdir(each))]


def _start(
    command: list[str], folder: str, environment: dict[str, str], inherited: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=inherited,
        start_new_session=True,
    )


class _Conversation:
    """The socket between us and the reporter in a room."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._word = os.urandom(16).hex()
        self._ours, self._theirs = socket.socketpair()
        self.number = self._theirs.fileno()
        self._order = json.dumps({**order, "word": self._word, "maker": os.getpid()}).encode() + b"\n"

    def __enter__(self) -> _Conversation:
        # From a thread: a long order would wait for a reader that is not there yet.
        threading.Thread(target=self._ask, daemon=True).start()
        return self

    def _ask(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.sendall(self._order)

    def __exit__(self, *details: object) -> None:
        self._ours.close()
        self._theirs.close()

    def hear(self, process: subprocess.Popen[bytes], timeout: float, kind: Kind) -> RoomRun:
        """Read until the process has ended, or its time is over."""
        self._theirs.close()
        began = time.monotonic()
        said, printed, is_late = bytearray(), bytearray(), False
        assert process.stdout is not None, "it was asked for"
        with selectors.DefaultSelector() as waiting, _ended(process):
            waiting.register(self._ours, selectors.EVENT_READ, said)
            waiting.register(process.stdout, selectors.EVENT_READ, printed)
            while waiting.get_map():
                left = began + timeout - time.monotonic()
                if left <= 0:
                    is_late = True
                    break
                # A grandchild may hold the output open for ever: the end of the process is what counts.
                if not _read_ready(waiting, min(left, 0.05)) and process.poll() is not None:
                    while _read_ready(waiting, 0):
                        pass
                    break
        seconds = time.monotonic() - began
        output = bytes(printed[-_OUTPUT_KEPT:]).decode("utf-8", "replace")
        return _read_answers(bytes(said), self._word, kind, seconds, output, is_late=is_late)


def _read_ready(waiting: selectors.BaseSelector, timeout: float) -> bool:
    """Read once from all that have something; tell whether any had."""
    has_read = False
    for key, _ in waiting.select(timeout):
        try:
            part = os.read(key.fd, 1 << 16)
        except ConnectionResetError:  # it ended, and has not read our order
            part = b""
        if part:
            key.data.extend(part)
            has_read = True
        else:
            waiting.unregister(key.fileobj)
    return has_read


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process and all that it started, whatever happens."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _read_answers(said: bytes, word: str, kind: Kind, seconds: float, output: str, *, is_late: bool) -> RoomRun:
    reports: dict[str, Report] = {}
    reached: dict[str, frozenset[str]] = {}
    modules: tuple[str, ...] = ()
    has_ended, problem = False, ""
    for line in said.split(b"\n"):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if not isinstance(answer, dict) or answer.get("word") != word:
            continue
        if answer["kind"] == "reached":
            reached[answer["id"]] = frozenset(answer["names"])
        elif answer["kind"] == "ended":
            modules, has_ended = tuple(answer["modules"]), True
        elif answer["kind"] == "broken":
            problem = f"{answer['file']} can't be imported"
        elif answer["kind"] == "uncollectable":
            reports[answer["id"]] = Report(
                has_passed=False, message=answer["message"], missing=answer["missing"], broken=answer["broken"]
            )
        else:
            _add_report(reports, answer)
    if is_late:
        problem = f"it took longer than {seconds:.0f} s"
    elif not has_ended and not problem:
        problem = "pytest ended without a word"
    return RoomRun(
        kind=kind,
        seconds=seconds,
        reports=reports,
        reached=reached,
        modules=modules,
        problem=problem,
        output=output,
        is_silent=not has_ended and not is_late and not reports,
    )


def _add_report(reports: dict[str, Report], answer: dict[str, Any]) -> None:
    known = reports.get(answer["id"])
    if known is not None and not known.has_passed:
        return  # the first failure says why
    # A skipped or expected failure is no pass: the target did not show what it is for.
    has_passed = answer["outcome"] == "passed" and not answer["expected"]
    reports[answer["id"]] = Report(
        has_passed=has_passed,
        place="" if has_passed else answer["place"],
        message="" if has_passed else answer["message"],
        missing="" if has_passed else answer["missing"],
    )
