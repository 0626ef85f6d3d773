"""The verdict as JUnit XML: one test case a gate, for whatever shows such reports. The tests are in pytest's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.gate.findings import place_of
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.status import show_next
from phase_gate.report.ci import verdict_words
from phase_gate.visible import show_line, show_rows

#: Answers that keep Gate 2 closed on purpose; any other absence is no failure.
_REFUSALS = frozenset({"blocked", "test-wrong", "not-done", "malformed", "refused"})


def suite_properties(document: Mapping[str, Any]) -> dict[str, str]:
    """Return what a suite's `<properties>` say of the verdict."""
    return {f"phase-gate.{name}": _legal(value) for name, value in verdict_words(document).items()}


def render_junit(document: Mapping[str, Any]) -> str:
    from xml.etree import ElementTree

    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    suites = ElementTree.Element("testsuites", name="phase-gate")
    suite = ElementTree.SubElement(
        suites, "testsuite", name=f"phase-gate {document['phase']}", timestamp=str(document["timestamp"]), time="0"
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in suite_properties(document).items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    home = f"phase-gate.{document['phase']}"
    first = ElementTree.SubElement(
        suite, "testcase", classname=home, name=_legal(f"Gate 1: {gate_1['name']}"), time="0"
    )
    failures = skipped = 0
    if not gate_1["open"]:
        failures += 1
        closed = ElementTree.SubElement(first, "failure", message=_legal(document["reason"]), type="closed")
        closed.text = show_rows(_what_is_open(document))
    second = ElementTree.SubElement(suite, "testcase", classname=home, name="Gate 2: explicit exit signal", time="0")
    if not gate_2["open"]:
        told = f"{SHOWN[gate_2['answer']]} {gate_2['reason']}".strip()
        is_refusal = gate_2["answer"] in _REFUSALS
        failures, skipped = failures + is_refusal, skipped + (not is_refusal)
        ElementTree.SubElement(second, "failure" if is_refusal else "skipped", message=_legal(told))
    suite.attrib |= {"tests": "2", "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _what_is_open(document: Mapping[str, Any]) -> Iterator[str]:
    for clause in document["gate_1"]["clauses"]:
        if clause["met"] is not True:
            yield f"{clause['text']}: {clause['shown']}"
    for guard in document["gate_1"]["guards"]:
        if guard["met"] is not True and not guard["waived"]:
            yield f"{guard['name']}: {guard['detail']}"
    for row in document["findings"]:
        if row["tier"] == "hard":
            yield f"  {place_of(row)} {row['detail']}".rstrip()
    yield f"next: {show_next(document['next_command'], document['next_hint'])}"


def _legal(text: object) -> str:
    # Whatever can't stand in XML can't be seen, either.
    return show_line(str(text))
