"""What we cost, counted in instructions, which are the same on every machine, however busy it is.

Both wheels are built and installed, and pytest finds the plugin by itself. Suites are trivial passing tests, so that
every instruction of ours shows; the third run on an unchanged tree in git counts.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parent.parent
ACTIVE = ("--phase=green", "--phase-exit=tests")
_QUIET = ("-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider")
#: Tests in one file; real suites have about so many.
_PER_FILE = 50

#: What a suite with hooks of its own has in its conftest.
_HOOKS = """\
import pytest


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return (yield)


@pytest.fixture(autouse=True)
def around(monkeypatch):
    yield
"""

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
#: What is installed with pytest, by the name of an environment.
_WHEELS = {"bare": (), "empty": ("pytest_empty_entry_point-*.whl",), "ours": ("*phase_gate-*.whl",)}


class Row(NamedTuple):
    """One line of the table: what was measured, what a peer and we add to it, and what we want to stay below."""

    what: str
    bare: str
    peer: str
    ours: str
    goal: str = ""
    reached: bool | None = None


class Kit:
    """What the measures share: environments and suites, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cache  # noqa: B019 - a kit lives as long as the process
    def _wheels(self) -> Path:
        """Build both distributions of this checkout, and an empty one."""
        empty, wheels = self._folder / "empty-entry-point", self._folder / "wheels"
        empty.mkdir()
        (empty / "pyproject.toml").write_text(_EMPTY, encoding="utf-8")
        (empty / "empty_entry_point.py").write_text("", encoding="utf-8")
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
        for place in (TOP, TOP / "plugin", empty):
            subprocess.run([*build, str(place)], check=True)
        return wheels

    @cache  # noqa: B019
    def python(self, kind: str, *more: str) -> str:
        """Return the interpreter of an environment with pytest and, by its kind, what is measured."""
        place = self._folder / "-".join(("python", kind, *more))
        python = place / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
        chosen = [str(path) for pattern in _WHEELS[kind] for path in self._wheels().glob(pattern)]
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
        subprocess.run([*install, "pytest", "PyYAML", *more, *chosen], check=True)
        return str(python)

    def command(self, kind: str, *words: str, plugin: str = "") -> list[str]:
        return [self.python(kind, *filter(None, [plugin])), *_QUIET, *words]

    @cache  # noqa: B019
    def suite(self, tests: int, files: int = 0, conftest: str = "") -> Path:
        """Write a suite of trivial tests, and so many other files, all committed."""
        folder = self._folder / f"suite-{tests}-{files}{'-hooks' * bool(conftest)}"
        folder.mkdir()
        if conftest:
            (folder / "conftest.py").write_text(conftest, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (folder / ".gitignore").write_text(".phase-gate/\n.user-state/\n__pycache__/\nout.*\n", encoding="utf-8")
        for number, start in enumerate(range(0, tests, _PER_FILE)):
            rows = [f"def test_{index}():\n    assert True\n" for index in range(start, min(start + _PER_FILE, tests))]
            (folder / f"test_{number}.py").write_text("\n\n".join(rows), encoding="utf-8")
        for number in range(files):
            path = folder / f"part_{number // 100}" / f"module_{number}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"NUMBER = {number}\n" * 400, encoding="utf-8")
        identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
            subprocess.run(["git", *identity, *words], cwd=folder, check=True)
        return folder

    @cache  # noqa: B019
    def whole(self, kind: str, tests: int, *words: str, conftest: str = "") -> int:
        """Return the instructions of a run, the third one on the same tree."""
        folder, command = self.suite(tests, conftest=conftest), self.command(kind, *words)
        warm_up(command, folder)
        return count(command, folder)


# --- counting --------------------------------------------------------------------------------------------------------


def run(command: Sequence[str], folder: Path, *, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this machine's settings; a closed gate is as good an end as an open one."""
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder), input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 10), done.stdout + done.stderr
    return done


def _environment(folder: Path) -> dict[str, str]:
    dropped = ("PHASE_GATE_", "PYTEST_", "PYTHON", "PYENV_", "GITHUB_", "CI")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONHASHSEED": "0", "COLUMNS": "80", "XDG_STATE_HOME": str(folder / ".user-state")}


def warm_up(command: list[str], folder: Path) -> None:
    for _ in range(2):
        run(command, folder)


def count(command: Sequence[str], folder: Path, *, given: str = "", with_children: bool = False) -> int:
    """Return the instructions of a process, without or with those of all that it starts."""
    logs = folder / ".user-state" / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    # A child that is not followed would leave a log without a number.
    children = ["--trace-children=yes"] if with_children else ["--child-silent-after-fork=yes"]
    run([*tool, *children, f"--log-file={logs}/%p", *command], folder, given=given)
    found = [re.search(r"I +refs: +([\d,]+)", log.read_text()) for log in logs.iterdir()]
    # Without the number of a process that was killed the sum would be too low.
    assert None not in found, "a process did not end by itself; measure on a calmer machine"
    return sum(int(each.group(1).replace(",", "")) for each in found if each is not None)


def take_memory(command: Sequence[str], folder: Path) -> float:
    """Return the most memory that a command had, in MiB."""
    process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 10), command
    return used.ru_maxrss / 1024


# --- measures --------------------------------------------------------------------------------------------------------


def _millions(value: float) -> str:
    return f"{value / 1e6:,.1f} M"


