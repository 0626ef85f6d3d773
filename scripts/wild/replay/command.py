"""`python -m scripts.wild replay`: take commits of others step by step, print what the gates made of them as Markdown.

NAME=WHERE takes the newest commits of a git folder or of an address that change tests and code together; NAME alone
takes two releases from the package index for a history. Ends with 1 if a gate was wrong about any of them.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.wild.preparing import Linked, build_wheels, download, install_linked, unpack
from scripts.wild.projects import REPLAYED, Project
from scripts.wild.replay.altered import MARKS as ALTERED_MARKS
from scripts.wild.replay.altered import alter, read_altered, render_altered, write_altered
from scripts.wild.replay.history import Clone, Commit, clone
from scripts.wild.replay.step import Replay, replay
from scripts.wild.replay.table import MARKS, read_records, render, write_records
from scripts.wild.showing import say, show, work_in
from scripts.wild.stepping import commit, put

#: Seconds of a project, and commits of it.
_SECONDS = 240
_COMMITS = 6


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.wild replay", description=__doc__)
    known = {project.name: project for project in REPLAYED}
    parser.add_argument("wanted", nargs="*", metavar="NAME[=WHERE]", help=f"which projects, of {', '.join(known)}")
    parser.add_argument("--commits", type=int, default=_COMMITS, help="how many of each at most (%(default)s)")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="no commit is begun after that (%(default)s)")
    parser.add_argument("--altered", action="store_true", help="only let the tests of commits expect something else")
    parser.add_argument("--records", type=Path, help="lines of JSON: what was found before counts, too")
    parser.add_argument("--output", type=Path, help="a page: the tables go between their marks, or are all of it")
    parser.add_argument("--folder", type=Path, help="work there, and leave everything for a look; it must be empty")
    arguments = parser.parse_args(words)
    wanted = dict(each.partition("=")[::2] for each in arguments.wanted)
    if unknown := sorted({*wanted} - {*known}):
        parser.error(f"unknown: {', '.join(unknown)}; use any of {', '.join(known)}")
    if arguments.altered:
        return alter_all({known[name]: where for name, where in wanted.items()}, arguments)
    records = read_records(arguments.records) if arguments.records else []
    records = [each for each in records if each.project not in wanted]
    if wanted:
        with work_in(arguments.folder) as folder:
            wheels = build_wheels(folder / "wheels")
            for name, where in wanted.items():
                place = folder / name
                until = time.monotonic() + arguments.seconds
                found = replay_project(known[name], where, place, wheels, commits=arguments.commits, until=until)
                records += found
                if arguments.records:
                    write_records(arguments.records, records)
    show(render(records), arguments.output, MARKS)
    return 1 if any(phase.is_refused or phase.is_false for each in records for phase in (each.red, each.green)) else 0


def alter_all(wanted: Mapping[Project, str], arguments: argparse.Namespace) -> int:
    """Let the tests of each project's commits expect something else; end with 1 if one still passes."""
    found = read_altered(arguments.records) if arguments.records else []
    found = [each for each in found if each.project not in {project.name for project in wanted}]
    with work_in(arguments.folder) as folder:
        wheels = build_wheels(folder / "wheels") if wanted else ()
        for project, where in wanted.items():
            place, until = folder / project.name, time.monotonic() + arguments.seconds
            steps = take_steps(project, where, place, wheels)
            for step, ours, linked in itertools.islice(steps, arguments.commits):
                if time.monotonic() > until:
                    break
                found.append(alter(project, step, ours, linked, place / step.name[:10]))
                say(f"{found[-1]}")
            if arguments.records:
                write_altered(arguments.records, found)
    show(render_altered(found), arguments.output, ALTERED_MARKS)
    return 1 if any(each.count("still-passes") for each in found) else 0


def take_steps(
    project: Project, where: str, place: Path, wheels: tuple[Path, ...]
) -> Iterator[tuple[Commit, Clone, Linked]]:
    """Yield the newest commits of a history, with a clone of it and an environment."""
    say(f"{project.name}: get {where or 'two releases'}, and install what {project.requirement} needs")
    ours = clone(where or str(join_releases(project, place)), place / "clone")
    linked = install_linked(project, wheels, place / "venv")
    yield from ((step, ours, linked) for step in ours.list_steps())


def replay_project(
    project: Project, where: str, place: Path, wheels: tuple[Path, ...], *, commits: int, until: float
) -> Iterator[Replay]:
    """Yield what was found about each commit, the newest first."""
    taken = 0
    for step, ours, linked in take_steps(project, where, place, wheels):
        if taken >= commits or time.monotonic() > until:
            break
        found = replay(project, step, ours, linked, place / step.name[:10])
        say(f"{project.name} {found.commit}: {_sum_up(found)}")
        taken += not found.left_out
        yield found


def join_releases(project: Project, place: Path) -> Path:
    """Make a history of two releases."""
    if not project.before:
        raise SystemExit(f"{project.name}: two releases with tests are not known; use {project.name}=WHERE")
    history = place / "history"
    history.mkdir(parents=True)
    for version in (project.before, project.version):
        archive = download(replace(project, version=version), place / f"archive-{version}")
        put(unpack(archive, place / version), history)
        commit(history, version)
    return history


def _sum_up(found: Replay) -> str:
    if found.left_out:
        return f"left out: {found.left_out}"
    words = [f"RED {'opens' if found.red.is_open else 'is closed'} ({'' if found.red.is_expected else 'not '}expected)"]
    if not found.red.is_open:
        words.append(found.red.said)
    elif found.green.is_open:
        words.append(f"GREEN opens, {dict(found.proof.counts) or found.proof.problem}")
    else:
        words.append(f"GREEN is closed: {', '.join(found.green.why)}: {found.green.said}")
    return "; ".join((*words, *found.proof.unfailing))
