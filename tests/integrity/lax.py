"""A project whose rules leave only one guard between a false green and an open gate, or not even that one."""

from __future__ import annotations

from phase_gate.values import replace
from tests.integrity.rows import PRICE, Attempt, Base

_WORKFLOW = """\
workflow: lax
phases:
  RED:
    tests: failing
    scope: targets
    gate_1: {{name: Failing, condition: tests_total > 0 AND tests_failing == tests_total, guards: [complete-run]}}
    next: GREEN
  GREEN:
    tests: passing
    gate_1:
      name: Passing
      condition: tests_total > 0 AND tests_failing == 0 AND tests_passing == tests_total
      guards: [{guards}]
    next: DONE
"""


def _rules(*guards: str) -> Base:
    return Base(
        files=(
            *PRICE.files,
            ("phase-gate.yaml", "workflow: lax.yaml\n"),
            ("lax.yaml", _WORKFLOW.format(guards=", ".join(guards))),
        )
    )


#: Nothing is frozen here, a new conftest may come: what closes the gate is the look at outcomes alone.
GUARDED = _rules("complete-run", "outcomes-genuine")
#: The same without that guard.
UNGUARDED = _rules("complete-run")
#: With that guard and a proof.
PROVEN = _rules("complete-run", "outcomes-genuine", "targets-proven")


def under(base: Base, attempt: Attempt) -> Attempt:
    """Return the attempt in that project; one green run is enough for its rules."""
    return replace(attempt, base=base, runs=((),))
