"""The timeline of a report as SVG: runs as stacked bars, phases above, the streak below. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phase_gate.report.html.markup import Html, join, tag
from phase_gate.report.labels import describe_column, phase_class
from phase_gate.report.story.model import Band, Column, Story, bands_of, columns_of

#: Width of the drawing where there is room; a column is never thinner, or wider, than these.
_WIDTH, _THINNEST, _WIDEST = 1060, 5.0, 36.0
_LEFT, _RIGHT = 40, 10
#: From above: phases, signs in two lanes, bars, the streak, numbers of runs.
_BANDS, _SIGNS, _BARS, _STREAK, _NUMBERS, _HEIGHT = 0, 30, 66, 212, 242, 252
_BAR_HEIGHT = 130
#: The least that can be seen of a number that is not zero.
_VISIBLE = 3.0

#: Small drawings of 12 x 12 around the origin, and in which order they matter where a column has several.
SIGNS: dict[str, str] = {
    "breaker-open": "M1.5-6-4 1h3l-1 5 6-7.5h-3.2z",
    "forced": "M-5-5h3v10h-3zM-1-5l6 5-6 5z",
    "override": "M-4-6h1.6v12h-1.6zM-2-5.5h7l-2 3 2 3h-7z",
    "needs-person": "M0-6 6 5H-6zM-.9-2 -.5 2h1L.9-2zM0 2.6a.9.9 0 1 0 .01 0z",
    "too-early": "M0-6 6 0 0 6-6 0zM0-3.3-3.3 0 0 3.3 3.3 0z",
    "not-done": "M-5-1.5H5v3H-5z",
    "exited": "M-5.5.2-3.8-1.5-1.5.8 3.9-4.6 5.6-2.9-1.5 4.2z",
    "rewound": "M-6 0l5-5v3h6v4h-6v3z",
    "signal": "M0-6 6 0 0 6-6 0z",
    "breaker-half-open": "M-5 0a5 5 0 0 1 10 0z",
    "breaker-closed": "M-5 0a5 5 0 1 1 10 0 5 5 0 1 1-10 0zM-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0z",
}
#: What goes without saying where the other is there.
_IMPLIED = {"signal": "exited", "breaker-closed": "breaker-half-open"}
_LANES = 2
#: In columns this thin, which stand for many runs, signs would cover each other: only those that must not be missed.
_THIN = 9.0
_GRAVE = frozenset({"breaker-open", "forced", "override", "needs-person", "rewound"})


def render_timeline(story: Story) -> Html:
    """Return the drawing, in a frame that scrolls where it is too narrow."""
    columns = columns_of(story.runs, story.happenings)
    width = _width(columns)
    right = _LEFT + width * len(columns)
    highest = max((column.worst.total for column in columns), default=0) or 1
    drawing = tag(
        "svg",
        _patterns(),
        _scale(highest, right),
        (_band(band, width) for band in bands_of(columns)),
        (_column(index, column, width, highest) for index, column in enumerate(columns)),
        _numbers(columns, width),
        viewBox=f"0 0 {_round(right + _RIGHT)} {_HEIGHT}",
        width=_round(right + _RIGHT),
        height=_HEIGHT,
        role="img",
        aria_label=_label(story, columns),
        class_="timeline",
    )
    return tag(
        "div", drawing, class_="scroll", id="timeline", tabindex="0", role="region", aria_label="Timeline of runs"
    )


def signs_in(story: Story) -> list[str]:
    """Return the kinds of signs that the drawing has, in their order."""
    columns = columns_of(story.runs, story.happenings)
    drawn = {kind for column in columns for kind in _kinds(column, _width(columns))}
    return [kind for kind in SIGNS if kind in drawn]


def _width(columns: Sequence[Column]) -> float:
    return min(_WIDEST, max(_THINNEST, (_WIDTH - _LEFT - _RIGHT) / max(1, len(columns))))


def _kinds(column: Column, width: float) -> list[str]:
    present = {str(each.kind) for each in column.happenings}
    kinds = [kind for kind in SIGNS if kind in present and _IMPLIED.get(kind) not in present]
    return [kind for kind in kinds if width >= _THIN or kind in _GRAVE][:_LANES]


def _label(story: Story, columns: Sequence[Column]) -> str:
    not_green = sum(run.failed > 0 for run in story.runs)
    grouped = f", {len(columns[0].runs)} in a column" if columns and len(columns[0].runs) > 1 else ""
    return f"{len(story.runs)} runs{grouped}, {not_green} with failing tests; the table below has them all"


def _patterns() -> Html:
    stripes = tag(
        "pattern",
        tag("rect", width=6, height=6, class_="p faint"),
        tag("path", d="M0 6 6 0", class_="stripe"),
        id="not-counted",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    )
    return tag("defs", stripes)


def _scale(highest: int, right: float) -> Html:
    rows = []
    for share in (0.0, 0.5, 1.0):
        if share == 0.5 and highest < 2:
            continue
        y = _BARS + _BAR_HEIGHT * (1 - share)
        rows.append(tag("line", x1=_LEFT - 4, x2=_round(right), y1=_round(y), y2=_round(y), class_="grid"))
        rows.append(tag("text", round(highest * share), x=_LEFT - 8, y=_round(y + 4), text_anchor="end"))
    rows.append(tag("text", "streak", x=_LEFT - 8, y=_STREAK + 4, text_anchor="end"))
    return join(rows)


def _band(band: Band, width: float) -> Html:
    x, wide = _LEFT + band.first * width, (band.last - band.first + 1) * width
    name = f"{band.phase} (cycle {band.cycle})"
    has_room = wide > 7.5 * len(band.phase) + 8
    return tag(
        "g",
        tag("title", name),
        tag("rect", x=_round(x + 0.5), y=_BANDS, width=_round(max(1, wide - 1)), height=20, rx=4),
        tag("text", band.phase, x=_round(x + wide / 2), y=_BANDS + 14, text_anchor="middle") if has_room else None,
        tag("line", x1=_round(x), x2=_round(x), y1=_BANDS, y2=_BARS + _BAR_HEIGHT, class_="edge")
        if band.first and wide >= 12
        else None,
        class_=f"band {phase_class(band.phase)}",
    )


def _column(index: int, column: Column, width: float, highest: int) -> Html:
    x, run = _LEFT + index * width, column.worst
    gap = 1 if width < 9 else 2
    parts: list[Html] = [tag("title", describe_column(column))]
    y = float(_BARS + _BAR_HEIGHT)
    # Failing ones at the bottom, where their number can be compared from run to run.
    for number, name in ((run.failed, "f"), (run.passed, "p"), (run.skipped, "s")):
        if number:
            high = max(_VISIBLE, number / highest * _BAR_HEIGHT)
            y -= high
            kind = name if run.counts or name == "f" else f"{name} not-counted"
            parts.append(
                tag(
                    "rect",
                    x=_round(x + gap / 2),
                    y=_round(y),
                    width=_round(width - gap),
                    height=_round(high),
                    class_=kind,
                )
            )
    if not run.total:
        parts.append(tag("circle", cx=_round(x + width / 2), cy=_BARS + _BAR_HEIGHT - 4, r=2, class_="nothing"))
    parts += _signs(column, x + width / 2, width)
    parts += _streak(column, x + width / 2, width)
    parts.append(tag("rect", x=_round(x), y=22, width=_round(width), height=_NUMBERS - 26, class_="hit"))
    return tag("g", *parts, class_="column", data_first=column.first.number, data_last=column.last.number)


def _signs(column: Column, x: float, width: float) -> Iterator[Html]:
    for lane, kind in enumerate(_kinds(column, width)):
        yield tag(
            "path", d=SIGNS[kind], transform=f"translate({_round(x)} {_SIGNS + 8 + lane * 15})", class_=f"sign {kind}"
        )


def _streak(column: Column, x: float, width: float) -> Iterator[Html]:
    run = column.last
    if column.resets and width < _THIN:
        yield tag("rect", x=_round(x - 1), y=_STREAK - 4, width=2, height=8, class_="lost")
    elif column.resets:
        size = 4.0
        d = f"M{_round(x - size)} {_STREAK - size}l{2 * size} {2 * size}m0-{2 * size}l-{2 * size} {2 * size}"
        yield tag("path", d=d, class_="reset")
    elif run.streak and run.counts:
        has_room = width >= 13
        radius = min(7.5, width / 2 - 0.5) if has_room else min(3.0, width / 2 - 0.3)
        yield tag("circle", cx=_round(x), cy=_STREAK, r=_round(radius), class_="streak")
        if has_room and run.streak < 100:
            yield tag("text", run.streak, x=_round(x), y=_STREAK + 4, text_anchor="middle", class_="on")


def _numbers(columns: Sequence[Column], width: float) -> Iterator[Html]:
    every = max(1, round(70 / width))
    for index in range(0, len(columns), every):
        x = _round(_LEFT + (index + 0.5) * width)
        yield tag("text", columns[index].first.number, x=x, y=_NUMBERS + 4, text_anchor="middle")


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
