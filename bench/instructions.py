"""`python -m bench --instructions`: what we cost, counted in instructions, which are the same on every machine.

Both wheels are built and installed, and pytest finds the plugin by itself. Each measure is a small function; `MEASURES`
has them in the order of the table.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.installed import Environments, build_wheels, count, count_all, count_parts, memory, run
from bench.suites import write_suite, write_tree

_QUIET = ("-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider")
_ACTIVE = ("--phase=green", "--phase-exit=tests")
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
            warm_up(self.command("ours", *_ACTIVE), place)
            # A file that was written just now is looked at again and again.
            time.sleep(2.5)
            warm_up([self.environments.python("ours"), "-m", "phase_gate.cli", "check"], place)
        return place

    def command(self, kind: str, *words: str, workers: bool = False) -> list[str]:
        return [self.environments.python(kind, *(["pytest-xdist"] if workers else [])), *_QUIET, *words]

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


def _millions(value: float) -> str:
    return f"{value / 1e6:,.1f} M"


def _percent(value: float) -> str:
    return f"{value:+.2%}".replace("%", " %")


def not_used(kit: Kit) -> Iterable[Row]:
    bare, empty, ours = (kit.whole(kind, 1, "--collect-only") for kind in ("bare", "empty", "ours"))
    share = ours / bare - 1
    yield Row(
        "installed, not used",
        _millions(bare),
        f"{_percent(empty / bare - 1)} (empty entry point)",
        _percent(share),
        "+1.4 %",
        share <= 0.014,
    )


def one_test(kit: Kit) -> Iterable[Row]:
    bare, ours = kit.whole("bare", 1), kit.whole("ours", 1, *_ACTIVE)
    more = ours - bare
    yield Row(
        "a run of one test",
        _millions(bare),
        "",
        f"+{_millions(more)} ({_percent(more / bare)})",
        "+105 M",
        more <= 105e6,
    )


def short_runs(kit: Kit) -> Iterable[Row]:
    for tests, goal in ((20, None), (500, 1.06)):
        bare, ours = kit.whole("bare", tests), kit.whole("ours", tests, *_ACTIVE)
        junit = kit.whole("bare", tests, "--junitxml=out.xml")
        yield Row(
            f"a run of {tests} tests",
            _millions(bare),
            f"{junit / bare:.3f} (--junitxml)",
            f"{ours / bare:.3f}",
            "" if goal is None else f"{goal:.2f}",
            None if goal is None else ours / bare <= goal,
        )


#: Between these the slope is taken.
_SLOPE = (500, 1500)


def _slope(kit: Kit, kind: str, suite: str, *words: str) -> dict[str, float]:
    less, more = (kit.parts(kind, tests, suite, *words) for tests in _SLOPE)
    return {part: (more[part] - less[part]) / (_SLOPE[1] - _SLOPE[0]) for part in less}


def each_test(kit: Kit, suite: str = "plain", goal: float = 0.01) -> Iterable[Row]:
    bare, ours = _slope(kit, "bare", suite), _slope(kit, "ours", suite, *_ACTIVE)
    more = {part: ours[part] - bare[part] for part in bare}
    share = sum(more.values()) / sum(bare.values())
    parts = ", ".join(f"{part} {value / 1e3:+.1f} k" for part, value in more.items() if part != "start")
    yield Row(
        "each test more" if suite == "plain" else "each test more of a watched suite",
        f"{sum(bare.values()) / 1e3:,.0f} k",
        "",
        f"{_percent(share)}: {parts}",
        f"+{goal:.0%}".replace("%", " %"),
        share <= goal,
    )


def watched(kit: Kit) -> Iterable[Row]:
    yield from each_test(kit, "watched", 0.02)


def workers(kit: Kit) -> Iterable[Row]:
    folder = kit.suite(300)
    found = {}
    for kind, words in (("bare", ()), ("ours", _ACTIVE), ("junit", ("--junitxml=out.xml",))):
        command = kit.command("bare" if kind == "junit" else kind, "-n", "2", *words, workers=True)
        warm_up(command, folder)
        found[kind] = count_all(command, folder)
    share = found["ours"] / found["bare"] - 1
    yield Row(
        "-n 2, 300 tests, all processes",
        _millions(found["bare"]),
        f"{_percent(found['junit'] / found['bare'] - 1)} (--junitxml)",
        _percent(share),
        "+5 %",
        share <= 0.05,
    )


def most_memory(kit: Kit) -> Iterable[Row]:
    for tests, goal in ((1, None), (10_000, 5.0), (50_000, None)):
        folder = kit.suite(tests)
        found = {}
        for kind, words in (("bare", ()), ("ours", _ACTIVE), ("junit", ("--junitxml=out.xml",))):
            command = kit.command("bare" if kind == "junit" else kind, *words)
            warm_up(command, folder)
            found[kind] = memory(command, folder)
        more = found["ours"] - found["bare"]
        yield Row(
            f"memory at {tests:,} tests",
            f"{found['bare']:.1f} MiB",
            f"{found['junit'] - found['bare']:+.1f} (--junitxml)",
            f"{more:+.1f} MiB",
            "" if goal is None else f"+{goal:.0f} MiB",
            None if goal is None else more <= goal,
        )


Measure = Callable[[Kit], Iterable[Row]]
#: Sizes of the projects that commands look at, and how many times the start of an interpreter they may take there.
_PROJECTS = {10: 3.0, 1_000: 3.5, 10_000: 3.5}
#: What agents ask all the time, with what they say.
_ASKED = {
    "check": "",
    "status": "",
    "hook stop": '{"hook_event_name": "Stop", "session_id": "s"}',
    "hook pre-tool": '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "new.py"}}',
}


def commands(kit: Kit) -> Iterable[Row]:
    """What a question costs, beside an interpreter that does nothing, in projects of several sizes."""
    python = kit.environments.python("ours")
    gate = str(Path(python).with_name("phase-gate"))
    for files, goal in _PROJECTS.items():
        folder = kit.project(files)
        bare = count([python, "-c", "pass"], folder)
        for name, given in _ASKED.items():
            ours = count([gate, *name.split()], folder, given=given)
            yield Row(
                f"`{name}` in {files:,} files",
                _millions(bare),
                "",
                f"{ours / bare:.2f} times",
                f"{goal:g} times",
                ours / bare <= goal,
            )


#: Runs that came before, and the bytes that each may take once its lines are packed.
_RUNS, _BYTES = 10_000, 2048
#: Records the last run so many times more, without waiting for the disk.
_AGE = """\
import os, sys
from pathlib import Path
from phase_gate.project import Project
from phase_gate.storage.files import FileSystem
from phase_gate.values import replace

