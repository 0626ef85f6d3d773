"""What a verify command can prove, by its words alone.

Pure.
"""

from __future__ import annotations

from typing import Literal

from pytest_phase_gate.core.task_spec import TaskSpec
from pytest_phase_gate.core.values import Value


class Opinion(Value):
    """What is to be said against a task: refused, or only flagged."""

    kind: Literal["refused", "flagged"]
    slug: str
    text: str


def lint_command(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the verify command."""
    raise NotImplementedError


def lint_done(spec: TaskSpec) -> tuple[Opinion, ...]:
    """Return what is to be said against the done-criteria."""
    raise NotImplementedError


def count_tests_said(output: str) -> int | None:
    """Return how many tests a runner says that it ran; None where no known runner says anything."""
    raise NotImplementedError
