"""`python -m scripts.wild`: run well-known suites under the gate, print what it made of them as Markdown.

Ends with 1 if the gate was wrong about any of them, or if fewer than eight suites were clean.
`python -m scripts.wild replay` takes commits of others step by step instead.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scripts.wild.preparing import build_wheels, download, install, install_in_place, unpack
from scripts.wild.projects import PROJECTS, Project
from scripts.wild.proving import HEAD, prove_releases
from scripts.wild.replay import command as replay
from scripts.wild.running import run_alone, run_gated
from scripts.wild.showing import say, show, work_in
from scripts.wild.table import MARKS, PROOF_MARKS, Row, count_clean, render, render_table

#: Fewer say nothing about software in general.
CLEAN_AT_LEAST = 8

_WORKERS = (0, 2)


def main() -> int:
    if sys.argv[1:2] == ["replay"]:
        return replay.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m scripts.wild", description=__doc__)
    names = [project.name for project in PROJECTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which projects, of {', '.join(names)}; none: all")
    parser.add_argument("--proof", action="store_true", help="prove each release against the one before instead")
    parser.add_argument("--output", type=Path, help="a page: the table goes between its marks, or is all of it")
    parser.add_argument("--folder", type=Path, help="work there, and leave everything for a look; it must be empty")
    arguments = parser.parse_args()
    if unknown := sorted({*arguments.names} - {*names}):
        parser.error(f"unknown: {', '.join(unknown)}; use any of {', '.join(names)}")
    chosen = [project for project in PROJECTS if project.name in arguments.names or not arguments.names]
    with work_in(arguments.folder) as folder:
        wheels = build_wheels(folder / "wheels")
        if arguments.proof:
            return prove_all(chosen, folder, wheels, arguments.output)
        rows = [row for project in chosen for row in examine(project, folder / project.name, wheels)]
    show(render(rows), arguments.output, MARKS)
    too_few = not arguments.names and count_clean(rows) < CLEAN_AT_LEAST
    return 1 if too_few or any(row.problems for row in rows) else 0


def prove_all(chosen: list[Project], folder: Path, wheels: tuple[Path, ...], output: Path | None) -> int:
    """Prove the newest release of each project against the one before; end with 1 if a proof was wrong about any."""
    steps = []
    for project in chosen:
        if not project.before:
            continue
        say(f"{project.requirement}: download, install in place, and prove against {project.before}")
        place = folder / project.name
        older = replace(project, version=project.before)
        before = unpack(download(older, place / "archive-before"), place / "before")
        archive = download(project, place / "archive")
        after, sources = unpack(archive, place / "after"), unpack(archive, place / "step")
        tools = install_in_place(project, sources, wheels, place / "venv")
        step = prove_releases(project, tools, before, after, sources, home=place / "home")
        for problem in step.problems:
            say(f"{project.requirement}: {problem}")
        steps.append(step)
    show(render_table(HEAD, [step.cells for step in steps]), output, PROOF_MARKS)
    return 1 if any(step.is_wrong for step in steps) else 0


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


if __name__ == "__main__":
    raise SystemExit(main())
