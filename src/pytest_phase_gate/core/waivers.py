"""Waivers: a person lets one guard's present findings pass, on the record.

Pure. A waiver covers exactly what was there when it was given, until the cycle ends or it expires.
"""

from __future__ import annotations

from typing import Any

from pytest_phase_gate.core.values import Value


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


def waiver_to_json(waiver: Waiver) -> dict[str, Any]:
    return {
        "kind": "waive",
        "guard": waiver.guard,
        "findings": list(waiver.findings),
        "reason": waiver.reason,
        "by": waiver.by,
        "at": waiver.at,
        "expires": waiver.expires,
    }
