"""The geometry of the report's drawings: where bars, signs and lines are. The templates make SVG of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from phase_gate.report.story import ABSENT, Band, Column, Series, Story, bands_of, columns_of

#: Width of the timeline where there is room; a column is never thinner, or wider, than these.
_WIDTH, _THINNEST, _WIDEST = 1060, 5.0, 36.0
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
    """Return the runs as columns: stacked bars, phases above, the streak below."""
    columns = columns_of(story.runs, story.happenings)
    width = _width(columns)
    right = _LEFT + width * len(columns)
    highest = max((column.worst.total for column in columns), default=0) or 1
    grouped = f", {len(columns[0].runs)} in a column" if columns and len(columns[0].runs) > 1 else ""
    failing = sum(run.failed > 0 for run in story.runs)
    return {
        "width": right + _RIGHT,
        "left": _LEFT,
        "right": right,
        "label": f"{len(story.runs)} runs{grouped}, {failing} with failing tests; the table below has them all",
        "scale": [
            (_BOTTOM - _HIGH * part, round(highest * part)) for part in (0, 0.5, 1) if part != 0.5 or highest > 1
        ],
        "bands": [_draw_band(band, width) for band in bands_of(columns)],
        "columns": [_draw_column(index, column, width, highest) for index, column in enumerate(columns)],
        "column_width": width,
        "numbers": [
            (_LEFT + (index + 0.5) * width, columns[index].first.number)
            for index in range(0, len(columns), max(1, round(70 / width)))
        ],
    }


def legend_signs(story: Story) -> list[tuple[str, Markup, str]]:
    """Return kind, drawing and meaning of the signs that the timeline has."""
    columns = columns_of(story.runs, story.happenings)
    drawn = {kind for column in columns for kind in _kinds(column, _width(columns))}
    return [(kind, Markup(path), meaning) for kind, (path, meaning) in SIGNS.items() if kind in drawn]


def _width(columns: Sequence[Column]) -> float:
    return min(_WIDEST, max(_THINNEST, (_WIDTH - _LEFT - _RIGHT) / max(1, len(columns))))


def _kinds(column: Column, width: float) -> list[str]:
    present = {str(each.kind) for each in column.happenings}
    kinds = [kind for kind in SIGNS if kind in present and _IMPLIED.get(kind) not in present]
    return [kind for kind in kinds if width >= _THIN or kind in _GRAVE][:_LANES]


def _draw_band(band: Band, width: float) -> dict[str, Any]:
    x, wide = _LEFT + band.first * width, (band.last - band.first + 1) * width
    return {
        "band": band,
        "x": x,
        "width": wide,
        "has_name": wide > 7.5 * len(band.phase) + 8,
        "has_edge": band.first > 0 and wide >= 12,
    }


def _draw_column(index: int, column: Column, width: float, highest: int) -> dict[str, Any]:
    run, last = column.worst, column.last
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
        "column": column,
        "x": x,
        "middle": x + width / 2,
        "bars": bars,
        "bar_x": x + gap / 2,
        "bar_width": width - gap,
        "signs": [(kind, Markup(SIGNS[kind][0])) for kind in _kinds(column, width)],
        "is_thin": width < _THIN,
        "streak": last.streak if last.counts and not column.resets else 0,
        "radius": min(7.5, width / 2 - 0.5) if has_number else min(3.0, width / 2 - 0.3),
        "has_number": has_number and last.streak < 100,
    }


#: Size of a cell of a test's history, and where in it each outcome is drawn: shape tells as much as color.
_CELL_WIDE, _CELL_HIGH = 10, 18
_SHAPES = {
    "p": ("p", 6, 6),
    "k": ("k", 0, 18),
    "s": ("s", 8, 2),
    "x": ("s", 6, 6),
    "X": ("k", 6, 6),
    "n": ("s", 8, 2),
    **dict.fromkeys("feu", ("f", 0, 18)),
}


def cell_paths(cells: str) -> list[tuple[str, Markup]]:
    """Return one path per outcome: a hundred cells are a few hundred characters."""
    paths: dict[str, list[str]] = {}
    wide = _CELL_WIDE - 1.5
    for index, letter in enumerate(cells):
        if letter != ABSENT:
            kind, top, high = _SHAPES[letter]
            paths.setdefault(kind, []).append(f"M{index * _CELL_WIDE + 0.75:g} {top}h{wide}v{high}h-{wide}z")
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
        "word": "" if not change * series.better else "better" if change * series.better > 0 else "worse",
        "label": f"{series.name}: {ends} in {len(points)} points, between {_number(low)} and {_number(high)}",
        "line": Markup(" ".join(f"{x:.1f},{y:.1f}" for x, y in places)),
        "end": places[-1],
        "runs": (points[0][0], points[-1][0]),
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.1f}"
