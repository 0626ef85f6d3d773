"""Whatever is done, the record stays consistent, and an honest finisher gets through."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.stateful.finisher import find_commands
from tests.stateful.machine import WORKFLOWS, Work
from tests.sweeps import IS_WHOLE

pytestmark = pytest.mark.processes

#: With shrinking, which makes a dead end short: only where new ones are looked for.
SETTINGS = settings(
    max_examples=30 if IS_WHOLE else 1,
    stateful_step_count=14 if IS_WHOLE else 3,
    phases=(Phase.generate, Phase.shrink) if IS_WHOLE else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.sampled(4)
@pytest.mark.timeout(7200 if IS_WHOLE else 300)
@pytest.mark.parametrize("workflow", WORKFLOWS if IS_WHOLE else [*WORKFLOWS][:4])
def test_an_honest_finisher_gets_through(workflow: str) -> None:
    run_state_machine_as_test(type("Work", (Work,), {"workflow": workflow}), settings=SETTINGS)


def test_commands_are_found_in_sentences() -> None:
    assert find_commands("put it back, or go back with: pytest --phase=red") == ["pytest --phase=red"]
    assert find_commands("phase-gate claim FILE, with what the agent printed") == ["phase-gate claim said.txt"]
    assert find_commands("phase-gate explain tests-kept names them; phase-gate status") == [
        "phase-gate explain tests-kept",
        "phase-gate status",
    ]
    assert find_commands("wait for it to end") == []
