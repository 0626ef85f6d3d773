"""Tables that are too long for every run: a sample of them in the suite, all of them with `tox -e sweeps`.

`@pytest.mark.sampled(n)`, at a test or for its module, keeps every nth row of a table; `@pytest.mark.sweep` leaves a
long test out. A row that is the first to show a clause (`criterion`), a false green (`cheats`) or who
refuses it (`shows`) is kept as well, and so is the first row of its table with an outcome of its own.
What is named by its id runs in any case.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pytest

IS_WHOLE = "EVERY_ROW" in os.environ

#: A mark that says what a test shows, and one of its arguments.
Shown = tuple[str, object]
SHOWING = ("criterion", "cheats", "shows")
#: Parameters that say what comes out, if they are a number, a truth value or a word.
OUTCOMES = frozenset({"changes", "code", "expected", "guard", "verdict"})

#: The tests that are left, before others choose among them.
KEPT = pytest.StashKey[tuple[pytest.Item, ...]]()


def shown_by(item: pytest.Item) -> set[Shown]:
    """Return the clauses and the false greens that a test shows."""
    return {(name, each) for name in SHOWING for mark in item.iter_markers(name) for each in mark.args}


def outcomes_of(item: pytest.Item) -> set[Shown]:
    """Return what comes out of a row of a table."""
    rows: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    table = item.nodeid.partition("[")[0]
    return {
        (f"{table} {name}", value)
        for name, value in rows.items()
        if name in OUTCOMES and isinstance(value, (int, str)) and "\n" not in str(value)
    }


def find_sample(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the tests of the suite: all but the long ones, and of each table its first, every nth, and what is new."""
    kept: set[pytest.Item] = set()
    numbers: Counter[str] = Counter()
    shown: set[Shown] = set()
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            continue
        table, mark = item.nodeid.partition("[")[0], item.get_closest_marker("sampled")
        shows = shown_by(item) | outcomes_of(item)
        if mark is None or numbers[table] % mark.args[0] == 0 or shows - shown:
            kept.add(item)
            shown |= shows
        numbers[table] += 1
    return kept


def find_named(config: pytest.Config, items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that the command line names by their ids: all rows, where it names a table."""
    named = [argument.partition("::") for argument in config.args if "::" in argument]
    wanted = [((config.invocation_params.dir / path).resolve(), name) for path, _, name in named]
    return {
        item
        for item in items
        for path, name in wanted
        if item.path == path and _is_part(item.nodeid.partition("::")[2], of=name)
    }


def _is_part(name: str, *, of: str) -> bool:
    return name == of or name.startswith((f"{of}[", f"{of}::"))


def keep_sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the others out, and say so, unless all are wanted."""
    if not IS_WHOLE:
        kept = find_sample(items) | find_named(config, items)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    config.stash[KEPT] = tuple(items)
