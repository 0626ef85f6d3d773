"""The baseline: what was so before a cycle began.

Pure. Taken on purpose before the first run, or from the last complete run of the cycle before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phase_gate.errors import NotAllowedError
from phase_gate.gate.inventory import Inventory
from phase_gate.gate.order import may_end_here
from phase_gate.gate.outcomes import FAILING, Bucket, Outcomes
from phase_gate.gate.state import Event, State
from phase_gate.workflow.model import Workflow


def refuse_baseline(state: State, workflow: Workflow) -> None:
    """Raise NotAllowedError in the middle of a cycle: there a baseline would excuse what the cycle broke."""
    if state.phase is None or may_end_here(state, workflow):
        return
    raise NotAllowedError(
        f"cycle {state.cycle} has begun: its baseline is what was so before it",
        remedy="finish the cycle first; the next one takes its baseline from the last complete run by itself",
    )


def baseline_event(
    outcomes: Outcomes,
    inventory: Inventory,
    *,
    interrupted: str,
    keep: Callable[[str, Any], str],
    revision: str,
    narrowed_by: tuple[str, ...],
    surroundings: str = "",
) -> Event:
    """Return the event that records a baseline. Raises NotAllowedError for a session that proves nothing."""
    not_run = sum(bucket is Bucket.NOT_RUN for bucket in outcomes.values())
    if interrupted or not_run or not outcomes:
        why = interrupted or (f"{not_run} tests did not run" if not_run else "no test was collected")
        raise NotAllowedError(f"this is no baseline: {why}", remedy="run the whole suite to its end")
    odd = {test_id: bucket for test_id, bucket in sorted(outcomes.items()) if bucket is not Bucket.PASSED}
    return Event(
        kind="baseline-taken",
        data={
            "inventory": keep("inventory", inventory),
            "outcomes": keep("outcomes", odd),
            "total": len(outcomes),
            "failing": sum(bucket in FAILING for bucket in odd.values()),
            "revision": revision,
            "narrowed_by": list(narrowed_by),
            "surroundings": surroundings,
        },
    )
