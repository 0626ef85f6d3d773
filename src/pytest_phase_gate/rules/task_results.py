"""Read what executor and reviewer say of a task: strictly, for a program or a model wrote it."""

from __future__ import annotations

from pytest_phase_gate.core.task_results import ExecutorResult, Verdict

#: Nobody's report is longer; a larger file is a mistake or an attack.
MAX_SIZE = 64 * 1024


def read_executor_result(text: str | bytes, name: str) -> ExecutorResult:
    """Return the executor's report. Raises MalformedResultError for what is none."""
    raise NotImplementedError


def read_verdict(text: str | bytes, name: str) -> Verdict:
    """Return the reviewer's verdict. Raises MalformedResultError for what is none."""
    raise NotImplementedError
