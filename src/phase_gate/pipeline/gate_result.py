"""A verdict as the gate result of the phase gate engine's document, and how two of them are merged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What only the writer of the file knows: a merge keeps it.
_KEPT = ("score", "consensusScore")


def gate_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an evaluation's document as a gate result. A score that was not measured is left out."""
    gate = evaluation["gate_1"]
    closed = [guard for guard in gate["guards"] if guard["met"] is not True and not guard["waived"]]
    unmet = [clause for clause in gate["clauses"] if clause["met"] is not True and clause["group"] is None]
    blockers = [f"{guard['name']}: {guard['detail']}" for guard in closed]
    blockers += [f"{clause['text']} ({clause['shown'] or 'not measured'})" for clause in unmet]
    if not gate["open"] and not blockers:
        blockers = [evaluation["reason"]]
    result: dict[str, Any] = {
        "phase": evaluation["phase"],
        "pass": gate["open"],
        "blockers": blockers,
        "missingArtifacts": _named(evaluation, "artifacts-made"),
        "failedChecks": _named(evaluation, "checks-passed"),
        "timestamp": evaluation["timestamp"],
    }
    score = evaluation["metrics"].get("consensus_score")
    return result if score is None else {**result, "score": score, "consensusScore": score}


def _named(evaluation: Mapping[str, Any], slug: str) -> list[str]:
    return [row["id"] for row in evaluation["findings"] if row["slug"] == slug]


def merge_gate_results(handler: Mapping[str, Any], engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return one result of two: scores are the handler's where it gave them, all that decides is the engine's."""
    return {**engine, **{name: handler[name] for name in _KEPT if handler.get(name) is not None}}
