"""`python -m bench`: measure section by section, print Markdown, and write it with the values as JSON and a picture.

`python -m bench honesty --help`: gates against gaming, side by side.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from bench import kept
from bench.contenders import BARE, present
from bench.installed import interpreters
from bench.instructions import MEASURES
from bench.plot import draw
from bench.sections import SECTIONS, Plan

Results = dict[str, dict[str, float]]


def main() -> int:
    if sys.argv[1:2] == ["honesty"]:
        from bench.honesty.command import main as judge

        return judge(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of: {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--tests", default="1000,2000,10000", help="sizes of the suites, at least two")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds")
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="count instructions with valgrind: exact and slow; goes on where it was interrupted; then names are of: "
        + ", ".join(MEASURES),
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="contenders whose names have one of these")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="folder for the results")
    arguments = parser.parse_args()
    if arguments.instructions:
        return count(parser, arguments.sections, arguments.output)
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {min(unknown)}")
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as name:
        plan = Plan(
            folder=Path(name),
            sizes=tuple(int(size) for size in arguments.tests.split(",")),
            rounds=arguments.rounds,
            contenders=tuple(each for each in present() if _is_asked_for(each.name, arguments.only)),
        )
        found = measure(plan, arguments.sections or SECTIONS)
    write(found, arguments.output)
    print(render(found))
    return 0


def count(parser: argparse.ArgumentParser, names: list[str], output: Path) -> int:
    """Print the table of instructions; all of it goes to the page as well."""
    unknown = [name for name in names if not kept.choose([name])]
    if unknown:
        parser.error(f"no such measure: {unknown[0]} (of: {', '.join(MEASURES)})")
    rows = kept.Kept(output / "instructions.json", kept.name_sources())
    with tempfile.TemporaryDirectory(prefix="phase-gate-bench-") as folder:
        table = kept.render(kept.measure(Path(folder), kept.choose(names), interpreters(), rows))
    print(table)
    if not names:
        kept.PAGE.write_text(kept.fill(kept.PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
        kept.say(f"written to {kept.PAGE.name}")
    return 0


def _is_asked_for(name: str, words: str) -> bool:
    # Everything is measured beside bare pytest: it is always there.
    return name == BARE.name or any(word in name for word in words.split(","))


def measure(plan: Plan, sections: Iterable[str]) -> Results:
    """Return the tables of these sections."""
    return {title: table for name in sections for title, table in SECTIONS[name](plan)}


def write(found: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "results.md").write_text(render(found), encoding="utf-8")
    (folder / "results.svg").write_text(draw(found), encoding="utf-8")


def render(found: Results) -> str:
    """Return the tables as Markdown."""
    rows = [f"Python {platform.python_version()}, pytest {pytest.__version__}", ""]
    for title, table in found.items():
        rows += [f"| {title} | ratio |", "| --- | --- |"]
        rows += [f"| {name} | {value:.3f} |" for name, value in table.items()]
        rows.append("")
    return "\n".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
