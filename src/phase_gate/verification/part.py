"""What a verify task owns of its state, for the table of `gate.parts`. Pure, but for the story of all tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from phase_gate.gate.forked import LATE
from phase_gate.gate.measured import Section
from phase_gate.gate.parts import PARTS, VERIFICATION, Part
from phase_gate.gate.standing import Standing, by_verdict, closed
from phase_gate.gate.state import Event, State
from phase_gate.gate.status import Status
from phase_gate.verification.events import advance, exit_phase
from phase_gate.verification.model import Verification


class VerificationPart(Part):
    kind = Verification

    def reduce(self, value: Verification | None, event: Event) -> Verification | None:
        if event.kind in PARTS[VERIFICATION].kinds:
            return advance(value, event)
        if value is not None and event.kind == "phase-exited" and not event.data.get("forced"):
            return exit_phase(value)
        return value

    def listed_files(self, value: Verification) -> tuple[str, ...]:
        return value.spec.files

    def standing(self, value: Verification, state: State, *, tree: str, gate_1_only: bool) -> Standing:
        """Return whether the gate is open: it is for what is committed, whatever comes after it."""
        evaluation, look = state.evaluation, f"phase-gate verify status --task {value.spec.slug}"
        if value.commit:
            reason = f"approved, and committed as {value.commit[:10]}"
            return Standing(is_open=True, status="open", reason=reason, next_command=look)
        if evaluation is None or state.evaluation_is_stale:
            is_forked = evaluation is not None and state.is_forked
            status: Status = "unstarted" if evaluation is None else "stale"
            return closed(status, LATE if is_forked else f"it is {value.status}", look)
        if value.verified_tree not in ("", tree) and not evaluation["forced_exit"]:
            reason = "files were changed after the verify run: its evidence is stale"
            return closed("stale", reason, look)
        return by_verdict(evaluation, gate_1_only=gate_1_only)

    def sections(
        self, value: Verification | None, *, folder: Path, look: Callable[[str], State | None], key: bytes | None
    ) -> tuple[Section, ...]:
        if not (folder / "tasks").is_dir():
            return ()
        # Here, not above: only reports draw all tasks.
        from phase_gate.verification.overview import load_overview
        from phase_gate.verification.show import sections_of

        return sections_of(load_overview(folder, look, key=key), value)


PART = VerificationPart()
