"""Environments as users have them: wheels of this checkout, installed, and found by pytest itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parent.parent
#: The floor: a distribution with an entry point, and nothing behind it.
_EMPTY = """\
[build-system]
requires = ["hatchling>=1.26"]
build-backend = "hatchling.build"

[project]
name = "pytest-empty-entry-point"
version = "1.0"

[project.entry-points.pytest11]
empty_entry_point = "empty_entry_point"

[tool.hatch.build.targets.wheel]
only-include = ["empty_entry_point.py"]
"""
#: Marks the parts of a session: the tool that counts looks at each call of this seldom function.
_MARKS = """\
import gc
import os

import pytest

if os.environ.get("BENCH_WITHOUT_COLLECTOR"):
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    os.getloadavg()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    os.getloadavg()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    os.getloadavg()
"""
#: What is installed beside pytest, by the name of an environment.
_WHEELS = {"bare": (), "empty": ("pytest_empty_entry_point-*.whl",), "ours": ("*phase_gate-*.whl",)}


def interpreters() -> list[str]:
    """Return every supported interpreter that is found, the newest one first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = []
    for minor in reversed(range(11, 20)):
        places = (shutil.which(f"python3.{minor}"), *pyenv.glob(f"versions/3.{minor}.*/bin/python3.{minor}"))
        here = (str(path) for path in places if path is not None and _version(str(path)))
        found += [path for path, _ in zip(here, range(1), strict=False)]
    return found


def _version(python: str) -> str:
    done = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


class Environments:
    """Those of one interpreter, each made when it is first asked for."""

    def __init__(self, folder: Path, interpreter: str, wheels: Path) -> None:
        self._folder, self._interpreter, self._wheels = folder, interpreter, wheels
        self.version = _version(interpreter)

    def version_of(self, distribution: str) -> str:
        """Return which version of a distribution is measured beside."""
        asked = f"import importlib.metadata; print(importlib.metadata.version({distribution!r}))"
        done = subprocess.run([self.python("bare"), "-c", asked], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def python(self, kind: str, *more: str) -> str:
        """Return the interpreter of an environment with pytest and, by its kind, what is measured.

        :param more: further distributions.
        """
        place = self._folder / "-".join((kind, *more))
        python = place / "bin" / "python"
        if not place.exists():
            subprocess.run([self._interpreter, "-m", "venv", "--without-pip", str(place)], check=True)
            chosen = [str(path) for pattern in _WHEELS[kind] for path in self._wheels.glob(pattern)]
            install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
            subprocess.run([*install, "pytest", "PyYAML", *more, *chosen], check=True)
            (packages,) = place.glob("lib/python3.*/site-packages")
            (packages / "bench_marks.py").write_text(_MARKS, encoding="utf-8")
        return str(python)


def build_wheels(folder: Path) -> Path:
    """Build both distributions of this checkout, and an empty one, and return where they lie."""
    empty = folder / "empty"
    empty.mkdir(parents=True)
    (empty / "pyproject.toml").write_text(_EMPTY, encoding="utf-8")
    (empty / "empty_entry_point.py").write_text("", encoding="utf-8")
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    for place in (TOP, TOP / "plugin", empty):
        subprocess.run([*build, str(place)], check=True)
    return wheels


# --- counting


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment with nothing of this machine's own settings; pytest finds its plugins by itself."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PHASE_GATE_", "PYTEST_", "PYTHON", "PYENV_", "GITHUB_", "CI"))
    }
    return {**kept, "PYTHONHASHSEED": "0", "COLUMNS": "80", "XDG_STATE_HOME": str(folder / ".user-state"), **more}


def run(command: Sequence[str], folder: Path, *, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command; a closed gate is as good an end as an open one.

    :param given: what stands on its standard input.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder, **more),
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 10), done.stdout + done.stderr
    return done


def count(command: Sequence[str], folder: Path, *, given: str = "", **more: str) -> int:
    """Return the instructions of one process, without those that it starts."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    found = re.search(r"I +refs: +([\d,]+)", run([*tool, *command], folder, given=given, **more).stderr)
    assert found is not None
    return int(found.group(1).replace(",", ""))


def count_all(command: Sequence[str], folder: Path) -> int:
    """Return the instructions of a process and of all that it starts."""
    logs = folder / ".user-state" / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    run([*tool, "--trace-children=yes", f"--log-file={logs}/%p", *command], folder)
    found = [re.search(r"I +refs: +([\d,]+)", log.read_text()) for log in logs.iterdir()]
    # A process that was killed before the tool could say its number would make the sum a lie.
    assert None not in found, "a process did not end by itself; measure on a calmer machine"
    return sum(int(each.group(1).replace(",", "")) for each in found if each is not None)


def count_parts(command: Sequence[str], folder: Path, **more: str) -> Mapping[str, int]:
    """Return the instructions of each part of a session: its start, collection, the loop over tests, its end."""
    dumps = folder / ".user-state" / "dumps"
    shutil.rmtree(dumps, ignore_errors=True)
    dumps.mkdir(parents=True)
    tool = ["valgrind", "--tool=callgrind", "--dump-before=getloadavg", f"--callgrind-out-file={dumps}/part"]
    run([*tool, *command, "-p", "bench_marks"], folder, **more)
    parts = sorted(dumps.iterdir(), key=lambda path: int(path.suffix.removeprefix(".") or 999))
    totals = [int(re.findall(r"^(?:summary|totals): (\d+)", part.read_text(), re.M)[-1]) for part in parts]
    assert len(totals) == 4, [part.name for part in parts]
    return dict(zip(("start", "collection", "loop", "end"), totals, strict=True))


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took: processor time, and the most memory, in MiB."""

    seconds: float
    memory: float


def usage(command: Sequence[str], folder: Path) -> Usage:
    """Run a command, not counted, and return what it took."""
    process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 10), command
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
