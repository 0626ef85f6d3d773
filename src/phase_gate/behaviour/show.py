"""A comparison for people: a row for each function, and a test for each difference. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.behaviour.model import MEANINGS, Compared, Comparison
from phase_gate.visible import count, show_rows


def comparison_text(comparison: Comparison) -> str:
    """Return what was compared, what differs and how, and what could not be compared and why."""
    rows = [row for each in comparison.functions for row in _rows(each)]
    return show_rows([*rows, *_sum_up(comparison)])


def _rows(compared: Compared) -> Iterator[str]:
    place = f"{compared.file}:{compared.line} {compared.name}"
    against = f" (oracle: {compared.oracle})" if compared.oracle else ""
    difference = compared.difference
    if difference is not None:
        whose = "oracle" if compared.oracle else "before"
        yield f"- {place}{against}"
        yield f"    {MEANINGS[difference.kind]}: {difference.call}"
        yield f"    {whose + ':':8}{difference.before}"
        yield f"    {'now:':8}{difference.now}"
        yield ""
        yield from (f"        {row}".rstrip() for row in difference.test.splitlines())
        yield ""
    elif compared.left_out:
        yield f"? {place}{against}"
        yield f"    not compared: {compared.left_out}"
    else:
        cut = ", then its time was over" if compared.is_cut else ""
        yield f"+ {place}{against}"
        yield f"    no difference in {count(compared.inputs, 'input')}{cut}"


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
