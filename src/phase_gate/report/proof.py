"""What a proof showed: in a line, and its runs side by side. Pure: metrics and its document in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.gate.measured import Section, Table
from phase_gate.visible import count
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
    if not total:
        return ""
    noticed = changed - number("functions_unnoticed")
    functions = f", notice {noticed} of {count(changed, 'function')}" if changed else ""
    without = "fail without the change, " if metrics.get("proof_has_control") else ""
    said = f"{proven} of {count(total, 'target')}: {without}pass with it{functions}"
    rest = ", ".join(f"{many} {name}" for name, many in others.items() if many)
    return f"{said}; {rest}" if rest else said


#: Of the table that shows the runs of each target side by side.
COLUMNS = ("target", "without the change", "with it", "expecting something else", "emptied", "verdict")
#: What became of a target that expected something else, in a word or two: it has to fail.
ALTERED: Mapping[str, str] = {
    "nothing": "-",
    "fails": "fails",
    "still-passes": "still passes",
    "some-rows": "some pass",
    "dead-assert": "never run",
    "not-tried": "not tried",
}


def proof_section(proofs: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Return the part of a report that shows the runs of each target; None without a proof.

    :param proofs: phase -> the proof's document, as it was stored.
    """
    tables = tuple(
        Table(title=f"{phase}: the runs of each target", columns=COLUMNS, rows=tuple(map(_row, proof["targets"])))
        for phase, proof in proofs.items()
        if proof["targets"]
    )
    lines = [f"{phase}: no proof: {proof['problem']}" for phase, proof in proofs.items() if proof["problem"]]
    lines += [
        f"{phase}: no target notices when {each['name']} does nothing ({each['file']}:{each['line']})"
        for phase, proof in proofs.items()
        for each in proof["functions"]
        if not each["noticed_by"] and not each["left_out"]
    ]
    return Section(title="Proof", lines=tuple(lines), tables=tables) if tables or lines else None


def _row(target: Mapping[str, Any]) -> tuple[str, ...]:
    said = f"{target['verdict']}: {target['why']}" if target["why"] else str(target["verdict"])
    emptied = say_emptied(target["notices"], was_tried=target["was_tried"])
    altered = ALTERED[target["altered"]]
    return (target["id"], target["control"], target["treatment"], altered, emptied, said)


def say_emptied(notices: Any, *, was_tried: bool) -> str:
    """Return what became of a target while functions were emptied."""
    return ("noticed" if notices else "not noticed") if was_tried else "not tried"
