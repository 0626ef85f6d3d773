"""What was measured beside the tests. Pure values: who looks is in the package `evidence`."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.metrics import MetricValue
from pytest_phase_gate.core.values import Value, field


class Measured(Value):
    """What a look gave. A name that is missing is unknown, and unknown opens nothing."""

    metrics: Mapping[str, MetricValue] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    #: What could not be looked at, and why.
    warnings: tuple[str, ...] = ()
