"""A comparison for people: a row for each function, and a test for each difference. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.behaviour.model import MEANINGS, Compared, Comparison
from phase_gate.visible import count, cut, show_rows

#: Functions that are named where the time was over.
_NAMED = 5
#: Characters of a call.
_LONG = 200


def comparison_text(comparison: Comparison) -> str:
    """Return what was compared, what differs and how, and what could not be compared and why."""
    rows = [row for each in comparison.functions if not each.is_unreached for row in _rows(each)]
    return show_rows([*rows, *_unreached(comparison), *_sum_up(comparison)])


def _unreached(comparison: Comparison) -> Iterator[str]:
    names = [each.name for each in comparison.functions if each.is_unreached]
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"? {', '.join(names[:_NAMED])}{more}"
        yield "    not compared: the time was over (--seconds N gives more)"


def _rows(compared: Compared) -> Iterator[str]:
    place = f"{compared.file}:{compared.line} {compared.name}"
    against = f" (oracle: {compared.oracle})" if compared.oracle else ""
    difference = compared.difference
    if difference is not None:
        whose = "oracle" if compared.oracle else "before"
        yield f"- {place}{against}"
        yield f"    {MEANINGS[difference.kind]}: {cut(difference.call, _LONG)}"
        yield f"    {whose + ':':8}{difference.before}"
        yield f"    {'now:':8}{difference.now}"
        yield ""
        yield from (f"        {row}".rstrip() for row in difference.test.splitlines())
        yield ""
    elif compared.left_out:
        yield f"? {place}{against}"
        yield f"    not compared: {compared.left_out}"
    else:
        ended = ", then its time was over" if compared.is_cut else ""
        yield f"+ {place}{against}"
        yield f"    no difference in {count(compared.inputs, 'input')}{ended}"


def _sum_up(comparison: Comparison) -> Iterator[str]:
    since = f" since {comparison.since}" if comparison.since else ""
    if not comparison.functions:
        yield f"no public function changed{since}: nothing to compare"
        return
    number, total = len(comparison.differing), len(comparison.compared)
    if not total:
        yield f"nothing could be compared{since}"
        return
    said = f"{count(number, 'difference') if number else 'no difference'} in {count(total, 'function')}{since}"
    yield f"{said} ({comparison.seconds:g} s, seed {comparison.seed})"
    if number:
        yield "next: mend what differs; where the new answer is right, begin a cycle with a test for it"
