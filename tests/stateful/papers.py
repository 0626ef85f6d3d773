"""What is written down on the way: claims, reports and verdicts, each an honest one."""

from __future__ import annotations

#: A task for `phase-gate verify`, and the name that it gets.
TASK_FILE, TASK, TASK_NAME = "task.yaml", "task-1-plus-three", "Task 1: Plus three"
VERIFY_TASK = f"""\
name: "{TASK_NAME}"
files: [calc.py, tests/test_3.py]
action: Write plus3(x), which adds three to a number.
verify: pytest -q tests/test_3.py
done: plus3() exists; 1 test in tests/test_3.py passes
"""

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
