"""Texts for agents: the feedback for the next attempt, the executor's prompt, and the reviewer's bundle.

Read-only. The feedback is worded as in the source document, so that it can be given to an agent directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError
from phase_gate.tasks.board import TaskSession
from phase_gate.tasks.changes import read_diff
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.result import evidence_chain
from phase_gate.tasks.rules import needs_manual_review, retries_left
from phase_gate.tasks.verify_evaluation import LINES
from phase_gate.tasks.work import (
    FINISHED,
    STEPS,
    Check,
    Failure,
    FailureType,
    Status,
    Verification,
    require_verification,
)
from phase_gate.values import Value
from phase_gate.visible import count, name_first, show_line, show_text
from phase_gate.workflow.settings import GATE_TIMEOUT, MAX_TIMEOUTS


class Dependency(Value):
    """The task that a blocked task waits for, and whether it is done."""

    name: str
    #: Its status, and its folder; empty if no such task is known.
    status: str = ""
    task: str = ""

    @property
    def is_complete(self) -> bool:
        return self.status in (Status.APPROVED, Status.SKIPPED)

    @property
    def way(self) -> str:
        """The advice for this dependency."""
        if not self.name:
            return "name what blocks it: `blocked_by:` in the executor's report, or `depends_on:` in the task"
        if not self.status:
            return f"{self.name} is no task of this project: resolve it, then report again"
        if self.is_complete:
            return f"{self.name} is complete: the state is inconsistent, look into what is missing"
        return f"{self.name} is {self.status}: queue it first: {self.command}"

    @property
    def is_waited_for(self) -> bool:
        return bool(self.status) and not self.is_complete

    @property
    def command(self) -> str:
        """The command for it."""
        return f"phase-gate verify {'start' if self.status == Status.PENDING else 'status'} --task {self.task}"


def find_dependency(verification: Verification, overview: Overview) -> Dependency:
    """Return the dependency that blocks the task: from the executor's report or its error, else from the task."""
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
    """Return whether the text contains the task's name, or the part before its colon."""
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
    shown = name_first(sorted(changed), LINES) or "nothing"
    parts.append(f"CHANGED SINCE ATTEMPT {last.attempt}: {shown}")
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


def _reviewer_edit(verification: Verification, last: Failure, overview: Overview) -> str:
    return (
        f"REVIEWER CHANGED FILES:\n{last.error}\n\n"
        "Keep that or take it back, then report again: the verify command is run on what is there."
    )


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
    FailureType.REVIEWER_EDIT: _reviewer_edit,
    FailureType.BLOCKED: _blocked,
    FailureType.TIMEOUT: _timeout,
    FailureType.MALFORMED: _malformed,
}


# --- the prompt for the executor of a verify task: the task, the last failure, and the form of the report


def write_executor_prompt(session: TaskSession, *, answer: str = "") -> str:
    """Return the prompt.

    :param answer: the file to write the report to; empty to print it.
    """
    verification, said = session.verification(), explain_failure(session)
    rows = [*_task_lines(verification), *_guidance_lines(verification)]
    if said:
        rows += ["# What failed last time", "", _quote(show_text(said).splitlines()), ""]
    if verification.status not in FINISHED:
        rows += _form_lines(verification, answer)
    return "\n".join(rows)


def explain_failure(session: TaskSession) -> str:
    """Return the last failure that is not fixed yet, for the next attempt; empty if there is none."""
    verification = session.verification()
    changed = session.changed_since_failure(verification)
    return feedback(verification, changed=changed, overview=session.board.overview)


def _guidance_lines(verification: Verification) -> Iterator[str]:
    if verification.guidance:
        yield "# Instructions from a person"
        yield ""
        yield from (show_line(each) for each in verification.guidance)
        yield ""


def _task_lines(verification: Verification) -> Iterator[str]:
    spec = verification.spec
    yield "You execute one task. Do it, run its verify command, report, then stop."
    yield "Your report is a claim: the verify command is run again for you, and a reviewer looks at what you changed."
    yield ""
    yield "# Task"
    yield ""
    yield f"name: {show_line(spec.name)}"
    yield f"files that may change: {show_line(', '.join(spec.files))}"
    yield f"verify command: {show_line(spec.verify)}"
    yield "action:"
    yield _quote(show_text(spec.action.strip()).splitlines())
    yield "done when:"
    yield _quote(show_text(spec.done.strip()).splitlines())
    yield ""
    yield "Change no other file, do not commit, and leave the tests that are there as strict as they are."
    yield ""


