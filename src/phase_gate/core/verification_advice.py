"""What a verdict on a task of the verification gate says to people: one sentence, and the next command to type.

Pure. Part of the evaluation, so that panel, JSON, `check` and `status` say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phase_gate.core.verification import FailureType, Status, Verification
from phase_gate.core.verification_rules import escalate, retries_left
from phase_gate.gate.advice import Advice
from phase_gate.gate.runs import count

if TYPE_CHECKING:
    from phase_gate.gate.evaluation import Evaluation


def command(words: str, task: str) -> str:
    """Return what to type about a task."""
    return f"phase-gate {words} --task {task}"


def advise_task(verification: Verification, evaluation: Evaluation | None = None) -> Advice:
    """Return reason and next step for a task as it stands."""
    task, status = verification.spec.slug, verification.status
    if status is Status.PENDING:
        return Advice("it waits for its executor", command("verify executor FILE", task))
    if status is Status.EXECUTING:
        return Advice(
            f"attempt {verification.attempt}: it waits for the executor's report", command("verify executor FILE", task)
        )
    if status is Status.VERIFYING:
        return _verifying(verification)
    if status is Status.REVIEWING:
        return _reviewing(verification, evaluation)
    if status is Status.BLOCKED:
        assert verification.report is not None
        return Advice(f"blocked: {_first_line(verification.report.result['error'])}", command("verify feedback", task))
    if status is Status.APPROVED:
        return _approved(verification)
    if status is Status.SKIPPED:
        assert verification.skip is not None
        skip = verification.skip
        return Advice(
            f"{verification.word} by {skip.by}: {skip.reason}", "commit it yourself: the gate did not see it pass"
        )
    return _failed(verification)


def _verifying(verification: Verification) -> Advice:
    check = verification.check
    following = command("verify run", verification.spec.slug)
    if check is None:
        return Advice("the executor reports success; the verify command has to show it", following)
    if check.how == "running":
        return Advice(f"the verify command runs since {check.at}", command("verify status", verification.spec.slug))
    return Advice(f"the verify command did not end by itself ({check.how}): {check.why}", following)


def _reviewing(verification: Verification, evaluation: Evaluation | None) -> Advice:
    task = verification.spec.slug
    if evaluation is not None and not evaluation.gate_1.satisfied:
        for guard in evaluation.gate_1.guards:
            if not guard.holds:
                named = [each.place or each.detail for each in evaluation.findings if each.belongs_to(guard.name)]
                shown = f" ({', '.join(named[:3])})" if named else ""
                return Advice(f"go on: {guard.name}: {guard.detail}{shown}", guard.remedy)
    return Advice(
        f"Gate 1 holds; Gate 2 waits for the reviewer: {command('review FILE --by NAME', task)}",
        command("verify bundle", task),
    )


def holds_back(verification: Verification) -> str:
    """Say why an approved task is not committed by us; empty if it is."""
    assert verification.review is not None
    verdict = verification.review.verdict
    if verdict["confidence"] == "LOW":
        return "the reviewer's confidence is LOW"
    if verdict["recommendation"] != "commit":
        return f"the reviewer recommends {verdict['recommendation']}"
    return ""


def _approved(verification: Verification) -> Advice:
    assert verification.review is not None
    weak = " (weak)" if verification.weak_because else ""
    said = f"both gates hold: approved by {verification.review.by}{weak}"
    if verification.commit:
        return Advice(f"{said}, committed as {verification.commit[:10]}", "phase-gate verify status")
    why = holds_back(verification)
    if why:
        return Advice(f"{said}, but {why}: manual review", "look at it, and commit it yourself")
    return Advice(said, command("verify commit", verification.spec.slug))


def _failed(verification: Verification) -> Advice:
    task, last = verification.spec.slug, verification.last_failure
    assert last is not None
    said = f"{last.type}: {_first_line(last.error)}"
    escalation = escalate(verification)
    if escalation.level >= 2:
        return Advice(
            f"stop: {escalation.reason}; {said}",
            command('verify resume --reason "..." --by NAME', task),
        )
    left = retries_left(verification)
    tries = f"{count(left, 'more attempt')} before a person is asked"
    if last.type is FailureType.TIMEOUT:
        return Advice(f"{said}; {tries}, with more time and after 30 s", command("verify executor FILE", task))
    return Advice(f"{said}; {tries}", command("verify feedback", task))


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:200] if lines else ""
