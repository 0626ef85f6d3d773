"""A run and its verdict as in-toto statements, unsigned: signing is the business of who has a key.

Formats: in-toto/attestation, Statement v1 with the predicates test-result v0.1 and svr v0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.outcomes import FAILING, Bucket

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
VERIFICATION = "https://in-toto.io/attestation/svr/v0.2"

#: In front of every property, as the predicate wants it: whose word it is.
_PREFIX = "PHASE_GATE_"

#: Something about code, rules or a file, with its digest.
Descriptor = Mapping[str, Any]


def state_outcomes(
    subject: Descriptor, outcomes: Mapping[str, Bucket], *, rules: Descriptor, url: str = ""
) -> dict[str, Any]:
    """Return what a run of the tests showed. What neither passed nor failed plainly is a warning."""
    passed = sorted(test_id for test_id, bucket in outcomes.items() if bucket is Bucket.PASSED)
    failed = sorted(test_id for test_id, bucket in outcomes.items() if bucket in FAILING)
    warned = sorted(outcomes.keys() - {*passed, *failed})
    predicate = {
        "result": "FAILED" if failed else "WARNED" if warned or not passed else "PASSED",
        "configuration": [dict(rules)],
        **({"url": url} if url else {}),
        "passedTests": passed,
        "warnedTests": warned,
        "failedTests": failed,
    }
    return _statement(subject, TEST_RESULT, predicate)


def state_verdict(
    subject: Descriptor, document: Mapping[str, Any], *, rules: Descriptor, verifier: str
) -> dict[str, Any]:
    """Return what was verified, from an evaluation's JSON document: only what holds, and nothing that was waived."""
    predicate = {
        "verifier": {"id": verifier, "policies": [dict(rules)]},
        "timeCreated": document["timestamp"],
        "properties": list(_properties(document)),
    }
    return _statement(subject, VERIFICATION, predicate)


def _properties(document: Mapping[str, Any]) -> Iterable[str]:
    gate_1, phase = document["gate_1"], _name(document["phase"])
    is_waived = any(guard["waived"] for guard in gate_1["guards"])
    if gate_1["satisfied"] and not is_waived:
        yield f"{_PREFIX}{phase}_GATE_1"
    if document["gate_2"]["satisfied"]:
        yield f"{_PREFIX}{phase}_GATE_2"
    if document["can_exit"] and not document["forced_exit"] and not is_waived:
        yield f"{_PREFIX}{phase}_EXIT"
    # A guard may hold while something is odd about it: RED that was never seen closes nothing in a fresh checkout.
    odd = {name for row in document["findings"] for name in (row["slug"], row["guard"])}
    for guard in gate_1["guards"]:
        if guard["satisfied"] is True and not guard["waived"] and guard["name"] not in odd:
            yield f"{_PREFIX}{_name(guard['name'])}"


def _name(text: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")


def _statement(subject: Descriptor, predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "_type": STATEMENT,
        "subject": [dict(subject)],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }
