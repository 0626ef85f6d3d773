"""What the replays showed, as Markdown, and as lines of JSON so that projects may be run one at a time."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from scripts.wild.phases import Phase, Proven
from scripts.wild.replay.step import Replay
from scripts.wild.table import render_table

#: Around the tables in their page.
MARKS = ("<!-- wild replay: begin -->", "<!-- wild replay: end -->")

_HEAD = (
    "project",
    "commits",
    "RED expected",
    "opened",
    "after marking",
    "nothing fails, RED closed",
    "GREEN expected",
    "opened",
    "targets proven",
    "still pass, of those that could expect something else",
    "plain run",
    "RED",
    "GREEN with proof",
    "proof alone",
)
_REFUSALS = ("project", "commit", "phase", "not met", "what it said")
_LEFT_OUT = ("project", "commits", "why")


def read_records(path: Path) -> list[Replay]:
    """Return what earlier calls have found; nothing if there is no such file."""
    if not path.exists():
        return []
    return [_read(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(found: dict[str, object]) -> Replay:
    phases = {name: Phase(**found[name]) for name in ("red", "green")}  # type: ignore[arg-type]
    proof = Proven(**found["proof"])  # type: ignore[arg-type]
    return Replay(**{**found, **phases, "proof": proof})  # type: ignore[arg-type]


def write_records(path: Path, replays: Iterable[Replay]) -> None:
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in replays), encoding="utf-8")


def render(replays: Sequence[Replay]) -> str:
    """Return all tables, with what they were made with above them."""
    names = sorted({each.project for each in replays})
    counted = [each for each in replays if not each.left_out]
    rows = [_count(name, [each for each in counted if each.project == name]) for name in names]
    rows.append(_count("all", counted))
    made_with, dates = sorted({each.made_with for each in replays}), sorted(each.date for each in replays)
    when = f"{dates[0]} to {dates[-1]}" if dates[0] != dates[-1] else dates[0]
    text = f"{'; '.join(made_with)}, {when}\n\n{render_table(_HEAD, rows)}"
    if refused := [row for each in counted for row in _refusals(each)]:
        text += f"\n{render_table(_REFUSALS, refused)}"
    left = {(each.project, each.left_out) for each in replays if each.left_out}
    if left:
        commits = [
            (name, _name([each.commit for each in replays if (each.project, each.left_out) == (name, why)]), why)
            for name, why in sorted(left)
        ]
        text += f"\n{render_table(_LEFT_OUT, commits)}"
    return text


def _count(name: str, replays: Sequence[Replay]) -> tuple[str, ...]:
    red = [each for each in replays if each.red.is_expected]
    opened = [each for each in red if each.red.is_open]
    quiet = [each for each in replays if not each.red.is_expected]
    green = [each for each in replays if each.green.is_expected]
    counts, altered = [each.proof.counts for each in green], [each.proof.altered for each in green]
    return (
        name,
        str(len(replays)),
        str(len(red)),
        str(len(opened)),
        str(sum(each.marked > 0 for each in opened)),
        f"{sum(not each.red.is_open for each in quiet)} of {len(quiet)}",
        str(len(green)),
        str(sum(each.green.is_open for each in green)),
        f"{_sum(counts, 'proven')} of {_sum(counts)}",
        f"{_sum(altered, 'still-passes')} of {_sum(altered) - _sum(altered, 'nothing', 'not-tried')}",
        _median(each.plain_seconds for each in replays),
        _median(each.red.seconds for each in opened),
        _median(each.green.seconds for each in green),
        _median(each.proof.seconds for each in green if each.proof.counts),
    )


def _sum(counts: Iterable[Mapping[str, int]], *names: str) -> int:
    """Return how many there are of these, or of all."""
    return sum(number for each in counts for name, number in each.items() if name in names or not names)


def _name(commits: Sequence[str]) -> str:
    more = f" and {len(commits) - 3} more" if len(commits) > 3 else ""
    return f"{', '.join(commits[:3])}{more}"


def _median(seconds: Iterable[float]) -> str:
    found = list(seconds)
    return f"{statistics.median(found):.1f} s" if found else ""


def _refusals(replay: Replay) -> Iterable[tuple[str, ...]]:
    for name, phase in (("RED", replay.red), ("GREEN", replay.green)):
        if phase.is_refused or phase.is_false:
            why = ", ".join(f"`{each}`" for each in phase.why) or "opened, and nothing fails"
            yield (replay.project, replay.commit, name, why, _cell(phase.said))
        elif name == "GREEN" and phase.is_open and replay.proof.problem:
            yield (replay.project, replay.commit, name, "opened without a proof", _cell(replay.proof.problem))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:200]
