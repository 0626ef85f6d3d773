"""What is written down on the way: artifacts of pipelines, votes, claims, reports and verdicts, each an honest one."""

from __future__ import annotations

import json

CONSTITUTION = "Numbers are whole. No test is deleted to make a release possible.\n"

#: A task for `phase-gate verify`, and the name that it gets.
TASK_FILE, TASK, TASK_NAME = "task.yaml", "task-1-plus-three", "Task 1: Plus three"
VERIFY_TASK = f"""\
name: "{TASK_NAME}"
files: [calc.py, tests/test_3.py]
action: Write plus3(x), which adds three to a number.
verify: pytest -q tests/test_3.py
done: plus3() exists; 1 test in tests/test_3.py passes
"""

_TEXT = """\
This document is about a small program that adds numbers for people who would rather not count on their fingers. Every
function has one purpose, one argument and one test; callers read in its name what it adds. We build the calculation
first, then the tests that show it, and leave currencies, fractions, networks and other languages for another release.
"""

#: Where artifacts of the shipped pipelines live.
ARTIFACTS = {
    "intake-brief": "docs/pipeline/intake-brief.md",
    "master-plan": "docs/pipeline/master-plan.md",
    "architecture-plan": "docs/pipeline/architecture-plan.md",
    "role-plans": "docs/pipeline/roles/developer.md",
    "review-decision": "docs/pipeline/review-decision.md",
    "audit-report": "docs/pipeline/audit.json",
    "production-report": "docs/pipeline/production-report.md",
    "root-cause": "docs/pipeline/root-cause.json",
    "recovery-plan": "docs/pipeline/recovery-plan.md",
    "specification": "docs/feature/specification.md",
    "change-notes": "docs/feature/change-notes.md",
    "release-notes": "CHANGELOG.md",
}
_LEADS = {"review-decision": "Decision: approved", "production-report": "Verdict: PASS"}


def write_artifact(name: str, *, revision: int, failed_phase: str = "") -> str:
    """Return the text of an artifact; another revision is another text."""
    if name == "root-cause":
        record = {
            "failed_phase": failed_phase,
            "summary": f"the gate was asked to open too early (revision {revision})",
            "root_cause": "the work of the phase was not finished",
            "requires_phase_rewind_to": None,
        }
        return json.dumps(record, indent=2) + "\n"
    if name == "audit-report":
        return json.dumps({"summary": f"{_TEXT} Revision {revision}.", "findings": []}, indent=2) + "\n"
    lead = f"{_LEADS[name]}\n\n" if name in _LEADS else ""
    return f"# {name.replace('-', ' ').capitalize()}\n\n{lead}{_TEXT}\nRevision {revision}.\n"


def write_vote(voter: str) -> str:
    return f"vote: approve\nconfidence: 1.0\nby: {voter}\n"


CLAIM = """\
All tasks are completed, all tests pass, and it is ready for review.

EXIT_STATUS: COMPLETE
EXIT_REASON: every function adds what its name says
REMAINING_WORK: none
"""

REPORT = f"""\
status: success
task_name: "{TASK_NAME}"
files_modified: [calc.py, tests/test_3.py]
verification:
  command: pytest -q tests/test_3.py
  exit_code: 0
  output_summary: 1 passed
done_criteria_met: true
evidence: plus3 adds three, and its test passes
"""

APPROVAL = f"""\
verdict: APPROVED
task_name: "{TASK_NAME}"
confidence: HIGH
findings:
  - plus3 adds three
  - 1 test passes
recommendation: commit
by: ann
"""
