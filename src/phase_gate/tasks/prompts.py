"""Texts for agents: the feedback for the next attempt, the executor's prompt, and the reviewer's bundle.

Read-only. The feedback is worded as in the source document, so that it can be given to an agent directly.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError
from phase_gate.tasks.board import TaskSession
from phase_gate.tasks.changes import read_diff
from phase_gate.tasks.rules import Overview, begin_first, needs_manual_review
from phase_gate.tasks.show import evidence_chain
from phase_gate.tasks.work import FINISHED, STEPS, FailureType, Verification, require_verification
from phase_gate.values import Value
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.sections import GATE_TIMEOUT, MAX_TIMEOUTS


class Dependency(Value):
    """What a blocked task waits for."""

    name: str
    #: None if no task of the project is meant.
    row: Verification | None = None

    @property
    def is_complete(self) -> bool:
        return self.row is not None and self.row.status in FINISHED

    @property
    def command(self) -> str:
        """The command for a task that is waited for; empty if none is."""
        return "" if self.row is None or self.is_complete else begin_first(self.row)

    @property
    def way(self) -> str:
        """The advice for this dependency."""
        if not self.name:
            return "name what blocks it: `blocked_by:` in the executor's report, or `depends_on:` in the task"
        if self.row is None:
            return f"{self.name} is no task of this project: resolve it, then report again"
        if self.is_complete:
            return f"{self.name} is complete: the state is inconsistent, look into what is missing"
        return f"{self.name} is {self.row.status}: queue it first: {self.command}"


def find_dependency(verification: Verification, overview: Overview) -> Dependency:
    """Return the dependency that blocks the task: from the executor's report or its error, else from the task."""
    result = {} if verification.report is None else verification.report.result
    others = [row for row in overview.rows if row.task != verification.task]
    error, named = str(result.get("error", "")), str(result.get("blocked_by", "")).strip()
    mentioned = [row.name for row in others if _speaks_of(error, row.name)]
    named = named or next(iter((*mentioned, *verification.spec.depends_on)), "")
    for row in others:
        if named and (named in (row.name, row.task) or _speaks_of(row.name, named)):
            return Dependency(name=row.name, row=row)
    return Dependency(name=named)


def _speaks_of(text: str, name: str) -> bool:
    """Return whether the text contains the task's name, or the part before its colon."""
    short = name.partition(":")[0].strip()
    return any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in {name, short} if each)


#: The text about each type of failure, as in the source document.
_FEEDBACK: Mapping[FailureType, str] = {
    FailureType.EXECUTION_FAILURE: "PREVIOUS ATTEMPT FAILED:\nError: {first}{fix}\n\n"
    "Please address this before retrying the task.",
    FailureType.VERIFY_FAILURE: "VERIFICATION FAILED:\nCommand: {command}\nExit code: {code}\n\nFAILURES:\n{listed}\n\n"
    "Please fix the failing tests and re-verify.",
    FailureType.ARCHITECT_REJECTION: "ARCHITECT REJECTED:\n\nIssues found:\n{numbered}\n\n"
    "Please address these concerns and re-submit.",
    FailureType.BLOCKED: "BLOCKED:\n{error}\n\nBLOCKING DEPENDENCY: {dependency}\n{way}",
    FailureType.TIMEOUT: "TIMEOUT:\n{error}\n\nPARTIAL PROGRESS:\n{progress}\n\nOptions:\n"
    "1. Retry with an extended time-out: up to {most:g} s for the {step} step, {minutes:g} minutes for the whole gate\n"
    "2. Manual intervention: find out what takes so long\n"
    "3. Skip with a warning: phase-gate verify skip, by a person",
    FailureType.MALFORMED: "MALFORMED RESULT:\nThe {report} could not be read: {error}\n\n"
    "Please return it in the form that `phase-gate workflow schema {schema}` prints.{again}",
}


