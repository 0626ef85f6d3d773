"""What a verify command selects before the work begins, where it is pytest itself: the task's known tests."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path, PurePath

from phase_gate.cli._output import say_aside
from phase_gate.core.task_spec import TaskSpec
from phase_gate.project import Project
from phase_gate.storage.store import TaskStore

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


def is_pytest(spec: TaskSpec) -> bool:
    """Tell whether the command is one call of pytest, and nothing else."""
    return pytest_arguments(spec) is not None


def pytest_arguments(spec: TaskSpec) -> list[str] | None:
    """Return the words of a command that is one call of pytest; None for every other one."""
    try:
        words = shlex.split(spec.verify)
    except ValueError:
        return None
    if not words or spec.shell:
        return None
    name = PurePath(words[0].replace("\\", "/")).name
    if name in ("pytest", "py.test", "pytest.exe"):
        return words
    return words if _PYTHON.fullmatch(name) and words[1:3] == ["-m", "pytest"] else None


def collect_known(project: Project, store: TaskStore, spec: TaskSpec, *, limit: float) -> str | None:
    """Return the stored inventory of what the command selects; None where nothing can be told, or nothing is there."""
    words = pytest_arguments(spec)
    if words is None:
        return None
    environment = {name: value for name, value in project.environment.items() if not name.startswith("PHASE_GATE_")}
    if "PHASE_GATE_KEY" in project.environment:
        environment["PHASE_GATE_KEY"] = project.environment["PHASE_GATE_KEY"]
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        answer = Path(folder) / "known"
        command = [
            *words,
            "--collect-only",
            "-q",
            f"--phase-baseline=known={answer}",
            f"--phase-dir={project.state_folder.absolute()}",
            f"--phase-task={project.task}",
        ]
        say_aside(f"collecting what {words[0]} selects ...")
        try:
            subprocess.run(
                command,
                cwd=project.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
            digest = answer.read_text(encoding="ascii")
        except (OSError, subprocess.SubprocessError, UnicodeError):
            return None  # no such command, no plugin in it, no test yet: the first run will tell
    return digest if store.objects.has(digest) and os.path.basename(digest) == digest else None
