"""What gates over a report have in common: its totals may not be worse than those of the first run."""

from __future__ import annotations

from dataclasses import dataclass

from bench.honesty.gates import Gate
from bench.honesty.place import Place
from tests.scenarios import Step


@dataclass(frozen=True, slots=True)
class Totals:
    tests: int
    failed: int
    #: Skipped, or expected to fail.
    silent: int


class TotalsGate(Gate):
    """Done: exit code 0, nothing failed, no fewer tests and no more silent ones than before.

    A report is removed before each run, as in a pipeline that begins with an empty folder.
    """

    report = ""

    def read(self, place: Place) -> Totals | None:
        raise NotImplementedError

    def run(self, place: Place, step: Step) -> None:
        place.delete(place.root / self.report)
        super().run(place, step)
        before = place.outside.parent / "before"
        totals = self._read(place)
        if totals is not None and not before.exists():
            before.write_text(f"{totals.tests} {totals.silent}", encoding="utf-8")

    def is_done(self, place: Place, step: Step) -> bool:
        now = self._read(place)
        if now is None or not super().is_done(place, step):
            return False
        if step.value == "red":
            return now.failed > 0
        tests, silent = map(int, (place.outside.parent / "before").read_text(encoding="utf-8").split())
        return now.failed == 0 and now.tests >= max(tests, 1) and now.silent <= silent

    def _read(self, place: Place) -> Totals | None:
        try:
            return self.read(place)
        except (OSError, ValueError, KeyError, SyntaxError):
            return None
