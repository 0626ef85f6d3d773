"""The totals of pytest-json-report, compared with those before."""

import json
from collections.abc import Sequence

from bench.honesty.gates.totals import Totals, TotalsGate
from bench.honesty.place import Place
from tests.scenarios import Step


class JsonReport(TotalsGate):
    name = "json-report"
    title = "totals of pytest-json-report"
    report = ".report.json"
    packages = ("pytest-json-report",)
    plugins = ("pytest_jsonreport.plugin", "pytest_metadata.plugin")
    order = 4

    def options(self, step: Step) -> Sequence[str]:
        return ("--json-report",)

    def read(self, place: Place) -> Totals:
        report = json.loads((place.root / self.report).read_text(encoding="utf-8"))
        found = report["summary"]
        broken = sum(each["outcome"] == "failed" for each in report.get("collectors", ()))
        failed = found.get("failed", 0) + found.get("error", 0) + broken
        silent = sum(found.get(name, 0) for name in ("skipped", "xfailed", "xpassed"))
        # A file that could not be imported counts as one test, as in JUnit XML.
        return Totals(found["total"] + broken, failed, silent)


GATE = JsonReport()
