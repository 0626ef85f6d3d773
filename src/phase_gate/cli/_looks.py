"""What `phase-gate doctor` looks at: one function a thing. They look and change nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from phase_gate._version import __version__
from phase_gate.cli._plugin import INSTALL
from phase_gate.errors import PhaseGateError
from phase_gate.project import Project
from phase_gate.storage.lock import filesystem_type, is_free, network_warning
from phase_gate.storage.store import TaskStore
from phase_gate.storage.tree.git import NoGitError, find_hooks, foreign_filters, run_git
from phase_gate.values import Value

Mark = Literal["good", "note", "bad"]

#: Git's own hooks that could ask the gate before work leaves the machine.
GIT_HOOKS = ("pre-commit", "pre-push")
#: What stands in a hook that asks us: the command, or pytest with our option.
_OURS = (b"phase-gate", b"phase_gate", b"--phase")
#: Hooks of the project's that are named; the history has them all.
_NAMED = 3


class Look(Value):
    """One thing that was looked at."""

    what: str
    mark: Mark
    says: str


def look_at_package() -> Look:
    return Look(what="package", mark="good", says=f"pytest-phase-gate {__version__} in {_home()}")


def look_at_plugin(start: Path) -> Look:
    """Ask a real pytest: the plugin may be switched off, or come from somewhere else."""
    from phase_gate.selftest.runner import MARK

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "phase_gate.selftest.runner"],
        cwd=start,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    answers = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not answers:
        said = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()[-1]
        return Look(what="plugin", mark="bad", says=f"pytest does not start here: {said}")
    file = json.loads(answers[0])["plugin"]
    if file is None:
        says = f"not loaded: {INSTALL}, or look for -p no:phase_gate and PYTEST_DISABLE_PLUGIN_AUTOLOAD"
        return Look(what="plugin", mark="bad", says=says)
    if os.path.realpath(os.path.dirname(file)) != os.path.realpath(_home()):
        return Look(
            what="plugin", mark="bad", says=f"loaded by pytest from {file}: this command is another installation"
        )
    return Look(what="plugin", mark="good", says=f"loaded by pytest from {file}")


def look_at_folder(project: Project) -> Look:
    folder = project.folder
    if not folder.exists():
        return Look(what="state folder", mark="note", says="not there yet: the first run makes it")
    if not folder.is_dir():
        return Look(what="state folder", mark="bad", says=f"{folder} is a file, not a folder")
    if not os.access(folder, os.W_OK):
        return Look(what="state folder", mark="bad", says=f"{folder} can't be written")
    return Look(what="state folder", mark="good", says=str(folder))


def look_at_state(store: TaskStore) -> Iterator[Look]:
    """Yield lock and ledger, and the project's own hooks as the last run saw them."""
    if not is_free(store.lock_file):
        # Whoever holds it may be writing: what is there now says nothing.
        yield Look(what="lock", mark="note", says="held by a run or command right now: look again later")
        return
    yield Look(what="lock", mark="good", says="free")
    try:
        opened = store.look()
        hooks = _last_hooks(store)
    except PhaseGateError as error:
        yield Look(what="ledger", mark="bad", says=f"{error.problem}; try: {error.remedy}")
        return
    yield Look(what="ledger", mark="good", says=f"{opened.serial} events, intact")
    yield _look_at_hooks(hooks)


def _look_at_hooks(hooks: list[str] | None) -> Look:
    if hooks is None:
        return Look(what="pytest hooks", mark="note", says="no run yet: the first one looks for hooks of the project's")
    if not hooks:
        return Look(what="pytest hooks", mark="good", says="the project has none that could change a result")
    more = f" and {len(hooks) - _NAMED} more" if len(hooks) > _NAMED else ""
    says = f"the project's own could change a result, so each is watched: {', '.join(hooks[:_NAMED])}{more}"
    return Look(what="pytest hooks", mark="note", says=says)


def _last_hooks(store: TaskStore) -> list[str] | None:
    """Return what the last run that ended saw, as `file: hook`; None if none has ended."""
    found: list[str] | None = None
    for line in store.lines():
        if line.event.kind == "run-ended" and line.event.data["kind"] not in ("void", "nested"):
            found = list(line.event.data["foreign_hooks"])
    return found


def look_at_file_system(project: Project) -> Look:
    warning = network_warning(project.root)
    kind = filesystem_type(project.root) or "unknown"
    return Look(what="file system", mark="note" if warning else "good", says=warning or kind)


def look_at_git(project: Project) -> Iterator[Look]:
    hooks = find_hooks(project.root)
    if hooks is None:
        says = "not used: files are compared by walking the folder"
        yield Look(what="git", mark="note", says=says)
        return
    try:
        foreign = sorted(foreign_filters(str(project.root)))
        run_git(str(project.root), "rev-parse", "--git-dir")
    except NoGitError:
        yield Look(what="git", mark="note", says="not asked: the settings of this repository can't be looked through")
        return
    yield Look(what="git", mark="good", says="looks at the tree")
    if foreign:
        says = f"{', '.join(foreign)}: the repository's own, so not run to look; files behind it count by their bytes"
        yield Look(what="git filters", mark="note", says=says)
    yield _look_at_git_hooks(hooks, project.root)


def _look_at_git_hooks(folder: Path, root: Path) -> Look:
    asking = [name for name in GIT_HOOKS if _asks_us(folder / name, root)]
    # Git passes over a hook that it may not execute, and says so only in a hint.
    dead = [name for name in asking if not os.access(folder / name, os.X_OK)]
    if dead:
        return Look(what="git hooks", mark="bad", says=f"{dead[0]} asks phase-gate, but is not executable: chmod +x")
    if asking:
        return Look(
            what="git hooks", mark="good", says=f"{' and '.join(asking)} ask{'s' * (len(asking) == 1)} phase-gate"
        )
    return Look(what="git hooks", mark="note", says=f"neither {' nor '.join(GIT_HOOKS)} asks phase-gate")


def _asks_us(hook: Path, root: Path) -> bool:
    """Tell whether a hook calls us, by itself or through the pre-commit framework."""
    text = _read(hook)
    if b"pre-commit" in text and b"hook-type" in text:
        text += _read(root / ".pre-commit-config.yaml")
    return any(word in text for word in _OURS)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _home() -> str:
    found = importlib.util.find_spec("phase_gate")
    assert found is not None, "it is running"
    return os.path.dirname(found.origin or "")
