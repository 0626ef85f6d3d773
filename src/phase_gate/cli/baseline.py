"""`phase-gate baseline`: run the suite once and keep its tests and outcomes as what the next cycle starts from."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done, require_plugin
from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.gate.order import refuse_baseline
from phase_gate.project import Project
from phase_gate.storage.tree.git import NoGitError, act_with_git
from phase_gate.visible import show_rows


def baseline(call: Call) -> Done:
    task = call.task()
    project, store = task.project, task.store
    refuse_baseline(task.state, task.rules)
    require_plugin()
    with _checkout(project, call.start, call.arguments.rev) as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            f"--phase-baseline={call.arguments.rev or 'work tree'}",
            f"--phase-dir={project.state_folder.absolute()}",
            f"--phase-task={project.task}",
            *call.arguments.arguments,
        ]
        output = sys.stderr if call.arguments.json else None
        status = subprocess.run(command, cwd=folder, check=False, stdout=output).returncode
    if status != 0:
        error = StorageError if status == exit_codes.NOT_TRUSTED else NotAllowedError
        raise error("no baseline was taken", remedy="the output above says why")
    state = store.look().state
    assert state.snapshots.latest is not None, "the run has just recorded it"
    total = sum(len(file["ids"]) for file in store.objects.load(state.snapshots.latest.inventory)["files"].values())
    odd = store.objects.load(state.snapshots.latest.outcomes)
    failing = sorted(test_id for test_id, bucket in odd.items() if bucket in ("failed", "error", "uncollectable"))
    document = {"total": total, "known_failures": failing, "revision": call.arguments.rev}
    rows = [f"the next cycle starts from {total} tests", *(f"  known failure: {test_id}" for test_id in failing)]
    return Done(text=show_rows([*rows, "  next: pytest --phase=red"]), document=document)


@contextlib.contextmanager
def _checkout(project: Project, start: Path, revision: str | None) -> Iterator[Path]:
    """Yield the folder to run in: where we are, or the same place in a worktree of the revision."""
    if revision is None:
        yield start
        return
    top = _git(project.root, "rev-parse", "--show-toplevel").strip()
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        place = Path(folder) / "tree"
        _git(project.root, "worktree", "add", "--detach", str(place), revision)
        try:
            yield place / os.path.relpath(start, top)
        finally:
            _git(project.root, "worktree", "remove", "--force", str(place))


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = act_with_git(folder, *arguments)
        said = "" if done.returncode == 0 else (os.fsdecode(done.stderr).strip().splitlines() or ["git failed"])[-1]
    except NoGitError as error:
        said = str(error)
    if said:
        raise NotAllowedError(
            f"git {arguments[0]}: {said}", remedy="name a revision that git knows, inside a repository"
        )
    return os.fsdecode(done.stdout)
