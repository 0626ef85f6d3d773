"""Run tests in a sandbox: a copy of the project in which some files are laid out and others are left out.

At the project's own path where the system allows it (`namespace`), else in a copied folder. What the tests did comes
back through a socket; nothing of the user's is written, and nothing stays behind.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.project import STATE_FOLDER
from phase_gate.proof import namespace
from phase_gate.proof.copied import copy_project, place_in, remove_left_sandboxes, sandbox_folder
from phase_gate.proof.origins import import_roots
from phase_gate.proof.talk import Conversation, Heard, ended, start
from phase_gate.values import Value, field

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

    #: What starts it.
    command: tuple[str, ...]
    #: What it is told on the command line; a copied sandbox has its own path in these.
    arguments: tuple[str, ...]
    #: What it is told on the line, and the variable that says where that is.
    order: Mapping[str, Any]
    variable: str
    environment: Mapping[str, str]
    #: Seconds; and seconds without a word.
    timeout: float
    silence: float = math.inf


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
    with _start_mounted(sandbox, visit) as (conversation, process):
        heard = conversation.hear(process, visit.timeout, visit.silence)
    if heard.status == namespace.NO_SANDBOX and not heard.answers:
        _refused.add("mounted")
        return None
    return heard


@contextlib.contextmanager
def _start_mounted(sandbox: Sandbox, visit: Visit) -> Iterator[tuple[Conversation, subprocess.Popen[bytes]]]:
    root = os.path.realpath(sandbox.root)
    plan_out, plan_in = os.pipe()
    with sandbox_folder() as temporary, Conversation({**visit.order, "root": root}) as conversation:
        plan = {
            "root": root,
            "uid": os.getuid(),
            "gid": os.getgid(),
            "left_out": sorted(sandbox.left_out),
            "caches": sorted(sandbox.folders),
            "command": [*visit.command, *_arguments(visit.arguments, temporary)],
            "environment": {
                **visit.environment,
                visit.variable: str(conversation.number),
                # The repository may begin above the root, and so outside of what is mounted there.
                "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
                "GIT_OPTIONAL_LOCKS": "0",
                **_own_bytecode(visit.environment, temporary),
            },
        }
        launcher = [sys.executable, "-I", "-S", namespace.__file__, str(plan_out)]
        inherited = (plan_out, conversation.number)
        try:
            process = start(launcher, root, os.environ, inherited)
        finally:
            os.close(plan_out)
        with contextlib.suppress(BrokenPipeError), os.fdopen(plan_in, "wb") as target:
            namespace.write_plan(target, plan, dict(sandbox.contents))
        with ended(process):
            yield conversation, process


def _arguments(words: tuple[str, ...], temporary: Path) -> tuple[str, ...]:
    # What tests write into temporary folders: not among the user's, of which pytest keeps only the last three.
    return (*words, f"--basetemp={temporary / 'made'}") if words else ()


def _own_bytecode(environment: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """Return the place of bytecode where the user has named one outside of the project: the sandbox's own."""
    name = "PYTHONPYCACHEPREFIX"
    return {name: str(temporary / "bytecode")} if environment.get(name) else {}


def _visit_copied(sandbox: Sandbox, visit: Visit) -> Visited:
    with _start_copied(sandbox, visit) as (conversation, process, folder):
        return Visited(kind="copied", heard=conversation.hear(process, visit.timeout, visit.silence), folder=folder)


@contextlib.contextmanager
def _start_copied(sandbox: Sandbox, visit: Visit) -> Iterator[tuple[Conversation, subprocess.Popen[bytes], str]]:
    root = os.path.realpath(sandbox.root)
    with sandbox_folder() as made, sandbox_folder() as temporary:
        folder = _place(sandbox, made)
        _furnish(sandbox, folder)
        roots = [str(folder / path) if path != "." else str(folder) for path in import_roots(sandbox.root)]
        others = [visit.environment["PYTHONPATH"]] if visit.environment.get("PYTHONPATH") else []
        order = {**visit.order, "root": str(folder)}
        with Conversation(order) as conversation:
            given = {
                **visit.environment,
                visit.variable: str(conversation.number),
                "PYTHONPATH": os.pathsep.join([*roots, *others]),
                # Its bytecode must not be taken for that of the sources that it was copied from, nor the other way.
                "PYTHONDONTWRITEBYTECODE": "1",
                "GIT_OPTIONAL_LOCKS": "0",
                **_own_bytecode(visit.environment, temporary),
            }
            words = _arguments(tuple(word.replace(root, str(folder)) for word in visit.arguments), temporary)
            process = start([*visit.command, *words], str(folder), given, (conversation.number,))
            with ended(process):
                yield conversation, process, str(folder)


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
        namespace.lay_out(
            str(folder),
            {"left_out": sorted(sandbox.left_out), "caches": sorted(sandbox.folders)},
            dict(sandbox.contents),
        )
    except (OSError, shutil.Error) as error:
        raise NoSandboxError(f"the project could not be copied: {error}") from error
