"""The verdict on a verify task: its metrics, its findings, and both gates.

Pure. Gate 1 is the result of executor and verify command in this attempt, Gate 2 the reviewer's verdict.
"""

from __future__ import annotations

from collections.abc import Collection

from phase_gate.errors import NotAllowedError
from phase_gate.gate.judging import evaluate_without_run
from phase_gate.gate.measured import Finding, Measured, cap_findings, covered_by
from phase_gate.gate.state import Case, State
from phase_gate.gate.verdict import Evaluation, Verdict
from phase_gate.tasks.changes import TaskChanges
from phase_gate.tasks.rules import escalate, free_command, retries_left
from phase_gate.tasks.work import FailureType, Status, Verification, find_verification
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import MetricValue

#: The guard of the files that a task may change.
FILES_LISTED = "files-listed"


def verification_values(verification: Verification, changes: TaskChanges) -> dict[str, MetricValue]:
    """Return the metrics from the records of the current attempt. A missing metric is unknown."""
    values: dict[str, MetricValue] = {"attempt": verification.attempt}
    if verification.report is not None:
        values["executor_status"] = str(verification.report.result["status"])
        values["done_criteria_met"] = bool(verification.report.result["done_criteria_met"])
    check = verification.check
    values["verify_ran"] = check is not None and check.has_ended
    if check is not None and check.has_ended:
        values["verify_fresh"] = check.after == changes.tree
        values["verify_problems"] = len(check.problems)
        if check.exit_code is not None:
            values["verify_exit_code"] = check.exit_code
        if check.tests is not None:
            values["verify_tests"] = check.tests
    values["files_unlisted"] = len(changes.unlisted)
    return values


def judge(case: Case, changes: TaskChanges) -> Evaluation:
    """Return the verdict on the task's current state. Each step of executor, command or reviewer is an iteration."""
    verification = find_verification(case.state)
    assert verification is not None, "only a verify task has steps"
    seen = Measured(
        metrics=verification_values(verification, changes),
        findings=tuple(_findings(verification, changes)),
        notes=_notes(verification, changes),
    )
    return evaluate_without_run(case, {"verification": seen}, tree=changes.tree)


def _findings(verification: Verification, changes: TaskChanges) -> list[Finding]:
    found = _unlisted(changes)
    check = verification.check
    if check is not None:
        found += [
            Finding(slug="verify-proves", tier="hard", id=slug, detail=text, proof=check.id)
            for slug, text in check.problems
        ]
        if check.has_ended and check.after != changes.tree:
            detail = f"verified was {check.after[:16]}, there is {changes.tree[:16]}"
            found.append(Finding(slug="verify-fresh", tier="hard", detail=detail))
    return found


def is_unlisted(state: State, changes: TaskChanges, *, at: str) -> bool:
    """Return whether a file was changed that the task does not list, and that no waiver covers."""
    found = cap_findings(_unlisted(changes))
    return bool(found) and not covered_by(state.waivers, FILES_LISTED, found, at=at)


def waived_files(state: State, changes: TaskChanges, *, at: str) -> tuple[str, ...]:
    """Return the unlisted files that a person waived: they are part of the work."""
    return tuple(each.file for each in _unlisted(changes) if covered_by(state.waivers, FILES_LISTED, (each,), at=at))


def _unlisted(changes: TaskChanges) -> list[Finding]:
    return [
        Finding(slug=FILES_LISTED, tier="hard", file=path, detail="it changed, but the task does not list it")
        for path in changes.unlisted
    ]


def _notes(verification: Verification, changes: TaskChanges) -> tuple[str, ...]:
    notes = []
    if changes.commits and verification.review is None:
        notes.append(f"committed before it was approved, which makes the pass weak: {changes.commits_shown}")
    if changes.foreign_commits:
        shown = name_first(commit[:10] for commit in changes.foreign_commits)
        notes.append(f"made by others since the task was taken: {shown}")
    report, check = verification.report, verification.check
    claimed = {} if report is None else report.result.get("verification", {})
    # A claim of another code than 0 is reported with the reasons for a weak pass.
    if check is not None and check.exit_code and claimed.get("exit_code") == 0:
        notes.append(f"the executor claims exit code {claimed['exit_code']}; measured, it is {check.exit_code}")
    if report is not None:
        missing = sorted(set(report.result.get("files_modified", ())) - set(changes.changed))
        if missing:
            notes.append(f"the executor names files that did not change: {', '.join(missing[:5])}")
    return tuple(notes)


# --- the text of a verdict on a verify task: one sentence, and the next command to type


def require_status(verification: Verification, statuses: Collection[Status], otherwise: str) -> None:
    """Refuse a step that the task's status does not allow. Raises NotAllowedError.

    :param otherwise: the explanation for every other status.
    """
    if verification.status not in statuses:
        problem = f"{verification.task} is {verification.word}: {otherwise}"
        raise NotAllowedError(problem, remedy=advise_task(verification).next_step)


