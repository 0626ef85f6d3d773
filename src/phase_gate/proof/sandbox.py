"""Run tests in a sandbox: a copy of the project in which some files are laid out and others are left out.

At the project's own path where the system allows it (`namespace`), else in a copied folder. What the tests did comes
back through a socket; nothing of the user's is written, and nothing stays behind.
"""

from __future__ import annotations

import json
import marshal
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.project import STATE_FOLDER
from phase_gate.proof import namespace
from phase_gate.proof.copied import copy_project, import_roots, place_in, remove_left_sandboxes, sandbox_folder
from phase_gate.proof.talk import Heard, Limits, Line, hear
from phase_gate.values import Value, field, replace

#: How a sandbox is made: at the project's own path, or in a copied folder.
Kind = Literal["mounted", "copied"]


class Sandbox(Value):
    """What differs from the project as it lies there."""

    root: Path
    #: Path from the root -> content.
    contents: Mapping[str, bytes] = field(default_factory=dict)
    #: Paths that are not there.
    left_out: frozenset[str] = frozenset()
    #: Folders with sources: their bytecode is not there, so that none of it is believed.
    folders: frozenset[str] = frozenset()


class NoSandboxError(Exception):
    """No sandbox can be made here; says why."""


class Visit(Value):
    """A pytest that is to run in a sandbox."""

    #: What it is told on the command line; a copied sandbox has its own path in these.
    arguments: tuple[str, ...]
    #: What the reporter is told.
    order: Mapping[str, Any]
    environment: Mapping[str, str]
    limits: Limits


class Visited(Value):
    """What a visit gave."""

    kind: Kind
    heard: Heard
    #: Where the sandbox was: the root itself, or the copy.
    folder: str


def visit_sandbox(sandbox: Sandbox, visit: Visit, *, kind: Kind | None = None) -> Visited:
    """Run pytest in the sandbox. Raises NoSandboxError where none can be made."""
    _refuse_windows()
    remove_left_sandboxes()
    if kind != "copied" and _may_mount(sandbox.root):
        heard = _visit_mounted(sandbox, visit)
        if heard is not None:
            return Visited(kind="mounted", heard=heard, folder=os.path.realpath(sandbox.root))
    if kind == "mounted":
        raise NoSandboxError("this system does not allow a mount over the project")
    return _visit_copied(sandbox, visit)


def _refuse_windows() -> None:
    # What is in the sandbox speaks to us through a socket that it inherits, and ends with its group.
    if not hasattr(os, "killpg"):
        raise NoSandboxError("there are no sandboxes on Windows: use Linux or macOS, or WSL")


#: What runs in there.
_INSIDE = Path(__file__).with_name("inside")

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


def _visit_mounted(sandbox: Sandbox, visit: Visit) -> Heard | None:
    """Return what was heard; None where no sandbox can be made this way."""
    root = os.path.realpath(sandbox.root)
    plan = {
        "root": root,
        "uid": os.getuid(),
        "gid": os.getgid(),
        "left_out": sorted(sandbox.left_out),
        "caches": sorted(sandbox.folders),
        "contents": dict(sandbox.contents),
    }
    # The repository may begin above the root, and so outside of what is mounted there.
    heard = _hear(visit, root, {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}, plan)
    if heard.status == namespace.NO_SANDBOX and not heard.answers:
        _refused.add("mounted")
        return None
    return heard


def _visit_copied(sandbox: Sandbox, visit: Visit) -> Visited:
    root = os.path.realpath(sandbox.root)
    with sandbox_folder() as made:
        folder = _place(sandbox, made)
        _furnish(sandbox, folder)
        roots = [str(folder / path) if path != "." else str(folder) for path in import_roots(sandbox.root)]
        others = [visit.environment["PYTHONPATH"]] if visit.environment.get("PYTHONPATH") else []
        more = {
            "PYTHONPATH": os.pathsep.join([*roots, *others]),
            # Its bytecode must not be taken for that of the sources that it was copied from, nor the other way.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        words = tuple(word.replace(root, str(folder)) for word in visit.arguments)
        heard = _hear(replace(visit, arguments=words), str(folder), more)
        return Visited(kind="copied", heard=heard, folder=str(folder))


def _hear(visit: Visit, root: str, more: Mapping[str, str], plan: Mapping[str, Any] | None = None) -> Heard:
    """Lay the reporter out for one run, and return what it says.

    :param more: variables of this kind of sandbox.
    :param plan: what is to be mounted first.
    """
    environment = {**visit.environment, "GIT_OPTIONAL_LOCKS": "0", **more}
    path = {name: text for name, text in environment.items() if name == "PYTHONPATH"}
    with sandbox_folder() as temporary, Line() as line:
        if environment.get("PYTHONPYCACHEPREFIX"):
            # The user has named a place of bytecode outside of the project: the sandbox has its own.
            environment["PYTHONPYCACHEPREFIX"] = str(temporary / "bytecode")
        package = f"plugin_{os.urandom(6).hex()}"
        shutil.copytree(_INSIDE, temporary / package, ignore=shutil.ignore_patterns("__pycache__"))
        order = {**visit.order, "root": root, "temporary": str(temporary / "made"), "path": path}
        order |= {"number": line.number, "word": line.word, "maker": os.getpid()}
        (temporary / package / "order.json").write_text(json.dumps(order), encoding="utf-8")
        environment["PYTHONPATH"] = os.pathsep.join([str(temporary), *path.values()])
        command = [sys.executable, "-m", "pytest", "-p", f"{package}.reporter", *visit.arguments]
        if plan is not None:
            (temporary / "plan").write_bytes(marshal.dumps({**plan, "command": command}))
            command = [sys.executable, "-I", "-S", namespace.__file__, str(temporary / "plan")]
        return hear(command, root, environment, line, visit.limits)


def keep_sandbox(sandbox: Sandbox, folder: Path) -> None:
    """Copy the sandbox to a folder that stays, for people who want to look."""
    folder.mkdir(parents=True)
    _furnish(sandbox, folder)


def _place(sandbox: Sandbox, folder: Path) -> Path:
    try:
        return place_in(folder, sandbox.root)
    except OSError as error:
        raise NoSandboxError(f"what lies beside the project could not be linked: {error}") from error


def _furnish(sandbox: Sandbox, folder: Path) -> None:
    try:
        copy_project(sandbox.root, folder)
        if os.path.isdir(os.path.join(sandbox.root, STATE_FOLDER)):
            os.mkdir(os.path.join(folder, STATE_FOLDER))  # it may be all that tells where the root is
        namespace.lay_out(str(folder), sandbox.left_out, sandbox.folders, sandbox.contents)
    except (OSError, shutil.Error) as error:
        raise NoSandboxError(f"the project could not be copied: {error}") from error
