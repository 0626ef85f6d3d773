"""What the tables have in common: the honest thing next to most cheats, and pieces of the test file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from _pytest.mark.structures import ParameterSet

from tests.integrity.rows import BAD, Attempt, Row

#: Rows by the number of the false green that they belong to.
Table = Mapping[int, tuple[Row, ...]]

MENDED = "the code is mended"
#: Told by the experiment only, once Gate 1 is open.
DISPROVEN = "targets-proven"

NOTHING_ASSERT = "    assert total([]) == 0\n"
NOTHING_TEST = f"def test_total_of_nothing():\n{NOTHING_ASSERT}"


def cheat(name: str, attempt: Attempt, told_by: str, *, twin_name: str = MENDED, twin: Attempt | None = None) -> Row:
    return Row(name=name, cheat=attempt, told_by=told_by, twin_name=twin_name, twin=twin or Attempt())


def run_with(*arguments: str, code: str = BAD, **environment: str) -> Attempt:
    """The failing code, and words or variables that are to hide it."""
    return Attempt(code=code, arguments=arguments, environment=tuple(environment.items()))


def rows_of(*tables: Table) -> tuple[Row, ...]:
    return tuple(row for table in tables for rows in table.values() for row in rows)


def numbered(*tables: Table, disproven: bool = False) -> list[ParameterSet]:
    """Return the rows as parameters that say which false green they are, so that no sample loses one.

    :param disproven: those that only the experiment tells, or the others.
    """
    return [
        pytest.param(row, id=row.name, marks=pytest.mark.cheats(number))
        for table in tables
        for number, rows in table.items()
        for row in rows
        if (row.told_by == DISPROVEN) is disproven
    ]


def distinct_twins(rows: Iterable[Row]) -> dict[str, Attempt]:
    """Return each twin once, by its name: many cheats share one."""
    twins: dict[str, Attempt] = {}
    for row in rows:
        assert twins.setdefault(row.twin_name, row.twin) == row.twin, f"two twins are called {row.twin_name!r}"
    return twins
