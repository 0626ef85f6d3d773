"""Measure, keep each measure's rows as soon as they are there, and show them as a table, also on the page.

What was measured on the same sources is not measured again, so a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.installed import TOP, Environments, build_wheels
from bench.instructions import EVERYWHERE, MEASURES
from bench.kit import Kit, Row

#: Rows by interpreter.
Tables = dict[str, list[Row]]
PAGE = TOP / "docs" / "explanation" / "performance.md"
BEGIN, END = "<!-- bench: begin -->\n", "<!-- bench: end -->"


class Kept:
    """The rows that are there already, by what was measured, interpreter and measure."""

    def __init__(self, file: Path, sources: str) -> None:
        self._file, self._sources = file, sources
        self._rows: dict[str, dict[str, list[dict[str, object]]]] = {}
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            document = {}
        if sources and document.get("sources") == sources:
            self._rows = document["rows"]

    def find(self, title: str, name: str) -> list[Row] | None:
        found = self._rows.get(title, {}).get(name)
        return None if found is None else [Row(**row) for row in found]  # type: ignore[arg-type]

    def add(self, title: str, name: str, rows: Iterable[Row]) -> None:
        self._rows.setdefault(title, {})[name] = [asdict(row) for row in rows]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        document = {"sources": self._sources, "rows": self._rows}
        self._file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def name_sources() -> str:
    """Return what tells the measured sources from others; empty where they are not as committed."""
    git = ["git", "-C", str(TOP)]
    parts = ("src", "plugin", "bench")
    changed = subprocess.run([*git, "status", "--porcelain", *parts], capture_output=True, text=True, check=False)
    named = subprocess.run(
        [*git, "rev-parse", *(f"HEAD:{part}" for part in parts)], capture_output=True, text=True, check=False
    )
    return "" if changed.returncode or named.returncode or changed.stdout else " ".join(named.stdout.split())


def choose(names: Sequence[str]) -> list[str]:
    """Return the measures of these names, or that begin with one of them; all if there are none."""
    return [
        each for each in MEASURES if not names or any(each == name or each.startswith(f"{name}-") for name in names)
    ]


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(
    folder: Path, names: Iterable[str], pythons: Iterable[str], kept: Kept, *, say: Callable[[str], None] = say
) -> Tables:
    """Return the rows by interpreter: all that are asked for on the newest, those that depend on it on every one."""
    wheels = build_wheels(folder)
    found: Tables = {}
    for number, python in enumerate(pythons):
        environments = Environments(folder / f"python-{number}", python, wheels)
        title = f"Python {environments.version}, pytest {environments.version_of('pytest')}"
        kit = Kit(folder / f"suites-{number}", environments)
        for name in names:
            if number == 0 or name in EVERYWHERE:
                found.setdefault(title, []).extend(_rows_of(title, name, kit, kept, say))
    return found


def _rows_of(title: str, name: str, kit: Kit, kept: Kept, say: Callable[[str], None]) -> list[Row]:
    known = kept.find(title, name)
    if known is not None:
        say(f"{title}, {name}: as measured before")
        return known
    say(f"{title}, {name} ...")
    rows = []
    for row in MEASURES[name](kit):
        say(f"  {row.what}: {row.ours} ({row.bare})")
        rows.append(row)
    kept.add(title, name, rows)
    return rows


def render(found: Mapping[str, Iterable[Row]]) -> str:
    """Return the tables as Markdown."""
    lines = []
    for title, rows in found.items():
        lines += [f"{title}:", "", "| what | bare pytest | floor or peer | ours | goal |", "| --- |" + " --- |" * 4]
        for row in rows:
            goal = row.goal + {True: ": reached", False: ": not reached", None: ""}[row.reached]
            lines.append(f"| {row.what} | {row.bare} | {row.floor} | {row.ours} | {goal} |".replace("|  |", "| |"))
        lines.append("")
    return "\n".join(lines)


def fill(page: str, table: str) -> str:
    """Return the page with the table in its place."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert END in page, "the page has no place for a table"
    return before + begin + table.rstrip("\n") + "\n" + end + after
