"""The verdict on a task of the verification gate: its metrics, its findings, and both gates.

Pure. Gate 1 is what executor and verify command gave in this attempt, Gate 2 the reviewer's word.
"""

from __future__ import annotations

from phase_gate.core.verification import Status, Verification
from phase_gate.core.verification_advice import advise_task
from phase_gate.gate.evaluation import Evaluation, Subject, evaluate
from phase_gate.gate.findings import Finding, cap_findings
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import State
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase, Workflow


class Look(Value):
    """What was seen of the project at one moment."""

    tree: str
    #: Files that changed since the task was taken, as git shows it; None if that can't be told.
    changed: tuple[str, ...] | None = None
    #: Those of them that are this task's, or nobody's.
    own: tuple[str, ...] = ()
    #: Those of them that neither this task lists nor another one that is being worked on.
    unlisted: tuple[str, ...] | None = None
    #: New files that nobody lists and git does not track: outputs mostly. Shown to the reviewer.
    untracked: tuple[str, ...] = ()
    #: Changes that belong to other tasks, with those.
    theirs: tuple[tuple[str, str], ...] = ()
    #: Commits of this task's files that the gate did not make; and what takes them back, where something does.
    commits: tuple[str, ...] = ()
    undo: str = ""

    @property
    def weak_because(self) -> tuple[str, ...]:
        """Why a pass would be a weak one, as things are."""
        return (f"committed before it was approved: {self.commits_shown}",) if self.commits else ()

    @property
    def commits_shown(self) -> str:
        more = f" and {len(self.commits) - 3} more" if len(self.commits) > 3 else ""
        return ", ".join(commit[:10] for commit in self.commits[:3]) + more


def verification_values(verification: Verification, look: Look) -> dict[str, MetricValue]:
    """Return what the records of the present attempt give; a name that is missing is unknown."""
    values: dict[str, MetricValue] = {"attempt": verification.attempt}
    if verification.report is not None:
        values["executor_status"] = str(verification.report.result["status"])
        values["done_criteria_met"] = bool(verification.report.result["done_criteria_met"])
    check = verification.check
    values["verify_ran"] = check is not None and check.has_ended
    if check is not None and check.has_ended:
        values["verify_fresh"] = check.after == look.tree
        values["verify_problems"] = len(check.problems)
        if check.exit_code is not None:
            values["verify_exit_code"] = check.exit_code
        if check.tests is not None:
            values["verify_tests"] = check.tests
    if look.unlisted is not None:
        values["files_unlisted"] = len(look.unlisted)
    return values


def judge(
    state: State, workflow: Workflow, phase: Phase, reading: Reading, look: Look, *, at: str, root: str
) -> Evaluation:
    """Return the verdict on the task as it stands: each step that somebody takes is an iteration."""
    verification = state.verification
    assert verification is not None
    iteration = state.iteration + 1
    subject = Subject.about(
        state,
        phase,
        iteration=iteration,
        run=None,
        at=at,
        root=root,
        kind="no run",
    )
    evaluation = evaluate(
        workflow,
        phase,
        subject,
        metrics={
            "iteration": iteration,
            "signals_premature": state.signals_premature,
            **verification_values(verification, look),
        },
        facts=state.facts,
        reading=reading,
        findings=cap_findings(_findings(verification, look)),
        notes=_notes(verification, look),
        waivers=state.waivers,
        overrides=state.overrides,
    )
    # What the phase's exit, which follows at once, makes of it.
    decided = replace(verification, status=Status.APPROVED) if evaluation.can_exit else verification
    advice = advise_task(decided, evaluation)
    return replace(evaluation, reason=advice.reason, next=advice.next)


def _findings(verification: Verification, look: Look) -> list[Finding]:
    found = [
        Finding(slug="files-listed", tier="hard", file=path, detail="it changed, and the task does not list it")
        for path in look.unlisted or ()
    ]
    check = verification.check
    if check is not None:
        found += [
            Finding(slug="verify-proves", tier="hard", id=slug, detail=text, proof=check.id)
            for slug, text in check.problems
        ]
        found += [
            Finding(slug="tests-unchanged", tier="advisory", id=test, file=test.partition("::")[0], detail=text)
            for test, text in check.altered
        ]
        if check.has_ended and check.after != look.tree:
            detail = f"verified was {check.after[:16]}, there is {look.tree[:16]}"
            found.append(Finding(slug="verify-fresh", tier="hard", detail=detail))
    return found


def _notes(verification: Verification, look: Look) -> tuple[str, ...]:
    notes = [f"changed by another task: {path} ({task})" for path, task in look.theirs[:5]]
    if look.commits and verification.review is None:
        undo = f": `{look.undo}` takes that back and keeps the files" if look.undo else ""
        notes.append(f"committed before it was approved, which makes the pass weak: {look.commits_shown}{undo}")
    if look.untracked:
        shown = ", ".join(look.untracked[:5])
        more = f" and {len(look.untracked) - 5} more" if len(look.untracked) > 5 else ""
        notes.append(f"new files that the task does not list and git does not track: {shown}{more}")
    report, check = verification.report, verification.check
    claimed = {} if report is None else report.result.get("verification", {})
    # A claim of another code than 0 is said among what makes the pass weak.
    if check is not None and check.exit_code and claimed.get("exit_code") == 0:
        notes.append(f"the executor claims exit code {claimed['exit_code']}; measured, it is {check.exit_code}")
    if look.changed is not None and report is not None:
        missing = sorted(set(report.result.get("files_modified", ())) - set(look.changed))
        if missing:
            notes.append(f"the executor names files that did not change: {', '.join(missing[:5])}")
    return (*notes, *(f"weak: {why}" for why in verification.weak_because))
