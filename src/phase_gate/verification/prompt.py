"""What the executor of a verify task is told: the task, what failed before, and the form of its report. Read-only."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.verification.board import TaskSession
from phase_gate.verification.feedback import feedback
from phase_gate.verification.model import FINISHED, Verification
from phase_gate.visible import show_line, show_text


def write_executor_prompt(session: TaskSession, *, answer: str = "") -> str:
    """Return the prompt.

    :param answer: the file that the report belongs into; empty: it is printed.
    """
    verification = session.verification()
    changed = session.changed_since_failure(verification)
    said = feedback(verification, changed=changed, overview=session.board.overview)
    rows = [*_tell_task(verification)]
    if said:
        rows += ["# What failed last time", "", show_text(said), ""]
    if verification.status not in FINISHED:
        rows += _tell_form(verification, answer)
    return "\n".join(rows)


def _tell_task(verification: Verification) -> Iterator[str]:
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
    yield show_text(spec.action.strip())
    yield "done when:"
    yield show_text(spec.done.strip())
    yield ""
    yield "Change no other file, do not commit, and leave the tests that are there as strict as they are."
    yield ""


def _tell_form(verification: Verification, answer: str) -> Iterator[str]:
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
    yield "`blocked_by:`. What mended an earlier failure stands in `resolution:`."
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
