"""Read the `verification:` part of a project's file."""

from __future__ import annotations

from phase_gate.core.task_spec import MAX_TIMEOUTS
from phase_gate.rules.pipeline_text import check_path
from phase_gate.rules.yaml_fields import Fields
from phase_gate.workflow.settings import VerificationSettings


def read_verification(fields: Fields | None) -> VerificationSettings:
    if fields is None:
        return VerificationSettings()
    state_file = fields.text("state_file", None)
    if state_file is not None:
        check_path(state_file, fields.place("state_file"), fields)
    settings = VerificationSettings(
        timeouts=_read_timeouts(fields.mapping("timeouts", None)),
        untimed=fields.boolean("untimed", False),
        state_file=state_file,
    )
    fields.finish()
    return settings


def _read_timeouts(fields: Fields | None) -> dict[str, float]:
    if fields is None:
        return {}
    given = {step: fields.number(step, minimum=1) for step in MAX_TIMEOUTS if step in fields}
    for step, seconds in given.items():
        if seconds > MAX_TIMEOUTS[step]:
            fields.refuse(step, f"{seconds:g} s is more than a step may take", f"give at most {MAX_TIMEOUTS[step]:g}")
    fields.finish()
    return given
