"""Kinds of folders that would run somebody's program as soon as git, or we, look at them.

Each begins as an honest project in the middle of its story, and is what an unpacked archive, a clone or a folder below
one may be. The program leaves a canary; `bites` is a plain call that wakes it, so that a row can't pass by accident.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from phase_gate.values import Value
from tests.support import Project


class Folder(Value):
    """A hostile folder, ready to be looked at."""

    #: Where the user stands.
    place: Path
    canary: Path
    bites: tuple[str, ...] = ("git", "status")
    #: Commands that run the project's own code on purpose.
    runs_code: frozenset[str] = frozenset()

    def touch(self) -> None:
        """Make git look at the contents again."""
        for path in self.place.rglob("*.py"):
            path.touch()

    def has_bitten(self) -> bool:
        found = self.canary.exists()
        self.canary.unlink(missing_ok=True)
        return found

    def bite(self) -> bool:
        """Wake the program by a plain call, as a check of the kind itself."""
        self.touch()
        subprocess.run(self.bites, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return self.has_bitten()


class Maker:
    """What the kinds are made with."""

    def __init__(self, project: Project, beside: Path) -> None:
        self.project, self.root, self.beside = project, project.root, beside
        self.canary = beside / "canary"
        self.evil = f"touch {self.canary}; cat"

    def git(self, *arguments: str) -> None:
        self.project.git(*arguments)

    def commit(self, **files: str) -> None:
        self.project.write(files)
        self.project.commit_all()

    def commit_filtered(self, name: str = "evil") -> None:
        self.commit(**{".gitattributes": f"*.py filter={name}\n"})

    def folder(self, place: Path | None = None, **more: object) -> Folder:
        return Folder(place=place or self.root, canary=self.canary, **more)  # type: ignore[arg-type]


def filter_clean(make: Maker) -> Folder:
    make.commit_filtered()
    make.git("config", "filter.evil.clean", make.evil)
    return make.folder()


def file_monitor(make: Maker) -> Folder:
    make.commit()
    make.git("config", "core.fsmonitor", f"touch {make.canary}; false")
    return make.folder()


def hooks(make: Maker) -> Folder:
    make.commit()
    hook = make.root / ".githooks" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {make.canary}\n")
    hook.chmod(0o755)
    make.git("config", "core.hooksPath", ".githooks")
    return make.folder()


def partial_clone(make: Maker) -> Folder:
    """What is missing would be fetched, by whichever program the settings name."""
    make.commit()
    _forget_the_last_tree(make)
    make.git("config", "remote.origin.url", str(make.root))
    make.git("config", "remote.origin.uploadpack", f"touch {make.canary}; false")
    return make.folder()


def _forget_the_last_tree(make: Maker) -> None:
    tree = make.project.git("rev-parse", "HEAD^{tree}").strip()
    (make.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    make.git("config", "core.repositoryFormatVersion", "1")
    make.git("config", "extensions.partialClone", "origin")
    make.git("config", "remote.origin.promisor", "true")


def agents_hooks(make: Maker) -> Folder:
    line = f"touch {make.canary}; phase-gate hook stop --agent claude"
    settings = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}}
    make.commit(**{".claude/settings.json": json.dumps(settings)})
    return make.folder(bites=("sh", "-c", line))


def project_code(make: Maker) -> Folder:
    """Nothing is imported to look at it. pytest imports it, and `doctor` asks pytest."""
    code = f"open({str(make.canary)!r}, 'w').close()\n"
    names = ("conftest", "sitecustomize", "yaml", "filelock", "evil")
    make.commit(**{f"{name}.py": code for name in names})
    return make.folder(bites=(sys.executable, "conftest.py"), runs_code=frozenset({"pytest", "doctor"}))


def configured_commands(make: Maker) -> Folder:
    """`phase-gate.yaml` names commands: they belong to runs, and to what evaluates a phase."""
    line = f"touch {make.canary}"
    rules = "phases:\n  GREEN: {condition: lint_ok}\nevidence:\n  commands:\n    lint: {run: touch CANARY}\n"
    make.commit(**{"phase-gate.yaml": rules.replace("CANARY", str(make.canary))})
    return make.folder(bites=("sh", "-c", line), runs_code=frozenset({"pytest"}))


KINDS: tuple[Callable[[Maker], Folder], ...] = (
    filter_clean,
    file_monitor,
    hooks,
    partial_clone,
    agents_hooks,
    project_code,
    configured_commands,
)
