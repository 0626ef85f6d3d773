"""The totals of pytest's own JUnit XML, which may not be worse than those of the first run.

Done: exit code 0, nothing failed, no fewer tests and no more silent ones than before. The report is removed before each
run, as in a pipeline that begins with an empty folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from bench.honesty.gates import Gate
from bench.honesty.place import Place
from tests.scenarios import Step

_REPORT = "junit.xml"


class Totals(NamedTuple):
    tests: int
    failed: int
    #: Skipped, or expected to fail.
    silent: int


class JUnit(Gate):
    name = "junit"
    title = "totals of JUnit XML"
    order = 3

    def options(self, step: Step) -> Sequence[str]:
        return (f"--junitxml={_REPORT}",)

    def run(self, place: Place, step: Step) -> None:
        place.delete(place.root / _REPORT)
        super().run(place, step)
        before = place.outside.parent / "before"
        totals = _read(place)
        if totals is not None and not before.exists():
            before.write_text(f"{totals.tests} {totals.silent}", encoding="utf-8")

    def is_done(self, place: Place, step: Step) -> bool:
        now = _read(place)
        if now is None or not super().is_done(place, step):
            return False
        if step.value == "red":
            return now.failed > 0
        tests, silent = map(int, (place.outside.parent / "before").read_text(encoding="utf-8").split())
        return now.failed == 0 and now.tests >= max(tests, 1) and now.silent <= silent


def _read(place: Place) -> Totals | None:
    try:
        suite = ElementTree.parse(place.root / _REPORT).getroot()[0]
        counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    except (OSError, ValueError, KeyError, SyntaxError):
        return None
    return Totals(counts["tests"], counts["failures"] + counts["errors"], counts["skipped"])


GATE = JUnit()
