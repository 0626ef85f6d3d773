"""Numbers over time: small charts as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from phase_gate.report.html.markup import Html, tag
from phase_gate.report.story.model import Series, Story
from phase_gate.visible import count

#: Points that a line has at most.
_POINTS = 160
_WIDE, _HIGH = 300, 90
_SIDE = 6


def render_trend(story: Story) -> Html:
    if not story.trend:
        return tag("p", "Nothing was measured over time yet.", class_="empty")
    return tag("div", *(_chart(series) for series in story.trend), class_="charts")


def _chart(series: Series) -> Html:
    points = thin_out(series.points, _POINTS)
    values = [value for _, value in points]
    low, high = min(values), max(values)
    first, last = values[0], values[-1]
    said = f"{_number(last)} {series.unit}"
    change = last - first
    word = "" if not change or not series.better else "better" if change * series.better > 0 else "worse"
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in _place(points, low, high))
    end_x, end_y = _place(points, low, high)[-1]
    drawing = tag(
        "svg",
        tag("polyline", points=line, class_="line"),
        tag("circle", cx=f"{end_x:.1f}", cy=f"{end_y:.1f}", r=4, class_="end"),
        viewBox=f"0 0 {_WIDE} {_HIGH}",
        role="img",
        aria_label=f"{series.name}: from {_number(first)} to {_number(last)} {series.unit}"
        f" in {count(len(points), 'point')}, between {_number(low)} and {_number(high)}",
    )
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("span", series.name, class_="label"),
            tag("strong", said),
            tag("span", f"{_signed(change)} {word}".strip(), class_=f"change {word}") if change else None,
        ),
        drawing,
        tag("p", f"run {points[0][0]}", tag("span", f"run {points[-1][0]}"), class_="ends"),
        class_="card chart",
    )


def thin_out(points: Sequence[tuple[int, float]], at_most: int) -> list[tuple[int, float]]:
    """Return at most so many points, evenly taken; the last one is always among them."""
    if len(points) <= at_most:
        return list(points)
    step = (len(points) - 1) / (at_most - 1)
    return [points[round(index * step)] for index in range(at_most)]


def _place(points: Sequence[tuple[int, float]], low: float, high: float) -> list[tuple[float, float]]:
    width, height = _WIDE - 2 * _SIDE, _HIGH - 2 * _SIDE
    last = max(1, len(points) - 1)
    spread = (high - low) or 1
    return [
        (_SIDE + index / last * width, _SIDE + (1 - (value - low) / spread if high > low else 0.5) * height)
        for index, (_, value) in enumerate(points)
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.1f}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else '−'}{_number(abs(value))}"
