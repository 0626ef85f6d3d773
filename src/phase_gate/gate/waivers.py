"""Waivers: a person lets one guard's present findings pass, on the record.

Pure. A waiver covers exactly what was there when it was given, until the cycle ends or it expires.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.codec import spell_out
from phase_gate.gate.findings import Finding
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Waiver(Value):
    guard: str
    #: Keys of the findings that it covers.
    findings: tuple[str, ...]
    reason: str
    by: str
    at: str
    #: When it ends, as the ledger writes time; empty: with the cycle.
    expires: str = ""

    def is_in_force(self, at: str) -> bool:
        # Both are UTC in one form, so they compare as texts.
        return not self.expires or at < self.expires


def covered_by(waivers: Iterable[Waiver], guard: str, findings: Iterable[Finding], *, at: str) -> bool:
    """Tell whether waivers of the guard that are in force cover every one of these findings."""
    covered = {key for each in waivers if each.guard == guard and each.is_in_force(at) for key in each.findings}
    return covered.issuperset(finding.key for finding in findings)


def waiver_to_json(waiver: Waiver) -> dict[str, Any]:
    return {"kind": "waive", **spell_out(waiver)}


#: What a person did to a phase, for each kind of override.
_DECIDED = {
    "skip": "skipped",
    "force": "forced",
    "breaker-reset": "let the breaker try again in",
    "restart": "began anew after",
    "guidance": "said how to go on after",
    "amend": "gave the task another text in",
    "rollback-accept": "accepted the state folder as it was found in",
}


def describe_override(document: Mapping[str, Any]) -> str:
    """Return who let what pass, how long and why, from the document of an override."""
    if document["kind"] != "waive":
        what = _DECIDED[document["kind"]]
        return f"{document['by']} {what} {document['phase']} at {document['at']}: {document['reason']}"
    until = f"until {document['expires']}" if document["expires"] else "until the cycle ends"
    findings = len(document["findings"])
    covered = f"{findings} finding" + ("" if findings == 1 else "s")
    return f"{document['guard']} ({covered}) by {document['by']}, {until}: {document['reason']}"