def _percent(value: float) -> str:
    return f"{value:+.2%}".replace("%", " %")


def not_used(kit: Kit) -> Iterable[Row]:
    bare, empty, ours = (kit.whole(kind, 1, "--collect-only") for kind in ("bare", "empty", "ours"))
    peer, share = f"{_percent(empty / bare - 1)} (empty entry point)", ours / bare - 1
    yield Row("installed, not used", _millions(bare), peer, _percent(share), "+1.4 %", share <= 0.014)


def whole_run(kit: Kit, *, tests: int, goal: float, conftest: str = "") -> Iterable[Row]:
    bare, ours = kit.whole("bare", tests, conftest=conftest), kit.whole("ours", tests, *ACTIVE, conftest=conftest)
    junit = kit.whole("bare", tests, "--junitxml=out.xml", conftest=conftest)
    peer = f"{junit / bare:.3f} (`--junitxml`)"
    title = ("a run of one test" if tests == 1 else f"a run of {tests} tests") + " with hooks" * bool(conftest)
    yield Row(title, _millions(bare), peer, f"{ours / bare:.3f}", f"{goal:.2f}", ours / bare <= goal)


def each_test(kit: Kit) -> Iterable[Row]:
    """What one more test costs, over so many that the garbage collections, which come in lumps, are about the same."""
    less, more = 500, 4500
    slopes = {
        kind: (kit.whole(kind, more, *words) - kit.whole(kind, less, *words)) / (more - less)
        for kind, words in (("bare", ()), ("ours", ACTIVE))
    }
    share = slopes["ours"] / slopes["bare"] - 1
    yield Row("each test more", f"{slopes['bare'] / 1e3:,.0f} k", "", _percent(share), "+1 %", share <= 0.01)


_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bare": ("bare", ()),
    "ours": ("ours", ACTIVE),
    "junit": ("bare", ("--junitxml=out.xml",)),
}


def workers(kit: Kit) -> Iterable[Row]:
    folder, found = kit.suite(300), {}
    for name, (kind, words) in _KINDS.items():
        command = kit.command(kind, "-n", "2", *words, plugin="pytest-xdist")
        warm_up(command, folder)
        found[name] = count(command, folder, with_children=True)
    peer, share = (found[name] / found["bare"] - 1 for name in ("junit", "ours"))
    title, base = "`-n 2`, 300 tests, all processes", _millions(found["bare"])
    yield Row(title, base, f"{_percent(peer)} (`--junitxml`)", _percent(share), "+5 %", share <= 0.05)


def memory(kit: Kit) -> Iterable[Row]:
    tests, found = 10_000, {}
    for name, (kind, words) in _KINDS.items():
        command = kit.command(kind, *words)
        warm_up(command, kit.suite(tests))
        found[name] = take_memory(command, kit.suite(tests))
    peer, more = (found[name] - found["bare"] for name in ("junit", "ours"))
    title, base = f"memory at {tests:,} tests", f"{found['bare']:.1f} MiB"
    yield Row(title, base, f"{peer:+.1f} MiB (`--junitxml`)", f"{more:+.1f} MiB", "+6 MiB", more <= 6.0)


#: What agents ask all the time, with what they pass on standard input.
_ASKED = {
    "check": "",
    "status": "",
    "hook stop": '{"hook_event_name": "Stop", "session_id": "s"}',
    "hook pre-tool": '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "new.py"}}',
}


def commands(kit: Kit, *, files: int, goal: float) -> Iterable[Row]:
    """What a question costs, compared with an interpreter that does nothing."""
    python, folder = kit.python("ours"), kit.suite(1, files)
    gate = str(Path(python).with_name("phase-gate"))
    warm_up(kit.command("ours", *ACTIVE), folder)
    time.sleep(2.5)  # a file that was written just now is read again
    warm_up([gate, "check"], folder)
    bare = count([python, "-c", "pass"], folder)
    for name, given in _ASKED.items():
        times = count([gate, *name.split()], folder, given=given) / bare
        title, base = f"`{name}` in {files:,} files", f"{_millions(bare)} (`python -c pass`)"
        yield Row(title, base, "", f"{times:.2f} times", f"{goal:g} times", times <= goal)


#: By the names that choose them, in the order of the table.
MEASURES: dict[str, Callable[[Kit], Iterable[Row]]] = {
    "not-used": not_used,
    "run-1": partial(whole_run, tests=1, goal=1.14),
    "run-20": partial(whole_run, tests=20, goal=1.13),
    "run-500": partial(whole_run, tests=500, goal=1.07),
    "run-500-hooks": partial(whole_run, tests=500, goal=1.10, conftest=_HOOKS),
    "each-test": each_test,
    "workers": workers,
    "memory": memory,
    "commands-10": partial(commands, files=10, goal=3.2),
    "commands-1000": partial(commands, files=1_000, goal=3.5),
}


def render(rows: Iterable[Row]) -> str:
    """Return the table as Markdown."""
    lines = [f"Python {platform.python_version()}:", "", "| what | bare pytest | peer | ours | goal |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for row in rows:
        goal = row.goal + {True: ": reached", False: ": not reached", None: ""}[row.reached]
        lines.append(f"| {row.what} | {row.bare} | {row.peer} | {row.ours} | {goal} |".replace("|  |", "| |"))
    return "\n".join(lines)
