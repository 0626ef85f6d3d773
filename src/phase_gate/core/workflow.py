"""The model of a workflow: phases in order, their gates, and what may follow what.

Data only. `loading` makes it from text; `order` and `evaluation` read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from phase_gate.core.breaker import Limits
from phase_gate.values import Value, field

if TYPE_CHECKING:
    from phase_gate.core.conditions import Condition
    from phase_gate.core.metrics import MetricType, MetricValue
    from phase_gate.core.requirements import PipelineRules, Requires

Tests = Literal["failing", "passing", "none"]
Scope = Literal["suite", "targets"]
Start = Literal["any", "first"]


class Guard(Value):
    """A named rule about the evidence itself: a condition over metrics, with a remedy."""

    name: str
    condition: Condition
    remedy: str
    #: What is wrong, in words, when it does not hold; `{metric}` stands for a value.
    detail: str = ""


class Gate1(Value):
    name: str
    condition: Condition
    guards: tuple[str, ...] = ()
    rationale: str = ""
    #: True where a project's file took the workflow's condition out and put its own in: shown in every verdict.
    replaced: bool = False


class Phase(Value):
    name: str
    gate_1: Gate1
    next: str
    purpose: str = ""
    tests: Tests = "passing"
    scope: Scope = "suite"
    may_end_cycle: bool = False
    breaker: Limits = field(default_factory=Limits)
    #: What it requires beside its condition; None: nothing, as in every workflow that is no pipeline.
    requires: Requires | None = None
    #: Where a gate leads that fails: a done signal while Gate 1 is closed. Empty: nowhere, it only stays closed.
    on_failure: str = ""
    #: Whether a pending change request leads elsewhere than `next`.
    routes: bool = False
    #: Whether this is the phase that failures lead to; what follows it is the rewind that its record asks for.
    recovers: bool = False
    #: What makes change requests by itself here: `drift`, or an artifact with findings.
    raises: tuple[str, ...] = ()


class Workflow(Value):
    name: str
    phases: tuple[Phase, ...]
    start: Start = "any"
    #: Whether `--phase=FIRST` in the middle of a cycle rewinds.
    rewind_by_option: bool = True
    parameters: Mapping[str, MetricValue] = field(default_factory=dict)
    #: What may be declared, with its type; measured names never.
    facts: Mapping[str, MetricType] = field(default_factory=dict)
    #: Metrics that plugins measure, with their types.
    metrics: Mapping[str, MetricType] = field(default_factory=dict)
    guards: Mapping[str, Guard] = field(default_factory=dict)
    #: What holds for all phases of a pipeline; None: this is none.
    pipeline: PipelineRules | None = None
    #: SHA-256 of what was read, so that a change of the rules is seen.
    digest: str = ""

    @property
    def first(self) -> Phase:
        return self.phases[0]

    def phase(self, name: str) -> Phase | None:
        """Return the phase of that name, in any case; None if there is none."""
        wanted = name.upper()
        return next((phase for phase in self.phases if phase.name.upper() == wanted), None)
