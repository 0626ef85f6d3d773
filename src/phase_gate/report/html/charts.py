"""Numbers over time, and how far claims could be believed: small charts as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from phase_gate.gate.calibration import Calibration, Row
from phase_gate.report.html.markup import Html, join, tag
from phase_gate.report.story.model import Series, Story
from phase_gate.visible import count

#: Points that a line has at most.
_POINTS = 160
_WIDE, _HIGH = 300, 90
_SIDE = 6

#: The reliability plot.
_PLOT, _PLOT_LEFT, _PLOT_HIGH = 320, 36, 200


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


def render_calibration(calibration: Calibration | None) -> Html:
    if calibration is None:
        return tag("p", "There are no claims: phase-gate claim FILE.", class_="empty")
    judged = sum(row.claims for row in calibration.rows)
    said = f"{count(judged, 'claim')} of completion that time has told about"
    said += f", and {calibration.open} that it has not." if calibration.open else "."
    told = []
    for kind, score in calibration.suggested.items():
        whose = f"Claims of kind {kind}" if kind else "All claims"
        told.append(
            f"{whose}: " + ("not enough is known" if score is None else f"from {score} points on they can be believed")
        )
    rows = tag(
        "table",
        tag("caption", "Claims by their points", class_="hidden"),
        tag(
            "thead", tag("tr", *(tag("th", name, scope="col") for name in ("Points", "Claims", "True later", "Share")))
        ),
        tag("tbody", *(_claims_row(row) for row in calibration.rows)),
    )
    return join(
        (
            tag("p", said, class_="intro"),
            tag(
                "div",
                _plot(calibration.rows),
                tag("div", rows, tag("ul", *(tag("li", text) for text in told), class_="plain")),
                class_="split",
            ),
        )
    )


def _claims_row(row: Row) -> Html:
    share = "" if row.share is None else f"{row.share:.0%}"
    return tag(
        "tr",
        tag("th", f"{row.low}-{row.high - 1}", scope="row"),
        tag("td", row.claims),
        tag("td", row.true),
        tag("td", share),
    )


def _plot(rows: Sequence[Row]) -> Html:
    """Draw how many claims of each score were true: on the line, words and facts agree."""
    bottom, wide = _PLOT_HIGH - 24, _PLOT - _PLOT_LEFT - 8

    def x_of(points: float) -> float:
        return _PLOT_LEFT + points / 100 * wide

    def y_of(share: float) -> float:
        return 8 + (1 - share) * (bottom - 8)

    parts: list[Html] = []
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=_PLOT_LEFT, x2=_PLOT - 8, y1=y_of(share), y2=y_of(share), class_="grid"))
        parts.append(tag("text", f"{share:.0%}", x=_PLOT_LEFT - 6, y=y_of(share) + 4, text_anchor="end"))
    for row in rows:
        left, right = x_of(row.low), x_of(min(100, row.high))
        if row.share is not None:
            top = y_of(row.share)
            parts.append(
                tag(
                    "rect",
                    x=f"{left + 1:.1f}",
                    y=f"{min(top, bottom - 3):.1f}",
                    width=f"{right - left - 2:.1f}",
                    height=f"{max(3.0, bottom - top):.1f}",
                    class_="bar",
                )
            )
            parts.append(
                tag(
                    "text",
                    row.claims,
                    x=f"{(left + right) / 2:.1f}",
                    y=f"{min(top, bottom - 3) + 14:.1f}" if bottom - top > 20 else f"{top - 5:.1f}",
                    text_anchor="middle",
                    class_="on" if bottom - top > 20 else None,
                )
            )
        parts.append(tag("text", row.low, x=f"{left:.1f}", y=_PLOT_HIGH - 8, text_anchor="middle"))
    parts.append(tag("line", x1=x_of(0), y1=y_of(0), x2=x_of(100), y2=y_of(1), class_="ideal"))
    known = [f"{row.low} to {row.high - 1} points: {row.true} of {row.claims} true" for row in rows if row.claims]
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {_PLOT} {_PLOT_HIGH}",
        role="img",
        aria_label="Claims that were true later, by their points. " + "; ".join(known),
        class_="plot",
    )
