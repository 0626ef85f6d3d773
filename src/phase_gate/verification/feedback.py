"""The text for the next attempt of a task: what failed, the first lines that say so, what changed since, what is left.

Pure. In the words of the source document, so that it can be put in front of an agent as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from phase_gate.values import Value
from phase_gate.verification.model import STEPS, Failure, FailureType, Status, Verification
from phase_gate.verification.output import LINES
from phase_gate.verification.rules import needs_manual_review, retries_left
from phase_gate.verification.stats import Overview
from phase_gate.visible import count
from phase_gate.workflow.settings import GATE_TIMEOUT, MAX_TIMEOUTS


class Dependency(Value):
    """What a blocked task waits for, and whether that is done."""

    name: str
    #: Its status, and its folder; empty if no such task is known.
    status: str = ""
    task: str = ""

    @property
    def is_complete(self) -> bool:
        return self.status in (Status.APPROVED, Status.SKIPPED)

    @property
    def way(self) -> str:
        """Which of the two ways to go."""
        if not self.name:
            return "name what blocks it: `blocked_by:` in the executor's report, or `depends_on:` in the task"
        if not self.status:
            return f"{self.name} is no task of this project: resolve it, then report again"
        if self.is_complete:
            return f"{self.name} is complete: the state is inconsistent, look into what is missing"
        return f"{self.name} is {self.status}: queue it first"


def find_dependency(verification: Verification, overview: Overview) -> Dependency:
    """Return what blocks the task: what its executor names, by field or in the error, else what the task names."""
    report = verification.report
    result = {} if report is None else report.result
    error = str(result.get("error", ""))
    others = [row for row in overview.rows if row.task != verification.spec.slug]
    named = str(result.get("blocked_by", "")).strip()
    if not named:
        open_ones = [row.name for row in others if row.name in verification.spec.depends_on]
        said = [row.name for row in others if _speaks_of(error, row.name)]
        named = next(iter((*said, *open_ones, *verification.spec.depends_on)), "")
    for row in others:
        if named and (named in (row.name, row.task) or _speaks_of(row.name, named)):
            return Dependency(name=row.name, status=row.status, task=row.task)
    return Dependency(name=named)


def _speaks_of(text: str, name: str) -> bool:
    """Tell whether the text names the task, whole or by what stands before its colon."""
    short = name.partition(":")[0].strip()
    return any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in {name, short} if each)


def feedback(verification: Verification, *, changed: Iterable[str], overview: Overview) -> str:
    """Return the text for the next attempt; empty if nothing failed.

    :param changed: the files that changed since the last attempt ended.
    """
    last = verification.last_failure
    if last is None or last.recovered or verification.status in (Status.APPROVED, Status.SKIPPED):
        return ""
    parts = [_TEXTS[last.type](verification, last, overview)]
    changed = sorted(changed)
    shown = ", ".join(changed[:LINES]) + (f" and {len(changed) - LINES} more" if len(changed) > LINES else "")
    parts.append(f"CHANGED SINCE ATTEMPT {last.attempt}: {shown or 'nothing'}")
    parts.append("WHAT IS LEFT:\n" + "\n".join(f"- {each}" for each in _left(verification)))
    return "\n\n".join(parts)


def _left(verification: Verification) -> list[str]:
    spec = verification.spec
    left = [
        f"done when: {spec.done}",
        f"`{spec.verify}` has to end with 0",
        f"only these files may change: {', '.join(spec.files)}",
        "a reviewer has to approve it",
    ]
    tries = retries_left(verification)
    return [*left, f"{count(tries, 'more attempt')} before a person is asked" if tries else "a person is asked now"]


def _execution(verification: Verification, last: Failure, overview: Overview) -> str:
    first, _, rest = last.error.strip().partition("\n")
    fix = " ".join(rest.split())
    suggested = f"\n\nSUGGESTED FIX: {fix}" if fix else ""
    return f"PREVIOUS ATTEMPT FAILED:\nError: {first}{suggested}\n\nPlease address this before retrying the task."


def _verify(verification: Verification, last: Failure, overview: Overview) -> str:
    code = "none" if last.exit_code is None else str(last.exit_code)
    listed = "\n".join(f"- {line}" for line in last.lines or (last.error,))
    return (
        f"VERIFICATION FAILED:\nCommand: {verification.spec.verify}\nExit code: {code}\n\nFAILURES:\n{listed}\n\n"
        "Please fix the failing tests and re-verify."
    )


def _rejection(verification: Verification, last: Failure, overview: Overview) -> str:
    listed = "\n".join(f"{number}. {line}" for number, line in enumerate(last.lines or (last.error,), start=1))
    return f"ARCHITECT REJECTED:\n\nIssues found:\n{listed}\n\nPlease address these concerns and re-submit."


def _blocked(verification: Verification, last: Failure, overview: Overview) -> str:
    dependency = find_dependency(verification, overview)
    return f"BLOCKED:\n{last.error.strip()}\n\nBLOCKING DEPENDENCY: {dependency.name or 'not named'}\n{dependency.way}"


def _timeout(verification: Verification, last: Failure, overview: Overview) -> str:
    step = STEPS[last.step]
    listed = "".join(f"\n- {line}" for line in last.lines)
    return (
        f"TIMEOUT:\n{last.error}\n\nPARTIAL PROGRESS:{listed or ' none was seen'}\n\nOptions:\n"
        f"1. Retry with an extended time-out: up to {MAX_TIMEOUTS[step]:g} s for the {step} step, "
        f"{GATE_TIMEOUT / 60:g} minutes for the whole gate\n"
        "2. Manual intervention: find out what takes so long\n"
        "3. Skip with a warning: phase-gate verify skip, by a person"
    )


def _malformed(verification: Verification, last: Failure, overview: Overview) -> str:
    whose = {1: "executor's result", 3: "reviewer's verdict"}.get(last.step, "result")
    name = "executor-result" if last.step == 1 else "verdict"
    again = "\n\nThis happened before: flagged for manual review." if needs_manual_review(verification) else ""
    return (
        f"MALFORMED RESULT:\nThe {whose} could not be read: {last.error}\n\n"
        f"Please return it in the form that `phase-gate workflow schema {name}` prints.{again}"
    )


_TEXTS = {
    FailureType.EXECUTION_FAILURE: _execution,
    FailureType.VERIFY_FAILURE: _verify,
    FailureType.ARCHITECT_REJECTION: _rejection,
    FailureType.BLOCKED: _blocked,
    FailureType.TIMEOUT: _timeout,
    FailureType.MALFORMED: _malformed,
}
