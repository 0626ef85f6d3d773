"""A project whose rules leave only one guard between a false green and an open gate, or not even that one."""

from __future__ import annotations

from typing import ClassVar

from tests.integrity.conftest import FastWorkbench

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


def _files(*guards: str) -> dict[str, str]:
    return {"phase-gate.yaml": "workflow: lax.yaml\n", "lax.yaml": _WORKFLOW.format(guards=", ".join(guards))}


class GuardedBench(FastWorkbench):
    """Nothing is frozen here, a new conftest may come: what closes the gate is the look at outcomes alone."""

    more_files: ClassVar[dict[str, str]] = _files("complete-run", "outcomes-genuine")
    runs: ClassVar[int] = 1


class UnguardedBench(FastWorkbench):
    """The same without that guard."""

    more_files: ClassVar[dict[str, str]] = _files("complete-run")
    runs: ClassVar[int] = 1
