"""Run pytest in a sandbox: a copy of the project in which some files are replaced and others are left out.

The sandbox is at the project's own path if the system allows it, else in a copied folder. Results come back through a
pipe, because sandboxes of coding agents may block sockets. The code at the other end is in `inside`. The user's files
are never written, and the sandbox is removed afterwards.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.codec import parse_foreign
from phase_gate.evidence.process.tree import end_children
from phase_gate.proof import overlay
from phase_gate.storage.listing import UNNEEDED_FOLDERS
from phase_gate.storage.root import is_in_environment
from phase_gate.values import Value, field

#: How a sandbox is created: mounted at the project's own path, or copied to a folder.
Kind = Literal["mounted", "copied"]

#: The package that runs in the sandbox.
_INSIDE = Path(__file__).with_name("inside")
#: Prefix of variables that tests in a sandbox must not see, because they do not belong to a task.
_OUR_VARIABLES = "PHASE_GATE_"
#: Kinds of sandboxes that this system has refused. They are not tried again.
_refused: set[str] = set()
#: Where Linux lists what is mounted.
_MOUNTS = "/proc/self/mountinfo"
#: Mounts an overlay over the working directory, with its files in memory: they disappear with the last process in the
#: namespace, however that process ends. The arguments are an empty folder, further options, and the command to run.
_MOUNT = """\
set -e
mount -t tmpfs -o mode=700 none "$1"
mkdir -m 755 "$1/upper" "$1/work"
mount -t overlay -o "lowerdir=.,upperdir=$1/upper,workdir=$1/work$2" none .
umount -l "$1"
cd "$PWD"
shift 2
exec "$@"
"""
#: How much of pytest's output is kept, to explain a run without results.
_OUTPUT_KEPT = 4000


class Heard(Value):
    """The answers and the output of a process that has ended."""

    #: The kind of the sandbox, and its path: the root itself, or a copy.
    kind: Kind
    folder: str
    #: Only answers with the secret word.
    answers: tuple[Mapping[str, Any], ...]
    seconds: float
    #: The end of its output.
    output: str = ""
    #: It was killed at its limit.
    is_late: bool = False
    status: int = 0


class Sandbox(Value):
    """How a sandbox differs from the project."""

    root: Path
    #: Path, relative to the root -> content.
    contents: Mapping[str, bytes] = field(default_factory=dict)
    #: Paths that do not exist in the sandbox.
    left_out: frozenset[str] = frozenset()
    #: Folders with sources. Their bytecode is left out, because it may be stale.
    folders: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Return whether a file exists in the sandbox."""
        return path in self.contents or (path not in self.left_out and (self.root / path).exists())

    def read(self, path: str) -> bytes:
        """Return the content of a file in the sandbox. Raises OSError if it can't be read."""
        return self.contents[path] if path in self.contents else (self.root / path).read_bytes()


class NoSandboxError(Exception):
    """No sandbox can be created. The message is the reason."""


def visit_sandbox(sandbox: Sandbox, arguments: Iterable[str], order: Mapping[str, Any], limit: float) -> Heard:
    """Run pytest in the sandbox, and return the answers. Raises NoSandboxError if no sandbox can be created.

    :param arguments: arguments of pytest. For a copied sandbox, the path of the root in them is replaced.
    :param order: instructions for the reporter.
    :param limit: seconds.
    """
    # Sandboxes need inherited pipes and process groups.
    if not hasattr(os, "killpg"):
        raise NoSandboxError("there are no sandboxes on Windows: use Linux or macOS, or WSL")
    root = os.path.realpath(sandbox.root)
    if _may_mount(root):
        # The repository may begin above the root, outside of the mount.
        with contextlib.suppress(NoSandboxError):
            return _hear(root, arguments, order, limit, {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}, mounts=sandbox)
        _refused.add("mounted")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        try:
            folder = str(_link_neighbours(Path(os.path.realpath(made)), root))
            _copy_project(root, folder)
            overlay.write_overlay(folder, sandbox.left_out, sandbox.folders, sandbox.contents)
        except (OSError, shutil.Error) as error:
            raise NoSandboxError(f"the project could not be copied: {error}") from error
        roots = [os.path.normpath(os.path.join(folder, path)) for path in _import_roots(root)]
        given = os.environ.get("PYTHONPATH")
        own = {"PYTHONPATH": os.pathsep.join([*roots, given] if given else roots)}
        return _hear(folder, [word.replace(root, folder) for word in arguments], order, limit, own)


