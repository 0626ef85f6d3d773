"""The totals of pytest's own JUnit XML, compared with those before."""

from collections.abc import Sequence
from xml.etree import ElementTree

from bench.honesty.gates.totals import Totals, TotalsGate
from bench.honesty.place import Place
from tests.scenarios import Step


class JUnit(TotalsGate):
    name = "junit"
    title = "totals of JUnit XML"
    report = "junit.xml"
    order = 3

    def options(self, step: Step) -> Sequence[str]:
        return (f"--junitxml={self.report}",)

    def read(self, place: Place) -> Totals:
        suite = ElementTree.parse(place.root / self.report).getroot()[0]
        counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
        return Totals(counts["tests"], counts["failures"] + counts["errors"], counts["skipped"])


GATE = JUnit()
