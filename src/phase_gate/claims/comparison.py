"""Where numbers that a block claims are not those that were measured.

Pure. What it finds is reported; it decides nothing.
"""

from __future__ import annotations

import re

from phase_gate.claims.blocks import StatusBlocks
from phase_gate.claims.confidence import Measures
from phase_gate.claims.fields import BlockKind
from phase_gate.workflow.metrics import Metrics


def compare(said: StatusBlocks, metrics: Metrics, measures: Measures) -> list[str]:
    """Return where numbers that were claimed are not those that were measured."""
    rows = []
    for name in ("tests_total", "tests_passing", "tests_failing"):
        claimed, measured = said.value("prp", name.upper()), metrics.get(name)
        if claimed not in ("", "null") and measured is not None and int(claimed) != measured:
            rows.append(f"{name.upper()}: {int(claimed)} was claimed, {measured} was measured")
    rows += _compare_detail(said.value("prp", "GATE_1_DETAIL"), metrics)
    passing_words: tuple[tuple[BlockKind, str], ...] = (("ralph", "PASSING"), ("doyaken", "pass"))
    for kind, passing in passing_words:
        if said.value(kind, "TESTS_STATUS") == passing and measures.tests_pass is not True:
            word = "is not known" if measures.tests_pass is None else "is not so"
            rows.append(f"TESTS_STATUS: {passing} was claimed, and it {word}: {measures.tests_reason}")
        claimed, changed = said.value(kind, "FILES_MODIFIED"), measures.files_changed
        if claimed and changed is not None and int(claimed) != changed:
            rows.append(f"FILES_MODIFIED: {int(claimed)} was claimed, {changed} was measured")
    if said.value("prp", "GATE_1") == "true" and measures.tests_pass is False:
        rows.append(f"GATE_1: true was claimed, and Gate 1 is closed: {measures.tests_reason}")
    return rows


#: A number in the detail of Gate 1: `tests_passing: 10/10`, `consecutive_runs: 2`.
_NUMBER = re.compile(r"\b(?P<name>[a-z_]{1,60}): ?(?P<value>\d{1,9})(?:/(?P<total>\d{1,9}))?(?![\w.])")
_DETAIL_NAMES = {"consecutive_runs": "consecutive_green_runs"}


def _compare_detail(detail: str, metrics: Metrics) -> list[str]:
    rows = []
    for found in _NUMBER.finditer(detail):
        name = _DETAIL_NAMES.get(found["name"], found["name"])
        claimed = {name: int(found["value"])}
        if found["total"] is not None and name.startswith("tests_"):
            claimed["tests_total"] = int(found["total"])
        for each, value in claimed.items():
            measured = metrics.get(each)
            if isinstance(measured, int) and not isinstance(measured, bool) and measured != value:
                rows.append(f"GATE_1_DETAIL: {each}: {value} was claimed, {measured} was measured")
    return rows