def _form_lines(verification: Verification, answer: str) -> Iterator[str]:
    yield "# Report"
    yield ""
    if answer:
        yield "When you are done, write this, filled in, as YAML alone into"
        yield f"`{answer}`:"
    else:
        yield "When you are done, print this, filled in, as YAML alone:"
    yield ""
    yield from (f"    {row}" for row in _form(verification))
    yield ""
    yield "status is success, failure or blocked; failure and blocked need `error:`, and blocked may name a task in"
    yield "`blocked_by:`. Write what fixed an earlier failure into `resolution:`."
    yield ""


def _form(verification: Verification) -> Iterator[str]:
    import yaml

    form = {
        "status": "success",
        "task_name": verification.spec.name,
        "files_modified": ["..."],
        "verification": {"command": verification.spec.verify, "exit_code": 0, "output_summary": "{summary}"},
        "done_criteria_met": True,
        "evidence": "{description}",
    }
    text = str(yaml.safe_dump(form, sort_keys=False, allow_unicode=True, width=10_000))
    yield from text.rstrip().splitlines()


# --- the bundle for the reviewer of a verify task


#: The architect's checks in the source document.
CHECKS = (
    "the files modified match `files` of the task",
    "the implementation matches the intent of `action`",
    "the verify output shows actual success",
    "the `done` criteria are demonstrably met",
    "there are no unintended side effects",
)


def make_bundle(session: TaskSession) -> dict[str, Any]:
    """Return the bundle as a document. Raises NotAllowedError if there is nothing to review yet."""
    state = session.state()
    verification = require_verification(state, session.task)
    check = verification.check
    if verification.report is None or check is None or not check.has_ended:
        raise NotAllowedError(
            f"{session.task} has nothing to review yet: it is {verification.status}",
            remedy=f"phase-gate verify status --task {session.task}",
        )
    tree = session.tree(verification.spec)
    changes = session.changes(state, verification, tree)
    diff = read_diff(session.project.root, session.memory(verification), changes.own)
    return {
        "task": to_json(verification.spec),
        "guidance": list(verification.guidance),
        "feedback": explain_failure(session),
        "executor_result": session.store.objects.load(verification.report.kept),
        "verify": evidence_chain(verification, session.output(verification))["verify"],
        "weak_because": [*verification.weak_because, *(() if verification.review else changes.weak_because)],
        "changed_files": list(changes.changed or ()),
        "unlisted_files": list(changes.unlisted or ()),
        "untracked_files": list(changes.untracked),
        "commits": list(changes.commits),
        "commits_of_others": list(changes.foreign_commits),
        "fresh": check.after == tree.digest,
        "diff": "\n".join(diff.lines),
        "diff_left_out": list(diff.left_out),
        "checks": list(CHECKS),
        "verdict_form": _verdict_form(verification, check),
    }


def _verdict_form(verification: Verification, check: Check) -> dict[str, Any]:
    return {
        "verdict": "APPROVED | REJECTED",
        "task_name": verification.spec.name,
        "confidence": "HIGH | MEDIUM | LOW",
        "findings": ["what was looked at, and what was found"],
        "concerns": [],
        "recommendation": "commit | retry | manual_review",
        "evidence": check.id,
    }


def render_bundle(document: Mapping[str, Any]) -> str:
    """Return the bundle for a reviewer to read."""
    verify = dict(document["verify"])
    output = str(verify.pop("output")).rstrip()
    files = ("changed_files", "unlisted_files", "untracked_files", "commits", "commits_of_others", "fresh")
    sections = {
        "1. Task": document["task"],
        "Instructions from a person": document["guidance"],
        "What failed last time": document["feedback"],
        "2. Executor result": document["executor_result"],
        "3. Verify command": verify,
        "Output": output or "(none)",
        "Changed files, from git": {name: document[name] for name in files},
        "Makes the pass a weak one": document["weak_because"],
        "Diff since the task was taken": document["diff"],
        "Not in the diff": document["diff_left_out"],
        "To be checked": document["checks"],
        "Verdict, to be filled in: phase-gate verify review FILE --by NAME": document["verdict_form"],
    }
    parts = []
    for heading, value in sections.items():
        if value:
            parts += [f"# {heading}", _quote(value.splitlines()) if isinstance(value, str) else _block(value)]
    return "\n".join(parts)


def _quote(lines: Iterable[str]) -> str:
    """Return lines that can't be mistaken for one of our headings."""
    return "\n".join(f"| {line}" for line in lines)


def _block(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)).rstrip()
