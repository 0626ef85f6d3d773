"""`python -m scripts.wild`: run well-known suites under the gate, print what it made of them as Markdown.

Ends with 1 if the gate was wrong about any of them, or if fewer than eight suites were clean.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.wild.preparing import build_wheels, download, install, unpack
from scripts.wild.projects import PROJECTS, Project
from scripts.wild.running import run_alone, run_gated
from scripts.wild.table import Row, count_clean, render

#: Fewer say nothing about software in general.
CLEAN_AT_LEAST = 8

_WORKERS = (0, 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.wild", description=__doc__)
    names = [project.name for project in PROJECTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which projects, of {', '.join(names)}; none: all")
    parser.add_argument("--folder", type=Path, help="work there, and leave everything for a look; it must be empty")
    arguments = parser.parse_args()
    if unknown := sorted({*arguments.names} - {*names}):
        parser.error(f"unknown: {', '.join(unknown)}; use any of {', '.join(names)}")
    chosen = [project for project in PROJECTS if project.name in arguments.names or not arguments.names]
    with contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phase-gate-wild-")))
        wheels = build_wheels(folder / "wheels")
        rows = [row for project in chosen for row in examine(project, folder / project.name, wheels)]
    print(render(rows))
    too_few = not arguments.names and count_clean(rows) < CLEAN_AT_LEAST
    return 1 if too_few or any(row.problems for row in rows) else 0


def examine(project: Project, folder: Path, wheels: tuple[Path, ...]) -> Iterator[Row]:
    """Yield what the gate made of one project, without workers and with them."""
    say(f"{project.requirement}: download and install")
    archive = download(project, folder / "archive")
    tools = install(project, archive, wheels, folder / "venv")
    say(f"{project.requirement}: without the gate")
    alone = run_alone(tools, unpack(archive, folder / "alone"), project.arguments, home=folder / "home")
    for workers in _WORKERS:
        say(f"{project.requirement}: in GREEN, {workers or 'no'} workers")
        more = ("-n", str(workers)) if workers else ()
        # Fresh sources and a fresh home: nothing is left from the runs before.
        evidence = run_gated(
            tools,
            unpack(archive, folder / f"gated-{workers}"),
            (*project.arguments, *more),
            home=folder / f"home-{workers}",
        )
        row = Row(project=project, workers=workers, alone=alone, evidence=evidence)
        for problem in row.problems:
            say(f"{project.requirement}: {problem}")
        if row.fails_by_itself:
            say(f"{project.requirement}: its own suite fails here: {dict(alone.summary)}\n{alone.output[-2000:]}")
        yield row


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
