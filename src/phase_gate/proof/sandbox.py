"""Run pytest in a sandbox: a copy of the project in which some files are laid out and others are left out.

At the project's own path where the system allows it (`namespace`), else in a copied folder. What the tests did comes
back through a pipe; nothing of the user's is written, and nothing stays behind.
"""

from __future__ import annotations

import json
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.project import STATE_FOLDER
from phase_gate.proof import namespace
from phase_gate.proof.talk import Heard, Limits, hear
from phase_gate.storage.root import is_in_environment
from phase_gate.storage.tree.names import SKIP_MARKS, SKIPPED_FOLDERS
from phase_gate.values import Value, field

#: How a sandbox is made: at the project's own path, or in a copied folder.
Kind = Literal["mounted", "copied"]

#: What runs in there.
_INSIDE = Path(__file__).with_name("inside")
#: What must not reach the tests in a sandbox: they are no run of any task.
_OUR_VARIABLES = "PHASE_GATE_"
#: Once it was refused here, it will be refused again.
_refused: set[str] = set()
#: Folders that are copied although a walk for sources leaves them out: built extensions lie there.
_COPIED = frozenset({"build", "dist"})


class Sandbox(Value):
    """What differs from the project as it lies there."""

    root: Path
    #: Path from the root -> content.
    contents: Mapping[str, bytes] = field(default_factory=dict)
    #: Paths that are not there.
    left_out: frozenset[str] = frozenset()
    #: Folders with sources: their bytecode is not there, so that none of it is believed.
    folders: frozenset[str] = frozenset()

    def read(self, path: str) -> bytes:
        """Return a file as it is in there. Raises OSError where it is not."""
        return self.contents[path] if path in self.contents else (self.root / path).read_bytes()


class NoSandboxError(Exception):
    """No sandbox can be made here; says why."""


