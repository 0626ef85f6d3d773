"""GitHub, as far as our templates use it: each job in a clone of its own, its steps in a real shell.

`pip install` and the actions that check out and set up are taken for done; artifacts are copied.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from phase_gate.values import Value, field
from tests.docs.blocks import TIMEOUT, Session

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


class Step(Value):
    """How one step ended."""

    job: str
    code: int
    out: str
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


class Machine:
    """A clone of the project for each job, and what jobs leave for each other."""

    def __init__(self, base: Path, project: Path) -> None:
        self._base = base
        self._artifacts = base / "artifacts"
        self._origin = Session(base / "origin", plugins=("pytest_split.plugin",))
        shutil.copytree(project, self._origin.folder, dirs_exist_ok=True)
        for line in ("git init -q", "git add -A", "git commit -qm all"):
            assert self._origin.type(line)[0] == 0
        self._jobs = 0

    def clone(self) -> Path:
        self._jobs += 1
        folder = self._base / f"job-{self._jobs}"
        subprocess.run(["git", "clone", "-q", str(self._origin.folder), str(folder)], check=True)
        return folder

    def run(self, folder: Path, command: list[str], **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**self._origin.environment(), "CI": "true", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return done.returncode, done.stdout

    def github(self, template: str) -> list[Step]:
        """Run a workflow's jobs in their order. A step that fails ends its job, but for steps that run always."""
        steps: list[Step] = []
        for name, job in yaml.safe_load(template)["jobs"].items():
            matrix = job.get("strategy", {}).get("matrix", {})
            for values in itertools.product(*matrix.values()):
                chosen = dict(zip(matrix, map(str, values), strict=True))
                steps += self._github_job(name, job["steps"], {f"matrix.{key}": text for key, text in chosen.items()})
        return steps

    def _github_job(self, name: str, rows: list[dict[str, Any]], values: Mapping[str, str]) -> Iterator[Step]:
        folder, failed = self.clone(), False
        for row in rows:
            if failed and "cancelled()" not in row.get("if", ""):
                continue
            if "uses" in row:
                self._use(row["uses"], {key: fill(text, values) for key, text in row.get("with", {}).items()}, folder)
            elif not row["run"].startswith("pip install"):
                step = self.github_step(folder, name, fill(row["run"], values))
                failed |= step.code != 0
                yield step

    def github_step(self, folder: Path, job: str, script: str, **environment: str) -> Step:
        """Run a script as the runner does: `bash -eo pipefail`, and files for what it says."""
        own = self._base / f"step-{len(list(self._base.glob('step-*')))}"
        own.mkdir()
        files = {"GITHUB_OUTPUT": own / "output", "GITHUB_STEP_SUMMARY": own / "summary"}
        for path in files.values():
            path.touch()
        (own / "script.sh").write_text(script, encoding="utf-8")
        code, out = self.run(
            folder,
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(own / "script.sh")],
            GITHUB_ACTIONS="true",
            **{name: str(path) for name, path in files.items()},
            **environment,
        )
        outputs = re.findall(r"^(\S+)<<(\S+)\n(.*?)\n\2$", files["GITHUB_OUTPUT"].read_text(encoding="utf-8"), re.M)
        return Step(
            job=job,
            code=code,
            out=out,
            outputs={name: value for name, _, value in outputs},
            summary=files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8"),
        )

    def _use(self, action: str, given: Mapping[str, str], folder: Path) -> None:
        if action.startswith("actions/upload-artifact@"):
            for path in folder.glob(given["path"]):
                _copy(path, self._artifacts / given["name"] / ("" if path.is_dir() else path.name))
        elif action.startswith("actions/download-artifact@"):
            for path in self._artifacts.iterdir():
                if fnmatch.fnmatch(path.name, given["pattern"]):
                    _copy(path, folder / given["path"] / path.name)
        else:
            assert action.startswith(("actions/checkout@", "actions/setup-python@")), action


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of expressions. One that nobody knows is an error."""
    return _EXPRESSION.sub(lambda match: values[match[1]], text)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        # Hidden files stay behind, as with `upload-artifact`.
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