def explain_failure(session: TaskSession) -> str:
    """Return the text about the last failure for the next attempt; empty if there is none, or if it is fixed."""
    verification = session.verification()
    last = verification.last_failure
    if last is None or last.recovered or verification.status in FINISHED:
        return ""
    step, lines = STEPS[last.step], last.lines or (last.error,)
    first, _, rest = last.error.strip().partition("\n")
    found = find_dependency(verification, session.board.overview)
    report, schema = ("executor's result", "executor-result") if last.step == 1 else ("reviewer's verdict", "verdict")
    again = "\n\nThis happened before: flagged for manual review." if needs_manual_review(verification) else ""
    return _FEEDBACK[last.type].format(
        first=first,
        fix=f"\n\nSUGGESTED FIX: {' '.join(rest.split())}" if rest.strip() else "",
        error=last.error.strip(),
        command=verification.spec.verify,
        code="none" if last.exit_code is None else last.exit_code,
        listed="\n".join(f"- {line}" for line in lines),
        progress="\n".join(f"- {line}" for line in last.lines) or "none was seen",
        numbered="\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1)),
        dependency=found.name or "not named",
        way=found.way,
        most=MAX_TIMEOUTS[step],
        step=step,
        minutes=GATE_TIMEOUT / 60,
        report=report,
        schema=schema,
        again=again,
    )


# --- the prompt for the executor of a verify task: the task, the last failure, and the form of the report


def write_executor_prompt(session: TaskSession, *, answer: str = "") -> str:
    """Return the prompt.

    :param answer: the file to write the report to; empty to print it.
    """
    verification, failed = session.verification(), explain_failure(session)
    spec = verification.spec
    rows = [
        "You execute one task. Do it, run its verify command, report, then stop.",
        "Your report is a claim: the verify command is run again for you, and a reviewer looks at what you changed.",
        "\n# Task\n",
        f"name: {show_line(spec.name)}",
        f"files that may change: {show_line(', '.join(spec.files))}",
        f"verify command: {show_line(spec.verify)}",
        f"action:\n{_quote(show_text(spec.action))}",
        f"done when:\n{_quote(show_text(spec.done))}\n",
        "Change no other file, do not commit, and leave the tests that are there as strict as they are.\n",
    ]
    if verification.guidance:
        rows += ["# Instructions from a person\n", *(show_line(each) for each in verification.guidance), ""]
    if failed:
        rows += ["# What failed last time\n", _quote(show_text(failed)), ""]
    if verification.status not in FINISHED:
        form = {
            "status": "success",
            "task_name": spec.name,
            "files_modified": ["..."],
            "verification": {"command": spec.verify, "exit_code": 0, "output_summary": "{summary}"},
            "done_criteria_met": True,
            "evidence": "{description}",
        }
        where = f"write this, filled in, as YAML alone into\n`{answer}`:" if answer else "print this as YAML alone:"
        rows += [
            f"# Report\n\nWhen you are done, {where}\n",
            textwrap.indent(_block(form), "    "),
            "\nstatus is success, failure or blocked; failure and blocked need `error:`, and blocked may name a task",
            "in `blocked_by:`. Write what fixed an earlier failure into `resolution:`.\n",
        ]
    return "\n".join(rows)


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
    changes = session.changes(state, tree)
    diff = read_diff(session.project.root, session.memory(verification), changes.own)
    return {
        "task": to_json(verification.spec),
        "guidance": list(verification.guidance),
        "feedback": explain_failure(session),
        "executor_result": {name: each for name, each in verification.report.result.items() if each},
        "verify": evidence_chain(verification, session.output(verification))["verify"],
        "weak_because": [*verification.weak_because, *(() if verification.review else changes.weak_because)],
        "changed_files": list(changes.changed),
        "unlisted_files": list(changes.unlisted),
        "commits": list(changes.commits),
        "commits_of_others": list(changes.foreign_commits),
        "fresh": check.after == tree.digest,
        "diff": diff,
        "checks": list(CHECKS),
        "verdict_form": {
            "verdict": "APPROVED | REJECTED",
            "task_name": verification.name,
            "confidence": "HIGH | MEDIUM | LOW",
            "findings": ["what was looked at, and what was found"],
            "concerns": [],
            "recommendation": "commit | retry | manual_review",
            "evidence": check.id,
        },
    }


def render_bundle(document: Mapping[str, Any]) -> str:
    """Return the bundle for a reviewer to read."""
    verify = dict(document["verify"])
    output = str(verify.pop("output")).rstrip()
    files = ("changed_files", "unlisted_files", "commits", "commits_of_others", "fresh")
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
        "To be checked": document["checks"],
        "Verdict, to be filled in: phase-gate verify review FILE --by NAME": document["verdict_form"],
    }
    return "\n".join(
        f"# {heading}\n{_quote(value) if isinstance(value, str) else _block(value)}"
        for heading, value in sections.items()
        if value
    )


def _quote(text: str) -> str:
    """Return a text whose lines can't be mistaken for one of our headings."""
    return "\n".join(f"| {line}" for line in text.splitlines())


def _block(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)).rstrip()