def visit_sandbox(
    sandbox: Sandbox, arguments: Iterable[str], order: Mapping[str, Any], limits: Limits, kind: Kind | None = None
) -> tuple[Kind, str, Heard]:
    """Run pytest in the sandbox; return its kind, where it was, and what was heard.

    Raises NoSandboxError where none can be made.

    :param arguments: what pytest is told; a copied sandbox has its own path in these.
    :param order: what the reporter is told.
    """
    # What is in the sandbox speaks to us through a pipe that it inherits, and ends with its group.
    if not hasattr(os, "killpg"):
        raise NoSandboxError("there are no sandboxes on Windows: use Linux or macOS, or WSL")
    root = os.path.realpath(sandbox.root)
    if kind != "copied" and _may_mount(root):
        plan = {
            "root": root,
            "uid": os.getuid(),
            "gid": os.getgid(),
            "left_out": sorted(sandbox.left_out),
            "caches": sorted(sandbox.folders),
            "contents": dict(sandbox.contents),
        }
        # The repository may begin above the root, and so outside of what is mounted there.
        heard = _hear(root, arguments, order, limits, {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}, plan)
        if heard.status != namespace.NO_SANDBOX or heard.answers:
            return "mounted", root, heard
        _refused.add("mounted")
    if kind == "mounted":
        raise NoSandboxError("this system does not allow a mount over the project")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        try:
            folder = str(_link_neighbours(Path(os.path.realpath(made)), root))
            _copy_project(root, folder)
            if os.path.isdir(os.path.join(root, STATE_FOLDER)):
                os.mkdir(os.path.join(folder, STATE_FOLDER))  # it may be all that tells where the root is
            namespace.lay_out(folder, sandbox.left_out, sandbox.folders, sandbox.contents)
        except (OSError, shutil.Error) as error:
            raise NoSandboxError(f"the project could not be copied: {error}") from error
        roots = [os.path.normpath(os.path.join(folder, path)) for path in _import_roots(root)]
        own = {
            "PYTHONPATH": os.pathsep.join([*roots, *filter(None, [os.environ.get("PYTHONPATH")])]),
            # Its bytecode must not be taken for that of the sources that it was copied from, nor the other way.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return "copied", folder, _hear(folder, [word.replace(root, folder) for word in arguments], order, limits, own)


def _may_mount(root: str) -> bool:
    if not sys.platform.startswith("linux") or "mounted" in _refused:
        return False
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    # Something is mounted below the root: an overlay would not show it.
    return not any(row.split()[4].startswith(f"{root}/") for row in mounts.splitlines() if row.count(" ") > 4)


def _hear(
    root: str,
    arguments: Iterable[str],
    order: Mapping[str, Any],
    limits: Limits,
    own: Mapping[str, str],
    plan: Mapping[str, Any] | None = None,
) -> Heard:
    """Lay the reporter out for one run, and return what it says.

    :param own: variables of this kind of sandbox.
    :param plan: what is to be mounted first.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", **own}
    path = {name: text for name, text in environment.items() if name == "PYTHONPATH"}
    # Tests see the folder: it is named as any other is.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        temporary = Path(os.path.realpath(made))

        def prepare(line: Mapping[str, Any]) -> tuple[list[str], Mapping[str, str]]:
            if environment.get("PYTHONPYCACHEPREFIX"):
                # The user has named a place of bytecode outside of the project: the sandbox has its own.
                environment["PYTHONPYCACHEPREFIX"] = str(temporary / "bytecode")
            package = f"plugin_{os.urandom(6).hex()}"
            shutil.copytree(_INSIDE, temporary / package, ignore=shutil.ignore_patterns("__pycache__"))
            whole = {**order, **line, "root": root, "temporary": str(temporary / "made"), "path": path}
            (temporary / package / "order.json").write_text(json.dumps(whole), encoding="utf-8")
            environment["PYTHONPATH"] = os.pathsep.join([str(temporary), *path.values()])
            command = [sys.executable, "-m", "pytest", "-p", f"{package}.reporter", *arguments]
            if plan is not None:
                (temporary / "plan").write_bytes(marshal.dumps({**plan, "command": command}))
                command = [sys.executable, "-I", "-S", namespace.__file__, str(temporary / "plan")]
            return command, environment

        return hear(prepare, root, limits)


# --- a copied folder


def _link_neighbours(folder: Path, root: str) -> Path:
    """Return where in the folder the project is to be copied to: what lies beside it in its repository is there, too.

    Settings and tests of one of several packages may name its neighbours by `..`: they are links to the real ones.
    """
    top = Path(root)
    above = [] if (top / ".git").exists() else [each for each in top.parents if (each / ".git").exists()]
    if not above:
        return folder
    source = above[0]
    for name in top.relative_to(source).parts:
        for entry in os.scandir(source):
            if entry.name == ".git":
                _point_at_repository(entry.path, folder)
            elif entry.name not in (name, *SKIPPED_FOLDERS):
                os.symlink(entry.path, folder / entry.name)
        source, folder = source / name, folder / name
        folder.mkdir()
    return folder


def _copy_project(top: str, target: str) -> None:
    """Copy what tests may need: sources, data, built extensions; no environments and no caches."""
    for folder, folders, files in os.walk(top):
        # The folder for temporary files may lie in the project.
        folders[:] = [
            name
            for name in folders
            if not _is_skipped(os.path.join(folder, name), name, top)
            and not f"{target}{os.sep}".startswith(os.path.join(folder, name, ""))
        ]
        below = os.path.join(target, os.path.relpath(folder, top))
        os.makedirs(below, exist_ok=True)
        for name in (*files, *folders):
            full, copied = os.path.join(folder, name), os.path.join(below, name)
            if name == ".git":
                continue
            if os.path.islink(full):
                os.symlink(_point_inside(full, top, target), copied)
            elif os.path.isfile(full):
                shutil.copy2(full, copied)
    _point_at_repository(os.path.join(top, ".git"), Path(target))


def _point_inside(link: str, top: str, target: str) -> str:
    """Return where the copy of a link points: what lies in the project is meant to be that of the sandbox."""
    written, real = os.readlink(link), os.path.realpath(link)
    if real != top and not real.startswith(top + os.sep):
        return real
    return written if not os.path.isabs(written) else os.path.normpath(os.path.join(target, os.path.relpath(real, top)))


def _point_at_repository(repository: str, target: Path) -> None:
    """Let git find the repository from there: code under test may ask. Locks are optional: nothing is written."""
    if os.path.isdir(repository):
        Path(target, ".git").write_text(f"gitdir: {repository}\n", encoding="utf-8")
    elif os.path.isfile(repository):
        shutil.copy2(repository, os.path.join(target, ".git"))


def _is_skipped(path: str, name: str, top: str) -> bool:
    if name in SKIPPED_FOLDERS and name not in _COPIED:
        return True
    return any(os.path.exists(os.path.join(path, mark)) for mark in SKIP_MARKS) or is_in_environment(
        os.path.join(path, "x"), top
    )


def _import_roots(top: str) -> list[str]:
    """Return the folders of the project that Python looks for modules in, from the root."""
    found = [os.path.realpath(each or os.getcwd()) for each in sys.path]
    inside = [each for each in found if each.startswith(top + os.sep) and not is_in_environment(each + os.sep, top)]
    inside += [os.path.join(top, "src")]
    return [os.path.relpath(each, top) for each in dict.fromkeys(inside) if os.path.isdir(each)]
