"""`exit_gate:` and `confidence:` of the project's file."""

from __future__ import annotations

import pytest

from phase_gate.config.configuration import parse_configuration
from phase_gate.errors import ConfigurationError
from phase_gate.workflow.settings import ConfidenceRules, EvidenceChecks, ExitGate

#: The source document's block, as it stands there.
DOCUMENT = """\
{
  "exit_gate": {
    "enabled": true,
    "indicator_threshold": 2,
    "require_explicit_signal": true,
    "evidence_checks": {
      "tests": true,
      "build": false,
      "acceptance_criteria": true,
      "clean_git": false
    },
    "patterns": [
      "<promise>COMPLETE</promise>",
      "all tasks completed",
      "ready for review"
    ]
  }
}
"""


def test_the_documents_block_is_accepted_as_it_stands() -> None:
    gate = parse_configuration(DOCUMENT).exit_gate
    patterns = ("<promise>COMPLETE</promise>", "all tasks completed", "ready for review")
    assert gate == ExitGate(patterns=patterns)


def test_everything_can_be_set() -> None:
    found = parse_configuration(
        "exit_gate:\n"
        "  enabled: false\n  indicator_threshold: 3\n  require_explicit_signal: false\n"
        "  evidence_checks: {tests: false, build: true, acceptance_criteria: false, clean_git: true}\n"
        "  patterns: [shipped]\n  plan_file: PLAN.md\n  thresholds: {docs: 1}\n"
        "  honour_override: true\n  as_signal: true\n"
        "confidence: {enabled: false, threshold: 80, low: 40, repeated: 2, keywords: [shipped], task_file: a.md,"
        " done_folder: b}\n"
    )
    assert found.exit_gate == ExitGate(
        enabled=False,
        indicator_threshold=3,
        require_explicit_signal=False,
        evidence_checks=EvidenceChecks(tests=False, build=True, acceptance_criteria=False, clean_git=True),
        patterns=("shipped",),
        plan_file="PLAN.md",
        thresholds={"docs": 1},
        honour_override=True,
        as_signal=True,
    )
    assert found.confidence == ConfidenceRules(
        enabled=False, threshold=80, low=40, repeated=2, keywords=("shipped",), task_file="a.md", done_folder="b"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("exit_gate: {indicator_threshold: 0}", "exit_gate.indicator_threshold can't be 0"),
        ("exit_gate: {thresholds: {docs: 0}}", "exit_gate.thresholds.docs can't be 0"),
        ("exit_gate: {patterns: [ok, '(a+)+$']}", "exit_gate.patterns: a group may not be repeated"),
        ("exit_gate: {patterns: ['(']}", "exit_gate.patterns: it is no regular expression"),
        ("exit_gate: {treshold: 1}", "unknown key 'treshold' in exit_gate"),
        ("exit_gate: {evidence_checks: {test: true}}", "unknown key 'test' in exit_gate.evidence_checks"),
        ("exit_gate: {enabled: 'yes'}", "exit_gate.enabled has to be a boolean"),
        ("confidence: {threshold: 101}", "101 can never be reached"),
        ("confidence: {low: 80}", "it is above the threshold, 70"),
        ("confidence: {repeated: 0}", "confidence.repeated can't be 0"),
        ("confidence: {keywords: ['a*a*a*']}", "confidence.keywords: it can be read in too many ways"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(f"{text}\n")
    assert caught.value.problem.startswith("phase-gate.yaml:1:")
    assert problem in caught.value.problem
