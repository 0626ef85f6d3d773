"""A verify task as its author wrote it: what to do, how to verify it, when it is done.

Pure: values, and what follows from them alone. The files are read in `verification.task_files`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

from phase_gate.codec import spell_out
from phase_gate.values import Value, field

#: As many as a folder's name of ours may have.
_MAX_SLUG = 64
#: A task without a name of its own lives in the state folder itself.
_RESERVED = ("default",)


class TaskSpec(Value):
    """One task, as it stands in its file."""

    name: str
    #: Paths from the project's root, with `/`; a glob is allowed. The task may change these and no others.
    files: tuple[str, ...]
    action: str
    #: The command that proves it, as one would type it.
    verify: str
    #: What is the case when it is done.
    done: str
    #: Whether a shell runs the command.
    shell: bool = False
    #: Names of tasks that have to be approved before.
    depends_on: tuple[str, ...] = ()
    #: Why a verify command that fails may be run once more; empty where the task does not declare it.
    flaky: str = ""
    #: Seconds by step, where the task asks for others than the default ones.
    timeouts: Mapping[str, float] = field(default_factory=dict)
    #: The group of tasks that it runs with.
    wave: str = ""
    #: Where it stands in the plan that it comes from.
    phase: str = ""
    plan: str = ""

    @property
    def slug(self) -> str:
        return task_slug(self.name)


def task_slug(name: str) -> str:
    """Return the name of the task's folder: `Task 3: Create PlannerId` is kept in `task-3-create-plannerid`."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    is_whole = name.isascii() and slug not in _RESERVED and 0 < len(slug) <= _MAX_SLUG
    if is_whole:
        return slug
    # Letters that a folder can't have, or too many of them, would make one task of two.
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(filter(None, (slug[: _MAX_SLUG - 9].strip("-") or "task", mark)))


# --- what an executor and a reviewer say of a task


ExecutorStatus = Literal["success", "failure", "blocked"]
Answer = Literal["APPROVED", "REJECTED"]
Confidence = Literal["HIGH", "MEDIUM", "LOW"]
Recommendation = Literal["commit", "retry", "manual_review"]


class Claimed(Value):
    """What an executor says of the verify command: compared with our own run of it, never used instead of it."""

    command: str
    exit_code: int
    output_summary: str = ""


class ExecutorResult(Value):
    """Step 1: what the executor reports."""

    status: ExecutorStatus
    #: Empty in a short form: then the task has to be clear otherwise.
    task_name: str = ""
    files_modified: tuple[str, ...] = ()
    #: None where it does not say that it ran the command; with success it has to.
    verification: Claimed | None = None
    done_criteria_met: bool = False
    evidence: str = ""
    #: Why it failed or is blocked.
    error: str = ""
    #: The task that it waits for, where it names one.
    blocked_by: str = ""
    #: What mended the failure before.
    resolution: str = ""
    #: Who executed it.
    by: str = ""


class Verdict(Value):
    """Step 3: what the reviewer decides."""

    verdict: Answer
    confidence: Confidence
    findings: tuple[str, ...]
    recommendation: Recommendation
    task_name: str = ""
    concerns: tuple[str, ...] = ()
    #: Concerns that have to be gone before it may pass.
    blockers: tuple[str, ...] = ()
    feedback: str = ""
    #: Who reviewed it.
    by: str = ""
    #: What it speaks of, where it says so: an attempt, a tree, a verify run.
    attempt: int | None = None
    tree: str = ""
    evidence: str = ""

    @property
    def is_approved(self) -> bool:
        return self.verdict == "APPROVED"


def result_to_json(result: ExecutorResult) -> dict[str, Any]:
    """Return the report for the ledger and for `--json`; what is not said is left out."""
    return _said(result, "task_name", "files_modified", "done_criteria_met")


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict for the ledger and for `--json`; what is not said is left out."""
    return _said(verdict, "task_name", "findings", "concerns")


def _said(value: Value, *always: str) -> dict[str, Any]:
    """Return the fields that say something, and those that are always there."""
    return {name: each for name, each in spell_out(value).items() if each or name in always}