def advise_task(verification: Verification, evaluation: Evaluation | None = None) -> Verdict:
    """Return reason and next step for a task in its current status."""
    last, named = verification.last_failure, f"--task {verification.task}"
    match verification.status:
        case Status.PENDING:
            return Verdict("waiting", "it waits for its executor", f"phase-gate verify start {named}")
        case Status.EXECUTING:
            reason = f"attempt {verification.attempt}: it waits for the executor's report"
            free = free_command(verification)
            hint = f"phase-gate verify executor FILE {named}" + (f"; if its worker is gone: {free}" if free else "")
            return Verdict("waiting", reason, "", hint)
        case Status.VERIFYING:
            return _verifying(verification, evaluation)
        case Status.REVIEWING:
            return _reviewing(verification, evaluation)
        case Status.BLOCKED:
            assert last is not None
            return Verdict("needs-person", f"blocked: {last.first_line}", f"phase-gate verify show {named}")
        case Status.APPROVED:
            return _approved(verification)
        case Status.SKIPPED:
            skip = verification.skip
            assert skip is not None
            hint = "commit it yourself: the gate did not see it pass"
            return Verdict("open", f"{verification.word} by {skip.by}: {skip.reason}", "", hint)
    return _failed(verification)


def _verifying(verification: Verification, evaluation: Evaluation | None) -> Verdict:
    check, named = verification.check, f"--task {verification.task}"
    if unlisted := _unmet_guard(verification.task, evaluation, (FILES_LISTED,)):
        return unlisted
    if check is not None and check.how == "running":
        reason = f"the verify command is running since {check.at}"
        return Verdict("running", reason, f"phase-gate verify status {named}")
    reason = "the executor reports success; the verify command has to confirm it"
    if check is not None:
        reason = f"the verify command did not end by itself ({check.how}): {check.why}"
    return Verdict("waiting", reason, f"phase-gate verify run {named}")


def _reviewing(verification: Verification, evaluation: Evaluation | None) -> Verdict:
    if unmet := _unmet_guard(verification.task, evaluation):
        return unmet
    last, again = verification.last_failure, f"phase-gate verify review FILE --by NAME --task {verification.task}"
    if last is not None and last.type is FailureType.MALFORMED and last.step == 3 and not last.recovered:
        reason = f"{last.type}: {last.first_line}; the other two steps remain valid"
        return Verdict("waiting", reason, "", f"write it by `phase-gate workflow schema verdict`, then {again}")
    reason = f"Gate 1 is open; Gate 2 waits for the reviewer: {again}"
    return Verdict("waiting", reason, f"phase-gate verify show --task {verification.task}")


def _unmet_guard(task: str, evaluation: Evaluation | None, names: Collection[str] = ()) -> Verdict | None:
    """Return a verdict for the first unmet guard, or for the first one among these names; None if all are met."""
    findings, guards = ((), ()) if evaluation is None else (evaluation.findings, evaluation.gate_1.guards)
    for guard in guards:
        if guard.passes or (names and guard.name not in names):
            continue
        named = [each.place or each.detail for each in findings if each.belongs_to(guard.name)]
        shown = f" ({', '.join(named[:3])})" if named else ""
        hint = guard.remedy
        if guard.name == FILES_LISTED:
            waive = f'phase-gate waive {FILES_LISTED} --task {task} --reason "..." --by NAME'
            hint = f"undo the change; or have a person waive it: {waive}"
        return Verdict("closed", f"{guard.name}: {guard.detail}{shown}", "", hint)
    return None


def holds_back(verification: Verification) -> str:
    """Return why phase-gate does not commit an approved task; empty if it does."""
    assert verification.review is not None
    verdict = verification.review.said
    if verdict["confidence"] == "LOW":
        return "the reviewer's confidence is LOW"
    if verdict["recommendation"] != "commit":
        return f"the reviewer recommends {verdict['recommendation']}"
    return ""


def _approved(verification: Verification) -> Verdict:
    assert verification.review is not None
    weak = " (weak)" if verification.weak_because else ""
    reason = f"both gates are open: approved by {verification.review.by}{weak}"
    commit = f"phase-gate verify commit --task {verification.task}"
    if verification.commit:
        return Verdict("open", f"{reason}, committed as {verification.commit[:10]}", "phase-gate verify status")
    if why := holds_back(verification):
        hint = f"look at it, and commit it yourself, then {commit}"
        return Verdict("open", f"{reason}, but {why}: manual review", "", hint)
    return Verdict("open", reason, commit)


def _failed(verification: Verification) -> Verdict:
    last, named = verification.last_failure, f"--task {verification.task}"
    assert last is not None
    failure, escalation = f"{last.type}: {last.first_line}", escalate(verification)
    if escalation.level >= 2:
        hint = f'phase-gate verify resume --reason "..." --by NAME {named}'
        return Verdict("needs-person", f"{escalation.reason}; {failure}", "", hint)
    reason = f"{failure}; {count(retries_left(verification), 'more attempt')} before a person is asked"
    if last.type is FailureType.TIMEOUT:
        hint = f"phase-gate verify executor FILE {named}"
        return Verdict("failed", f"{reason}, with more time and after 30 s", "", hint)
    return Verdict("failed", reason, f"phase-gate verify show {named}")
