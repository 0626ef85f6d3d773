"""The verdict of a phase that a person ends."""

from __future__ import annotations

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.gate.measured import Finding, Measured
from phase_gate.gate.overrides import forced_events, override_record
from phase_gate.gate.state import NEW_STATE, Measurement
from phase_gate.values import replace
from tests.gate import verdicts

TDD = load_shipped_workflow("tdd")
REFACTOR = next(phase for phase in TDD.phases if phase.name == "REFACTOR")
AT = "2026-07-01T12:00:00.000Z"


def test_a_forced_verdict_keeps_what_was_measured() -> None:
    complex_code = Finding(slug="could-improve", tier="advisory", file="fare.py", line=3, detail="too complex")
    quality = Measured(metrics={"code_complexity": 12}, findings=(complex_code,), notes=("ruff measured 3 files",))
    run = Measurement(
        run="r",
        iteration=1,
        tree="git:t",
        measured=Measured(metrics={**verdicts.GREEN, "code_complexity": 12}),
        evidence={"quality": quality},
    )
    state = replace(NEW_STATE, phase="REFACTOR", measurement=run, iteration=1)
    record = override_record("force", state, reason="the release waits", by="dev", at=AT)
    evaluation, _ = forced_events(state, TDD, REFACTOR, record, root="")
    assert evaluation.forced_exit
    assert complex_code in evaluation.findings
    assert evaluation.metrics["code_complexity"] == 12
    assert "ruff measured 3 files" in evaluation.notes
