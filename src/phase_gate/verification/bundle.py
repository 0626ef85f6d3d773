"""What the reviewer of a verify task looks at, in one piece. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError
from phase_gate.verification.board import TaskSession, require_verification
from phase_gate.verification.model import Check, Verification
from phase_gate.verification.result import evidence_chain
from phase_gate.verification.texts import render_diff

#: What the source document has the architect check.
CHECKS = (
    "the files modified match `files` of the task",
    "the implementation matches the intent of `action`",
    "the verify output shows actual success",
    "the `done` criteria are demonstrably met",
    "there are no unintended side effects",
)


def make_bundle(session: TaskSession) -> dict[str, Any]:
    """Return the bundle as a document. Raises NotAllowedError where there is nothing to review yet."""
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
    # Files with tests come first: no flood of other lines may hide what became of them.
    diff = render_diff(
        session.text_changes(verification, changes.own), first={test.partition("::")[0] for test, _ in check.altered}
    )
    return {
        "task": to_json(verification.spec),
        "executor_result": session.store.objects.load(verification.report.kept),
        "verify": evidence_chain(verification, session.output(verification))["verify"],
        "weak_because": [*verification.weak_because, *(() if verification.review else changes.weak_because)],
        "changed_files": list(changes.changed or ()),
        "unlisted_files": list(changes.unlisted or ()),
        "untracked_files": list(changes.untracked),
        "commits": list(changes.commits),
        "fresh": check.after == tree.digest,
        "altered_tests": [{"test": test, "what": text} for test, text in check.altered],
        "diff": "\n".join(diff.lines),
        "diff_left_out": list(diff.left_out),
        "checks": list(CHECKS),
        "verdict_form": _form(verification, check),
    }


def _form(verification: Verification, check: Check) -> dict[str, Any]:
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
    files = ("changed_files", "unlisted_files", "untracked_files", "commits", "fresh")
    parts = [
        "# 1. Task",
        _block(document["task"]),
        "# 2. Executor result",
        _block(document["executor_result"]),
        "# 3. Verify command",
        _block(verify),
        "# Output",
        _quote(output.splitlines()),
        "# Changed files, from git",
        _block({name: document[name] for name in files}),
    ]
    if document["weak_because"]:
        parts += ["# Makes the pass a weak one", _block(document["weak_because"])]
    if document["altered_tests"]:
        rows = [f"{row['test']}: {row['what']}" for row in document["altered_tests"]]
        parts += ["# Tests that were there, and are not what they were", _block(rows)]
    parts += ["# Diff since the task was taken", _quote(str(document["diff"]).splitlines())]
    if document["diff_left_out"]:
        parts += ["# Not in the diff", _block(document["diff_left_out"])]
    parts += ["# To be checked", _block(document["checks"])]
    parts += ["# Verdict, to be filled in: phase-gate verify review FILE --by NAME", _block(document["verdict_form"])]
    return "\n".join(parts)


def _quote(lines: Iterable[str]) -> str:
    """Return lines that can't be taken for a heading of ours."""
    return "\n".join(f"| {line}" for line in lines)


def _block(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)).rstrip()
