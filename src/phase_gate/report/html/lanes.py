"""Who was at work when, as SVG: a lane each, along the time that was spent. Decides nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from phase_gate.gate.measured import Stretch, TimeLanes
from phase_gate.report.html.markup import Html, tag
from phase_gate.report.labels import phase_class
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration

_WIDTH, _LEFT, _RIGHT = 1060, 64, 10
#: From above: groups, then the lanes, then what the clock says.
_BAND, _TOP, _LANE, _BAR = 20, 30, 30, 20
#: The least that can be seen of a time that is not zero.
_VISIBLE = 1.5
#: Marks of the clock are at least so far apart.
_APART = 90
#: Seconds between two of them, the first that leaves room.
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
#: Lanes that are told apart by colour, too.
_COLOURS = 4


def render_lanes(times: TimeLanes, *, anchor: str) -> Html:
    """Return the drawing, in a frame that scrolls where it is too narrow; empty where no time was spent.

    :param anchor: what its ids begin with.
    """
    total = sum(each.seconds for each in times.stretches)
    if not total:
        return Html("")
    scale = (_WIDTH - _LEFT - _RIGHT) / total
    bottom = _TOP + _LANE * len(times.lanes)
    drawing = tag(
        "svg",
        tag("title", times.title, id=f"{anchor}-name"),
        tag("desc", describe(times), id=f"{anchor}-says"),
        _clock(total, scale, bottom),
        _bands(times.stretches, scale, bottom),
        _lane_names(times.lanes),
        _spans(times, scale),
        viewBox=f"0 0 {_WIDTH} {bottom + 22}",
        width=_WIDTH,
        height=bottom + 22,
        role="img",
        aria_labelledby=f"{anchor}-name",
        aria_describedby=f"{anchor}-says",
        class_="timeline lanes",
    )
    return tag("div", drawing, class_="scroll", tabindex="0", role="region", aria_label=times.title)


def describe(times: TimeLanes) -> str:
    """Return what the drawing shows, for readers who do not see it."""
    sums = [
        f"{lane} {show_duration(sum(each for name, each in _all(times) if name == lane))}"
        for lane in times.lanes
        if any(name == lane and seconds for name, seconds in _all(times))
    ]
    return f"{count(len(times.stretches), times.unit)}: {', '.join(sums)}; the table below has the numbers"


def _all(times: TimeLanes) -> Iterator[tuple[str, float]]:
    return itertools.chain.from_iterable(each.spans for each in times.stretches)


def _clock(total: float, scale: float, bottom: int) -> Iterator[Html]:
    step = next((each for each in _STEPS if each * scale >= _APART), _STEPS[-1])
    for number in range(int(total // step) + 1):
        x = _round(_LEFT + number * step * scale)
        yield tag("line", x1=x, x2=x, y1=_TOP - 4, y2=bottom + 4, class_="grid")
        yield tag("text", show_duration(number * step), x=x, y=bottom + 17, text_anchor="middle")


def _bands(stretches: Sequence[Stretch], scale: float, bottom: int) -> Iterator[Html]:
    x = float(_LEFT)
    for group, rows in itertools.groupby(stretches, lambda each: each.group):
        wide = sum(each.seconds for each in rows) * scale
        if group and wide:
            has_room = wide > 7.5 * len(group) + 8
            yield tag(
                "g",
                tag("title", group),
                tag("rect", x=_round(x), y=0, width=_round(max(1, wide - 1)), height=_BAND, rx=4),
                tag("text", group, x=_round(x + wide / 2), y=14, text_anchor="middle") if has_room else None,
                tag("line", x1=_round(x), x2=_round(x), y1=0, y2=bottom, class_="edge") if x > _LEFT else None,
                class_=f"band {phase_class(group)}",
            )
        x += wide


def _lane_names(lanes: Sequence[str]) -> Iterator[Html]:
    for place, name in enumerate(lanes):
        yield tag("text", name, x=_LEFT - 8, y=_TOP + place * _LANE + _BAR / 2 + 4, text_anchor="end")


def _spans(times: TimeLanes, scale: float) -> Iterator[Html]:
    x = float(_LEFT)
    for each in times.stretches:
        for lane, seconds in each.spans:
            wide = seconds * scale
            if seconds and lane in times.lanes:
                place = times.lanes.index(lane)
                yield tag(
                    "g",
                    tag("title", f"{each.name}: {lane} {show_duration(seconds)}"),
                    tag(
                        "rect",
                        x=_round(x),
                        y=_TOP + place * _LANE,
                        # A little less than it took, so that two in a row are two.
                        width=_round(max(_VISIBLE, wide - 0.7)),
                        height=_BAR,
                        class_=f"lane-{place % _COLOURS}",
                    ),
                )
            x += wide


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
