"""What a proof showed, in a line. Pure: metrics in, text out."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.gate.runs import count
from phase_gate.workflow.metrics import MetricValue


def describe_proof(metrics: Mapping[str, MetricValue]) -> str:
    """Return the line; empty where no proof was made."""
    if "targets_proven" not in metrics:
        return ""

    def number(name: str) -> int:
        value = metrics.get(name)
        return value if isinstance(value, int) else 0

    proven, changed = number("targets_proven"), number("functions_changed")
    others = {
        "disproven": number("targets_disproven"),
        "that check nothing": number("targets_vacuous"),
        "unknown": number("targets_unproven"),
    }
    total = proven + sum(others.values())
    noticed = changed - number("functions_unnoticed")
    functions = f", notice {noticed} of {count(changed, 'function')}" if changed else ""
    without = "fail without the change, " if metrics.get("proof_has_control") else ""
    said = f"{proven} of {count(total, 'target')}: {without}pass with it{functions}"
    rest = ", ".join(f"{many} {name}" for name, many in others.items() if many)
    return f"{said}; {rest}" if rest else said
