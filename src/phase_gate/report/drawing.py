"""The geometry of the report's drawings: where bars, signs and lines are. The templates make SVG of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from phase_gate.report.story import ABSENT, SIGNED, Happening, Run, Series, Story

#: Width of the timeline where there is room; a column is never thinner, or wider, than these.
_WIDTH, _THINNEST, _WIDEST = 1060, 5.0, 36.0
#: Runs in the timeline: more columns would be too thin to click.
_MOST = 200
_LEFT, _RIGHT = 46, 10
#: Bottom and height of the bars.
_BOTTOM, _HIGH = 196, 130
#: The least that can be seen of a number that is not zero.
_VISIBLE = 3.0

#: Signs of 12 x 12 around the origin, most important first, with their meaning.
SIGNS: dict[str, tuple[str, str]] = {
    "breaker-open": ("M1.5-6-4 1h3l-1 5 6-7.5h-3.2z", "circuit opens"),
    "forced": ("M-5-5h3v10h-3zM-1-5l6 5-6 5z", "forced exit"),
    "override": ("M-4-6h1.6v12h-1.6zM-2-5.5h7l-2 3 2 3h-7z", "override or waiver"),
    "needs-person": ("M0-6 6 5H-6zM-.9-2 -.5 2h1L.9-2zM0 2.6a.9.9 0 1 0 .01 0z", "a person is needed"),
    "too-early": ("M0-6 6 0 0 6-6 0zM0-3.3-3.3 0 0 3.3 3.3 0z", "signal came too early"),
    "not-done": ("M-5-1.5H5v3H-5z", "signal: not done"),
    "exited": ("M-5.5.2-3.8-1.5-1.5.8 3.9-4.6 5.6-2.9-1.5 4.2z", "phase exits"),
    "rewound": ("M-6 0l5-5v3h6v4h-6v3z", "back to an earlier phase"),
    "signal": ("M0-6 6 0 0 6-6 0z", "exit signal"),
    "breaker-half-open": ("M-5 0a5 5 0 0 1 10 0z", "circuit half-open"),
    "breaker-closed": (
        "M-5 0a5 5 0 1 1 10 0 5 5 0 1 1-10 0zM-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0z",
        "circuit closed again",
    ),
}
#: Signs that are left out where the other one is there.
_IMPLIED = {"signal": "exited", "breaker-closed": "breaker-half-open"}
_LANES = 2
#: Columns thinner than this show only the grave signs: others would cover each other.
_THIN = 9.0
_GRAVE = frozenset({"breaker-open", "forced", "override", "needs-person", "rewound"})


def draw_timeline(story: Story) -> dict[str, Any]:
    """Return the last runs as columns: stacked bars, phases above, the streak below."""
    runs, happened = story.runs[-_MOST:], _by_run(story)
    width = _width(runs)
    right = _LEFT + width * len(runs)
    highest = max((run.total for run in runs), default=0) or 1
    failing = sum(run.failed > 0 for run in runs)
    which = f"{len(runs)} runs" if len(runs) == story.all_runs else f"The last {len(runs)} of {story.all_runs} runs"
    return {
        "width": right + _RIGHT,
        "left": _LEFT,
        "right": right,
        "label": f"{which}, {failing} with failing tests; the table below has them all",
        "scale": [
            (_BOTTOM - _HIGH * part, round(highest * part)) for part in (0, 0.5, 1) if part != 0.5 or highest > 1
        ],
        "bands": _draw_bands(runs, width),
        "columns": [
            _draw_column(index, run, happened.get(run.number, ()), width, highest) for index, run in enumerate(runs)
        ],
        "column_width": width,
        "numbers": [
            (_LEFT + (index + 0.5) * width, runs[index].number)
            for index in range(0, len(runs), max(1, round(70 / width)))
        ],
    }


def legend_signs(story: Story) -> list[tuple[str, Markup, str]]:
    """Return kind, drawing and meaning of the signs that the timeline has."""
    runs, happened = story.runs[-_MOST:], _by_run(story)
    drawn = {kind for run in runs for kind in _kinds(happened.get(run.number, ()), _width(runs))}
    return [(kind, Markup(path), meaning) for kind, (path, meaning) in SIGNS.items() if kind in drawn]


def _width(runs: Sequence[Run]) -> float:
    return min(_WIDEST, max(_THINNEST, (_WIDTH - _LEFT - _RIGHT) / max(1, len(runs))))


def _by_run(story: Story) -> dict[int, list[Happening]]:
    """Return what has a sign, by the run that began last before it."""
    found: dict[int, list[Happening]] = {}
    for each in story.happenings:
        if each.kind in SIGNED:
            found.setdefault(each.run, []).append(each)
    return found


def _kinds(happened: Sequence[Happening], width: float) -> list[str]:
    present = {str(each.kind) for each in happened}
    kinds = [kind for kind in SIGNS if kind in present and _IMPLIED.get(kind) not in present]
    return [kind for kind in kinds if width >= _THIN or kind in _GRAVE][:_LANES]


def _draw_bands(runs: Sequence[Run], width: float) -> list[dict[str, Any]]:
    """Return the phases above the runs: neighbors of one phase have one band."""
    bands, first = [], 0
    for (phase, cycle), group in groupby(runs, lambda run: (run.phase, run.cycle)):
        size = len(list(group))
        wide = size * width
        has_name = wide > 7.5 * len(phase) + 8
        band = {"phase": phase, "cycle": cycle, "x": _LEFT + first * width, "width": wide}
        bands.append({**band, "has_name": has_name, "has_edge": first > 0 and wide >= 12})
        first += size
    return bands


def _draw_column(index: int, run: Run, happened: Sequence[Happening], width: float, highest: int) -> dict[str, Any]:
    gap = 1 if width < _THIN else 2
    x, y, bars = _LEFT + index * width, float(_BOTTOM), []
    # Failing tests are at the bottom, where their number can be compared from run to run.
    for number, kind in ((run.failed, "f"), (run.passed, "p"), (run.skipped, "s")):
        if number:
            high = max(_VISIBLE, number / highest * _HIGH)
            y -= high
            bars.append((kind if run.counts or kind == "f" else f"{kind} not-counted", y, high))
    has_number = width >= 13
    return {
        "run": run,
        "title": ". ".join((run.title, *(each.text for each in happened))),
        "x": x,
        "middle": x + width / 2,
        "bars": bars,
        "bar_x": x + gap / 2,
        "bar_width": width - gap,
        "signs": [(kind, Markup(SIGNS[kind][0])) for kind in _kinds(happened, width)],
        "is_thin": width < _THIN,
        "streak": run.streak if run.counts and not run.resets else 0,
        "radius": min(7.5, width / 2 - 0.5) if has_number else min(3.0, width / 2 - 0.3),
        "has_number": has_number and run.streak < 100,
    }


#: Width of a cell of a test's history, and top and height of each outcome in it: shape tells as much as color.
_CELL_WIDE = 10
_SHAPES = {"p": (6, 6), "k": (0, 18), "f": (0, 18), "s": (8, 2)}


def cell_paths(cells: str) -> list[tuple[str, Markup]]:
    """Return one path per outcome: a hundred cells are a few hundred characters."""
    paths: dict[str, list[str]] = {}
    wide = _CELL_WIDE - 1.5
    for index, letter in enumerate(cells):
        if letter != ABSENT:
            top, high = _SHAPES[letter]
            paths.setdefault(letter, []).append(f"M{index * _CELL_WIDE + 0.75:g} {top}h{wide}v{high}h-{wide}z")
    return [(kind, Markup("".join(parts))) for kind, parts in paths.items()]


#: Points of a chart, its size, and the margin next to the line.
_POINTS, _CHART_WIDE, _CHART_HIGH, _SIDE = 160, 300, 90, 6


def draw_series(series: Series) -> dict[str, Any]:
    """Return a chart of one number over the runs."""
    step = max(1.0, (len(series.points) - 1) / (_POINTS - 1))
    points = [series.points[round(index * step)] for index in range(min(_POINTS, len(series.points)))]
    values = [value for _, value in points]
    low, high, change = min(values), max(values), values[-1] - values[0]
    ends = f"from {_number(values[0])} to {_number(values[-1])} {series.unit}"
    places = [
        (
            _SIDE + index / max(1, len(points) - 1) * (_CHART_WIDE - 2 * _SIDE),
            _SIDE + (1 - (value - low) / (high - low) if high > low else 0.5) * (_CHART_HIGH - 2 * _SIDE),
        )
        for index, value in enumerate(values)
    ]
    return {
        "name": series.name,
        "last": f"{_number(values[-1])} {series.unit}",
        "change": f"{'+' if change > 0 else '−'}{_number(abs(change))}" if change else "",
        "label": f"{series.name}: {ends} in {len(points)} points, between {_number(low)} and {_number(high)}",
        "line": Markup(" ".join(f"{x:.1f},{y:.1f}" for x, y in places)),
        "end": places[-1],
        "runs": (points[0][0], points[-1][0]),
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.1f}"
