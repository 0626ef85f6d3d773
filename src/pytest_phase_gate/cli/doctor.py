"""`phase-gate doctor`: is everything where it should be? `--prove` tries cheats against this very installation."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

from pytest_phase_gate._version import __version__
from pytest_phase_gate.cli._answer import Answer, Call
from pytest_phase_gate.core.values import Value, as_dict
from pytest_phase_gate.errors import PhaseGateError
from pytest_phase_gate.project import Project
from pytest_phase_gate.storage.lock import is_free
from pytest_phase_gate.storage.mounts import filesystem_type, network_warning

Mark = Literal["good", "note", "bad"]
_SIGNS: dict[Mark, str] = {"good": "+", "note": "?", "bad": "-"}


class Look(Value):
    """One thing that was looked at."""

    what: str
    mark: Mark
    says: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prove", action="store_true", help="try cheats and their honest twins in a temporary folder")


def run(call: Call) -> Answer:
    looks = list(_look_around(call))
    rows = [f"{_SIGNS[look.mark]} {look.what:14}{look.says}" for look in looks]
    document: dict[str, object] = {"looks": [as_dict(look) for look in looks]}
    is_well = all(look.mark != "bad" for look in looks)
    if call.arguments.prove:
        from pytest_phase_gate.proofs.runner import prove_all

        print("\n".join(rows), file=sys.stderr if call.arguments.json else sys.stdout, flush=True)
        proofs = prove_all(show=None if call.arguments.json else lambda text: print(text, flush=True))
        failed = [proof for proof in proofs if not proof.holds]
        document["proofs"] = [as_dict(proof) for proof in proofs]
        is_well = is_well and not failed
        rows = [f"{len(proofs) - len(failed)} of {len(proofs)} proofs hold"]
    return Answer(text="\n".join(rows), document=document, exit_code=0 if is_well else 1)


def _look_around(call: Call) -> Iterator[Look]:
    where = os.path.dirname(importlib.util.find_spec("pytest_phase_gate").origin or "")  # type: ignore[union-attr]
    yield Look(what="package", mark="good", says=f"pytest-phase-gate {__version__} in {where}")
    yield _look_at_plugin(call)
    try:
        project = call.project()
    except PhaseGateError as error:
        yield Look(what="configuration", mark="bad", says=f"{error.problem}; try: {error.remedy}")
        return
    yield Look(what="root", mark="good", says=str(project.root))
    yield _look_at_folder(project)
    yield _look_at_state(call, project)
    warning = network_warning(project.root)
    kind = filesystem_type(project.root) or "unknown"
    yield Look(what="file system", mark="note" if warning else "good", says=warning or kind)
    git = shutil.which("git")
    is_repository = git is not None and _is_repository(project)
    yield Look(
        what="git",
        mark="good" if is_repository else "note",
        says="looks at the tree" if is_repository else "not used: files are compared by walking the folder",
    )


def _look_at_plugin(call: Call) -> Look:
    """Ask a real pytest whether it knows the option: the plugin may be switched off."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], cwd=call.start, capture_output=True, text=True, check=False
    )
    if "--phase=NAME" in done.stdout or "--phase NAME" in done.stdout:
        return Look(what="plugin", mark="good", says="loaded by pytest")
    return Look(
        what="plugin", mark="bad", says="not loaded: look for -p no:phase_gate or PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    )


def _look_at_folder(project: Project) -> Look:
    folder = project.folder
    if not folder.exists():
        return Look(what="state folder", mark="note", says="not there yet: the first run makes it")
    if not os.access(folder, os.W_OK):
        return Look(what="state folder", mark="bad", says=f"{folder} can't be written")
    return Look(what="state folder", mark="good", says=str(folder))


def _look_at_state(call: Call, project: Project) -> Look:
    store = call.store(project)
    if not is_free(store.lock_file):
        return Look(what="lock", mark="note", says="held by a run or command right now")
    try:
        opened = store.look()
    except PhaseGateError as error:
        return Look(what="ledger", mark="bad", says=f"{error.problem}; try: {error.remedy}")
    return Look(what="ledger", mark="good", says=f"{opened.serial} events, intact")


def _is_repository(project: Project) -> bool:
    done = subprocess.run(["git", "-C", str(project.root), "rev-parse", "--git-dir"], capture_output=True, check=False)
    return done.returncode == 0