def _may_mount(root: str) -> bool:
    if not sys.platform.startswith("linux") or "mounted" in _refused or shutil.which("unshare") is None:
        return False
    try:
        mounts = Path(_MOUNTS).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    for character in "\\ \t\n":  # Linux lists these as octal numbers
        root = root.replace(character, f"\\{ord(character):03o}")
    # An overlay would hide anything that is mounted below the root.
    points = [row.split()[4] for row in mounts.splitlines() if row.count(" ") > 4]
    return not any(each.startswith(f"{root}/") for each in points)


# --- the process and its answers


def _hear(
    root: str,
    arguments: Iterable[str],
    order: Mapping[str, Any],
    limit: float,
    own: Mapping[str, str],
    mounts: Sandbox | None = None,
) -> Heard:
    """Copy the reporter for one run, run pytest, and return the answers. Raises NoSandboxError if it can't be mounted.

    :param own: environment variables for this kind of sandbox.
    :param mounts: the sandbox to mount first.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", **own}
    path = {name: text for name, text in environment.items() if name == "PYTHONPATH"}
    reading, writing = os.pipe()
    # Tests can see this folder, so it has an ordinary name.
    with (
        open(reading, "rb", buffering=0),
        open(writing, "wb", buffering=0) as theirs,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made,
        tempfile.TemporaryFile() as printed,
    ):
        temporary = Path(os.path.realpath(made))
        if environment.get("PYTHONPYCACHEPREFIX"):
            # The user keeps bytecode outside of the project. The sandbox has its own folder for it.
            environment["PYTHONPYCACHEPREFIX"] = str(temporary / "bytecode")
        environment["PYTHONPATH"] = os.pathsep.join([str(temporary), *path.values()])
        word = os.urandom(16).hex()  # only both ends know it
        own_order = {"number": writing, "word": word, "root": root, "path": path, "maker": os.getpid()}
        package = _lay_in_reporter(temporary, {**order, **own_order, "temporary": str(temporary / "made")})
        command = [sys.executable, "-m", "pytest", "-p", f"{package}.reporter", *arguments]
        if mounts is not None:
            command = _mounting(mounts, command, temporary)
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            pass_fds=(writing,),
            start_new_session=True,
        )
        theirs.close()
        received, is_late = _listen(process, reading, limit)
        if (temporary / "plan").exists() and not is_late:
            raise NoSandboxError("the system does not allow to mount it")
        printed.seek(max(0, os.fstat(printed.fileno()).st_size - _OUTPUT_KEPT))
        answers = map(_read_line, received.split(b"\n"))
        return Heard(
            kind="copied" if mounts is None else "mounted",
            folder=root,
            answers=tuple(answer for answer in answers if answer.get("word") == word),
            seconds=time.monotonic() - began,
            output=printed.read().decode("utf-8", "replace"),
            is_late=is_late,
            status=process.returncode,
        )


def _lay_in_reporter(folder: Path, order: Mapping[str, Any]) -> str:
    """Copy the reporter into a folder on the path, with its order in it; return the name of the package."""
    package = f"plugin_{os.urandom(6).hex()}"
    shutil.copytree(_INSIDE, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / package / "order.json").write_text(json.dumps(order), encoding="utf-8")
    return package


def _mounting(sandbox: Sandbox, command: list[str], temporary: Path) -> list[str]:
    """Write what differs into a file; return the command that mounts the sandbox, and then runs the other command.

    An ordinary user may mount in a user namespace. In a second one inside it, the tests have their own user id and no
    capabilities.
    """
    plan, memory = temporary / "plan", temporary / "memory"
    plan.write_bytes(marshal.dumps((sorted(sandbox.left_out), sorted(sandbox.folders), dict(sandbox.contents))))
    memory.mkdir()
    mount = ["sh", "-c", _MOUNT, "sh", str(memory)]
    write = [sys.executable, "-I", "-S", overlay.__file__, str(plan)]
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        return ["unshare", "--mount", *mount, "", *write, *command]
    return [
        *("unshare", "--mount", "--user", "--map-user=0", "--map-group=0"),
        *(*mount, ",userxattr"),
        *write,
        *("unshare", "--user", f"--map-user={uid}", f"--map-group={gid}"),
        *command,
    ]


def _listen(process: subprocess.Popen[bytes], reading: int, limit: float) -> tuple[bytes, bool]:
    """Read until the process ends, and kill its group. Return the answers, and whether it exceeded its limit."""
    try:
        return _read_all(process, reading, limit)
    finally:
        if process.poll() is None:
            # It can't stop the servers that its tests have started in sessions of their own.
            end_children(process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read_all(process: subprocess.Popen[bytes], reading: int, limit: float) -> tuple[bytes, bool]:
    received, since = bytearray(), time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while time.monotonic() - since <= limit:
            has_ended = process.poll() is not None  # asked first: what it wrote last is there to be read
            part = os.read(reading, 1 << 16) if (ready := selector.select(0.05)) else b""
            received += part
            if ready and not part:
                selector.unregister(reading)  # the other end is closed
            if not ready and has_ended:
                return bytes(received), False  # a process that it left running may keep the pipe open
    return bytes(received), True


def _read_line(line: bytes) -> Mapping[str, Any]:
    try:
        answer = parse_foreign(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


# --- a copied folder


def _link_neighbours(folder: Path, root: str) -> Path:
    """Link the other files of the repository into the folder, and return where to copy the project to.

    In a monorepo, the settings and tests of a package may refer to others by `..`. These are links to the originals.
    """
    top = Path(root)
    source = next((each for each in (top, *top.parents) if (each / ".git").exists()), top)
    for name in top.relative_to(source).parts:
        for entry in os.scandir(source):
            if entry.name != name:
                os.symlink(entry.path, folder / entry.name)
        source, folder = source / name, folder / name
        folder.mkdir()
    return folder


def _copy_project(top: str, target: str) -> None:
    """Copy the files that tests may need: sources, data and compiled extensions, but no environments or caches."""
    for folder, folders, files in os.walk(top):
        # The folder for temporary files may be in the project.
        folders[:] = [
            name
            for name in folders
            if name not in UNNEEDED_FOLDERS
            and not is_in_environment(os.path.join(folder, name, "x"), top)
            and not f"{target}{os.sep}".startswith(os.path.join(folder, name, ""))
        ]
        below = os.path.join(target, os.path.relpath(folder, top))
        os.makedirs(below, exist_ok=True)
        for name in (*files, *folders):
            full, copied = os.path.join(folder, name), os.path.join(below, name)
            if name == ".git":
                continue
            if os.path.islink(full):
                # A link to a file of the project points to the sandbox's copy of it.
                real = os.path.realpath(full)
                is_inside = f"{real}{os.sep}".startswith(f"{top}{os.sep}")
                os.symlink(os.path.relpath(real, folder) if is_inside else real, copied)
            elif os.path.isfile(full):
                # A file that the user can't read, or that has just disappeared, is none that a test needs.
                with contextlib.suppress(FileNotFoundError, PermissionError):
                    shutil.copy2(full, copied)
    # Code under test may run git. Locks are optional, so git writes nothing.
    if os.path.exists(repository := os.path.join(top, ".git")):
        os.symlink(repository, os.path.join(target, ".git"))


def _import_roots(top: str) -> list[str]:
    """Return the folders of the project on Python's import path, relative to the root."""
    found = [os.path.realpath(each or os.getcwd()) for each in sys.path]
    inside = [each for each in found if each.startswith(top + os.sep) and not is_in_environment(each + os.sep, top)]
    return [os.path.relpath(each, top) for each in inside if os.path.isdir(each)]
