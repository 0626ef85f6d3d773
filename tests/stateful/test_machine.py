"""Whatever is done, the record stays consistent, and an honest finisher gets through."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

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