FileSystem.fsync = FileSystem.fsync_folder = lambda self, place: None
store = Project.find(Path.cwd(), environment=dict(os.environ)).store("bench")
events = [line.event for line in store.lines()]
first = max(number for number, event in enumerate(events) if event.kind == "run-started")
for number in range(int(sys.argv[1])):
    for part in (events[first : first + 1], events[first + 1 :]):
        with store.transaction() as change:
            for event in part:
                known = {"run": f"{number:016x}"} if "run" in event.data else {}
                change.record(replace(event, data={**event.data, **known}, at=""))
"""


def growth(kit: Kit) -> Iterable[Row]:
    """What a run costs, and what it leaves, after very many others."""
    folder, command = kit.suite(20, "old"), kit.command("ours", *_ACTIVE)
    warm_up(command, folder)
    young, size = count(command, folder), _size_of(folder / ".phase-gate")
    run([kit.environments.python("ours"), "-c", _AGE, str(_RUNS)], folder)
    each = (_size_of(folder / ".phase-gate") - size) / _RUNS
    warm_up(command, folder)
    old = count(command, folder)
    yield Row(f"a run after {_RUNS:,} others", _millions(young), "", f"{old / young:.3f}", "1.01", old / young <= 1.01)
    yield Row("bytes that a run leaves", "", "", f"{each:,.0f}", f"{_BYTES:,}", each <= _BYTES)


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


MEASURES: dict[str, Measure] = {
    "not-used": not_used,
    "one-test": one_test,
    "short-runs": short_runs,
    "each-test": each_test,
    "watched": watched,
    "workers": workers,
    "memory": most_memory,
    "commands": commands,
    "growth": growth,
}
#: What differs from one interpreter to the next.
_EVERYWHERE = ("not-used", "one-test")


def measure(folder: Path, names: Iterable[str], pythons: Iterable[str]) -> dict[str, list[Row]]:
    """Return the rows by interpreter: all that are asked for on the newest, those that depend on it on every one."""
    wheels = build_wheels(folder)
    found: dict[str, list[Row]] = {}
    for number, python in enumerate(pythons):
        environments = Environments(folder / f"python-{number}", python, wheels)
        kit = Kit(folder / f"suites-{number}", environments)
        chosen = [name for name in names if number == 0 or name in _EVERYWHERE]
        rows = [row for name in chosen for row in MEASURES[name](kit)]
        if rows:
            found[environments.version] = rows
    return found


def render(found: Mapping[str, Iterable[Row]]) -> str:
    """Return the tables as Markdown."""
    lines = []
    for version, rows in found.items():
        lines += [f"Python {version}", "", "| what | bare | floor or peer | ours | goal | |", "| --- |" + " --- |" * 5]
        for row in rows:
            reached = {True: "reached", False: "not reached", None: ""}[row.reached]
            lines.append(f"| {row.what} | {row.bare} | {row.floor} | {row.ours} | {row.goal} | {reached} |")
        lines.append("")
    return "\n".join(lines)
