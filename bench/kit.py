"""What the measures of instructions share: suites, projects and environments, each made once, and rows of a table."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.installed import Environments, count, count_parts, run
from bench.suites import write_suite, write_tree

_QUIET = ("-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider")
ACTIVE = ("--phase=green", "--phase-exit=tests")
#: Reaches into the collection, as many suites do: the plugin has to look at what becomes of it.
_WATCHED = """\
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.nodeid)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, what the floor and we add to it, and what we want to stay below."""

    what: str
    bare: str
    floor: str
    ours: str
    goal: str
    reached: bool | None = None


class Kit:
    """What the measures share: environments and suites, each made once."""

    def __init__(self, folder: Path, environments: Environments) -> None:
        self._folder, self.environments = folder, environments

    def place(self, name: str) -> Path:
        """Return where a project of its own is to be written."""
        return self._folder / name

    def suite(self, tests: int, kind: str = "plain") -> Path:
        place = self._folder / f"{kind}-{tests}"
        if not place.exists():
            write_suite(place, tests)
            if kind == "watched":
                (place / "conftest.py").write_text(_WATCHED, encoding="utf-8")
            commit(place)
        return place

    def project(self, files: int) -> Path:
        """Return a project with so many files, with a task in it whose tree is known."""
        place = self._folder / f"files-{files}"
        if not place.exists():
            write_suite(place, 1)
            write_tree(place, files)
            warm_up(self.command("ours", *ACTIVE), place)
            # A file that was written just now is looked at again and again.
            time.sleep(2.5)
            warm_up([self.environments.python("ours"), "-m", "phase_gate.cli", "check"], place)
        return place

    def command(self, kind: str, *words: str, plugin: str | None = None) -> list[str]:
        return [self.environments.python(kind, *([plugin] if plugin else [])), *_QUIET, *words]

    @cache  # noqa: B019 - a kit lives as long as the process
    def whole(self, kind: str, tests: int, *words: str) -> int:
        """Return the instructions of a run, the third one on the same tree."""
        folder, command = self.suite(tests), self.command(kind, *words)
        warm_up(command, folder)
        return count(command, folder)

    @cache  # noqa: B019
    def parts(self, kind: str, tests: int, suite: str, *words: str) -> Mapping[str, int]:
        """Return the instructions of the parts of a run, without the collector, whose work comes in lumps."""
        folder, command = self.suite(tests, suite), self.command(kind, *words)
        warm_up(command, folder)
        return count_parts(command, folder, BENCH_WITHOUT_COLLECTOR="yes")


def commit(folder: Path) -> None:
    (folder / ".gitignore").write_text(".phase-gate/\n.user-state/\n__pycache__/\nout.*\n", encoding="utf-8")
    identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def warm_up(command: list[str], folder: Path) -> None:
    for _ in range(2):
        run(command, folder)


Measure = Callable[[Kit], Iterable[Row]]


def millions(value: float) -> str:
    return f"{value / 1e6:,.1f} M"


def percent(value: float) -> str:
    return f"{value:+.2%}".replace("%", " %")
