"""phase-gate with proof, as it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.honesty.gates import Gate
from bench.honesty.place import Place
from tests.scenarios import Step

_TOP = Path(__file__).parents[3]


class PhaseGate(Gate):
    name = "phase-gate"
    title = "phase-gate"
    family = "phase-gate"
    packages = (str(_TOP), str(_TOP / "plugin"))
    plugins = ("phase_gate.plugin",)
    order = 9

    def options(self, step: Step) -> Sequence[str]:
        # A green run has to be confirmed by another one; this does both.
        return (f"--phase={step.value}", *(("--phase-confirm",) if step.value == "green" else ()))

    def tell(self, place: Place, words: Sequence[str], environment: Mapping[str, str]) -> None:
        place.run([place.python, "-m", "phase_gate.cli", *words], environment)

    def claim(self, place: Place, step: Step) -> None:
        place.codes.append(self._ask(place, step, "signal", "--reason", "done"))

    def is_done(self, place: Place, step: Step) -> bool:
        return place.codes[-1] == 0 and self._ask(place, step, "check") == 0

    def _ask(self, place: Place, step: Step, *words: str) -> int:
        interpreter = step.python or (place.python,)
        command = [*interpreter, "-m", "phase_gate.cli", *words, *step.extra.get(self.family, ())]
        return place.run(command, step.environment)


GATE = PhaseGate()
