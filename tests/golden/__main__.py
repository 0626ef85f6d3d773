"""`python -m tests.golden VERSION`: write what this version writes, for all later ones to read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tests.golden.neutral import Neutral
from tests.golden.places import GOLDEN
from tests.golden.scenes import STORIES, tell
from tests.golden.shapes import Shape, shape_of
from tests.support import OURS, Ran
from tests.warm import WITHOUT_EXTRAS

_LEFT_OUT = ("__pycache__", ".phase-gate", ".pytest_cache")


class Processes:
    """A project in a folder; both programs run as users start them."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT")}
        folder = str(Path(sys.executable).parent)
        self._environment = {
            **kept,
            "PATH": os.pathsep.join((folder, kept.get("PATH", ""))),
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "GIT_CEILING_DIRECTORIES": str(home),
            "USER": "dev",
            "LOGNAME": "dev",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": WITHOUT_EXTRAS,
        }

    def write(self, files: Mapping[str, str] | None = None, /) -> None:
        for name, text in (files or {}).items():
            (self.root / name).write_text(text, encoding="utf-8")

    def pytest_process(self, *arguments: str) -> Ran:
        return self._run("pytest", *OURS, *arguments)

    def gate(self, *arguments: str) -> Ran:
        return self._run("phase_gate.cli", *arguments)

    def _run(self, *words: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.root,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


def keep(root: Path, version: Path, name: str) -> None:
    """Keep a project and its state folder: nothing in it says where it was made."""
    files = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and not set(_LEFT_OUT) & set(path.parts)
    }
    target = version / f"state-{name}"
    target.mkdir(parents=True)
    (target / "project.json").write_text(json.dumps(files, indent=1) + "\n", encoding="utf-8")
    state = root / ".phase-gate"
    for ledger in sorted(state.rglob("ledger.jsonl")):
        Neutral(ledger.parent, root).write(target / "state" / ledger.parent.relative_to(state))


def main() -> int:
    (version,) = sys.argv[1:]
    target = GOLDEN / version
    if target.exists():
        print(f"{target.name} is there already: what was released is never written anew")
        return 1
    shapes: dict[str, dict[str, Shape]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for story in STORIES:
            root = Path(temporary).resolve() / story / "project"
            root.mkdir(parents=True)
            try:
                documents = tell(story, Processes(root, root.parent), partial(keep, root, target))
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise
            shapes[story] = {name: shape_of(each) for name, each in sorted(documents.items())}
    (target / "documents.json").write_text(json.dumps(shapes, indent=0) + "\n", encoding="utf-8")
    print(
        f"{target.name}: {sum(map(len, shapes.values()))} documents, {len(list(target.glob('state-*')))} state folders"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
