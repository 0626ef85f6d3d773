"""`python -m bench --instructions`: what we cost, counted in instructions, which are the same on every machine.

Both wheels are built and installed, and pytest finds the plugin by itself. Each measure is a small function; `MEASURES`
has them in the order of the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from bench.grown import growth, varied
from bench.installed import count, count_all, usage
from bench.kit import ACTIVE, Kit, Measure, Row, millions, percent, warm_up


def not_used(kit: Kit) -> Iterable[Row]:
    bare, empty, ours = (kit.whole(kind, 1, "--collect-only") for kind in ("bare", "empty", "ours"))
    share = ours / bare - 1
    yield Row(
        "installed, not used",
        millions(bare),
        f"{percent(empty / bare - 1)} (empty entry point)",
        percent(share),
        "+1.4 %",
        share <= 0.014,
    )


def one_test(kit: Kit) -> Iterable[Row]:
    bare, ours = kit.whole("bare", 1), kit.whole("ours", 1, *ACTIVE)
    more = ours - bare
    yield Row(
        "a run of one test",
        millions(bare),
        "",
        f"+{millions(more)} ({percent(more / bare)})",
        "+105 M",
        more <= 105e6,
    )


def short_run(kit: Kit, *, tests: int, goal: float | None = None) -> Iterable[Row]:
    bare, ours = kit.whole("bare", tests), kit.whole("ours", tests, *ACTIVE)
    junit = kit.whole("bare", tests, "--junitxml=out.xml")
    yield Row(
        f"a run of {tests} tests",
        millions(bare),
        f"{junit / bare:.3f} (`--junitxml`)",
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
    bare, ours = _slope(kit, "bare", suite), _slope(kit, "ours", suite, *ACTIVE)
    more = {part: ours[part] - bare[part] for part in bare}
    share = sum(more.values()) / sum(bare.values())
    parts = ", ".join(f"{part} {value / 1e3:+.1f} k" for part, value in more.items() if part != "start")
    yield Row(
        "each test more" if suite == "plain" else "each test more of a watched suite",
        f"{sum(bare.values()) / 1e3:,.0f} k",
        "",
        f"{percent(share)}: {parts}",
        f"+{goal:.0%}".replace("%", " %"),
        share <= goal,
    )


def watched(kit: Kit) -> Iterable[Row]:
    yield from each_test(kit, "watched", 0.02)


def workers(kit: Kit) -> Iterable[Row]:
    folder = kit.suite(300)
    found = {}
    for kind, words in (("bare", ()), ("ours", ACTIVE), ("junit", ("--junitxml=out.xml",))):
        command = kit.command("bare" if kind == "junit" else kind, "-n", "2", *words, plugin="pytest-xdist")
        warm_up(command, folder)
        found[kind] = count_all(command, folder)
    share = found["ours"] / found["bare"] - 1
    yield Row(
        "`-n 2`, 300 tests, all processes",
        millions(found["bare"]),
        f"{percent(found['junit'] / found['bare'] - 1)} (`--junitxml`)",
        percent(share),
        "+5 %",
        share <= 0.05,
    )


def most_memory(kit: Kit, *, tests: int, goal: float | None = None) -> Iterable[Row]:
    folder = kit.suite(tests)
    found = {}
    for kind, words in (("bare", ()), ("ours", ACTIVE), ("junit", ("--junitxml=out.xml",))):
        command = kit.command("bare" if kind == "junit" else kind, *words)
        warm_up(command, folder)
        found[kind] = usage(command, folder).memory
    more = found["ours"] - found["bare"]
    yield Row(
        f"memory at {tests:,} {'test' if tests == 1 else 'tests'}",
        f"{found['bare']:.1f} MiB",
        f"{found['junit'] - found['bare']:+.1f} MiB (`--junitxml`)",
        f"{more:+.1f} MiB",
        "" if goal is None else f"+{goal:.0f} MiB",
        None if goal is None else more <= goal,
    )


def many_tests(kit: Kit) -> Iterable[Row]:
    """A run that takes too long to count its instructions: time and memory, once each, of the second run."""
    tests = 50_000
    found = {}
    for kind, words in (("bare", ()), ("ours", ACTIVE)):
        command = kit.command(kind, *words)
        usage(command, kit.suite(tests))
        found[kind] = usage(command, kit.suite(tests))
    bare, ours = found["bare"], found["ours"]
    yield Row(
        f"processor time of {tests:,} tests, one round",
        f"{bare.seconds:.1f} s",
        "",
        f"{ours.seconds / bare.seconds:.3f}",
        "",
    )
    yield Row(f"memory at {tests:,} tests", f"{bare.memory:.1f} MiB", "", f"{ours.memory - bare.memory:+.1f} MiB", "")


#: What agents ask all the time, with what they say.
_ASKED = {
    "check": "",
    "status": "",
    "hook stop": '{"hook_event_name": "Stop", "session_id": "s"}',
    "hook pre-tool": '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "new.py"}}',
}


def commands(kit: Kit, *, files: int, goal: float) -> Iterable[Row]:
    """What a question costs, beside an interpreter that does nothing."""
    python = kit.environments.python("ours")
    gate = str(Path(python).with_name("phase-gate"))
    folder = kit.project(files)
    bare = count([python, "-c", "pass"], folder)
    for name, given in _ASKED.items():
        ours = count([gate, *name.split()], folder, given=given)
        yield Row(
            f"`{name}` in {files:,} files",
            f"{millions(bare)} (`python -c pass`)",
            "",
            f"{ours / bare:.2f} times",
            f"{goal:g} times",
            ours / bare <= goal,
        )


#: By the names that choose them, in the order of the table.
MEASURES: dict[str, Measure] = {
    "not-used": not_used,
    "one-test": one_test,
    "run-20": partial(short_run, tests=20),
    "run-500": partial(short_run, tests=500, goal=1.06),
    "each-test": each_test,
    "watched": watched,
    "workers": workers,
    "memory-1": partial(most_memory, tests=1),
    "memory-10000": partial(most_memory, tests=10_000, goal=5.0),
    "many-tests": many_tests,
    "commands-10": partial(commands, files=10, goal=3.0),
    "commands-1000": partial(commands, files=1_000, goal=3.5),
    "commands-10000": partial(commands, files=10_000, goal=3.5),
    "growth": growth,
    "varied": varied,
}
#: What differs from one interpreter to the next, and does not take long.
EVERYWHERE = ("not-used", "one-test", "run-20", "run-500", "commands-10")
