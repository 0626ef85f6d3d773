"""phase-gate without proof: only what is counted and recognised decides."""

from bench.honesty.gates.phase_gate import PhaseGate
from bench.honesty.place import Place


class PhaseGateWithoutProof(PhaseGate):
    name = "phase-gate-without-proof"
    title = "phase-gate without proof"
    order = 8

    def begin(self, place: Place) -> None:
        path = place.root / "phase-gate.yaml"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        place.write({"phase-gate.yaml": f"{before}proof: off\n"})


GATE = PhaseGateWithoutProof()
