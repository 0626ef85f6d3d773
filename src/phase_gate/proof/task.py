"""The proof of a task: what it is made from, what it says to the gate, and the event that records it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from phase_gate.codec import from_json, spell_out, to_json
from phase_gate.errors import NotAllowedError
from phase_gate.evidence import gathering
from phase_gate.gate.findings import Finding, cap_findings
from phase_gate.gate.inventory import split_id
from phase_gate.gate.judging import evaluate_again
from phase_gate.gate.measuring import GUARD, say_no_proof, wants_proof
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import Event, ProofRecord, State
from phase_gate.proof.base import prove_against
from phase_gate.proof.experiment import is_objection
from phase_gate.proof.making import make_proof
from phase_gate.proof.model import MEANINGS, UNPROVEN, Proof, TargetProof, say_broken
from phase_gate.proof.trial import trial_of
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase

#: Of these nothing is to be said: other guards judge skips, and a note counts them.
_UNSAID = ("proven", "no-change", "skipped")


def prove(
    task: Task,
    phase: Phase,
    *,
    files: Mapping[str, str],
    tree: str,
    iteration: int,
    at: str,
    show: Callable[[str], None] = lambda text: None,
) -> Event | None:
    """Make the proof that a phase wants before it exits, and return the event that records it; None: it is off.

    :param files: path -> content id, of the files as they are.
    :param tree: their digest, as the run left them.
    """
    settings = task.project.configuration.proof
    if settings.mode == "off":
        return None
    proof = _make(task, phase, files, tree, seconds=settings.seconds, at=at, show=show)
    record = record_of(proof, task, tree=tree, iteration=iteration, required=settings.mode == "required")
    return Event(kind="proved", data={"proof": to_json(record)}, at=at)


def _make(
    task: Task,
    phase: Phase,
    files: Mapping[str, str],
    tree: str,
    *,
    seconds: float,
    at: str,
    show: Callable[[str], None],
    keep_in: Path | None = None,
) -> Proof:
    """Return the proof against RED; without a RED against the revision that the project names, if it names one."""
    base = task.project.configuration.proof.base
    if base and not task.state.freeze.red_exited:
        return prove_against(task.project.root, base, files, seconds=seconds, show=show, keep_in=keep_in)
    trial = trial_of(task, phase, files, at=at)
    if isinstance(trial, Proof):
        return trial
    return make_proof(replace(trial, seconds=seconds, took=_took_outside(task.state, tree)), show=show, keep_in=keep_in)


def _took_outside(state: State, tree: str) -> float | None:
    """Return how long the targets took in the last run, if that passed on these files."""
    measured = state.measurement
    if measured is None or measured.tree != tree or measured.measured.metrics.get("tests_failing") != 0:
        return None
    return measured.targets_s


def record_of(proof: Proof, task: Task, *, tree: str, iteration: int, required: bool) -> ProofRecord:
    """Return what the gate knows of a proof; all of it is stored as an object."""
    state: State = task.state
    metrics, findings = metrics_of(proof, required=required), findings_of(proof, required=required)
    weakened = _weakened(task) if required or task.store.is_driven() else ()
    metrics["proof_objections"] = int(metrics["proof_objections"] or 0) + len(weakened)
    return ProofRecord(
        tree=tree,
        freeze=state.freeze.current,
        object=task.store.keep("proof", spell_out(proof)),
        iteration=iteration,
        metrics=metrics,
        findings=cap_findings((*findings, *weakened)),
        notes=(*proof.notes, *_note_problem(proof, task, required=required)),
        problem=proof.problem,
    )


def _weakened(task: Task) -> tuple[Finding, ...]:
    """Return what RED did to older tests, as objections that close the gate."""
    frozen = task.store.objects.load_frozen(task.state.freeze.current)
    found = () if frozen is None else frozen.weakened
    return tuple(replace(each, slug=GUARD, guard=GUARD, tier="hard") for each in found)


def _note_problem(proof: Proof, task: Task, *, required: bool) -> tuple[str, ...]:
    """Say why there is no proof, unless a finding says it, or the verdict says already that RED was never seen."""
    is_said = required or not (task.state.freeze.red_exited or task.project.configuration.proof.base)
    return () if not proof.problem or is_said else (say_no_proof(proof.problem),)


def metrics_of(proof: Proof, *, required: bool) -> dict[str, MetricValue]:
    """Return the metrics. Of a proof that could not be made, only whether it keeps the gate closed."""
    if proof.problem:
        return {"proof_objections": int(required)}
    return {
        "targets_proven": proof.count("proven"),
        "targets_disproven": sum(each.is_disproven for each in proof.targets),
        "targets_vacuous": proof.count("checks-nothing"),
        "targets_unproven": proof.count(*UNPROVEN),
        "functions_changed": sum(not each.left_out for each in proof.functions),
        "functions_unnoticed": len(proof.unnoticed),
        "proof_has_control": proof.has_control,
        "proof_objections": sum(is_objection(each, required=required) for each in proof.targets),
    }


def findings_of(proof: Proof, *, required: bool) -> Iterator[Finding]:
    """Yield what is to be said of targets and functions: objections, and advice."""
    yield from (_finding(each, required=required) for each in proof.targets if each.verdict not in _UNSAID)
    for each in proof.targets:
        advice = Finding(
            slug="check-never-fails",
            tier="advisory",
            id=each.id,
            file=split_id(each.id)[0],
            line=each.line,
            detail=each.advice,
        )
        if each.worked_with:
            yield replace(advice, slug=GUARD, line=None, detail=say_broken(each))
        if each.advice:
            yield advice
    for function in proof.unnoticed:
        detail = f"{function.name} can do nothing, and no target notices: check what it returns or changes"
        yield Finding(slug="function-unnoticed", tier="advisory", file=function.file, line=function.line, detail=detail)
    if proof.problem and required:
        yield Finding(slug=GUARD, tier="hard", detail=f"no proof could be made: {proof.problem}")


def _finding(target: TargetProof, *, required: bool) -> Finding:
    closes = is_objection(target, required=required)
    said = f": {target.why}" if target.why else ""
    return Finding(
        slug=GUARD if closes or target.verdict != "checks-nothing" else "checks-nothing",
        guard=GUARD,
        tier="hard" if closes else "advisory",
        id=target.id,
        file=split_id(target.id)[0],
        line=target.line if target.verdict == "cannot-fail" else None,
        detail=f"{MEANINGS[target.verdict]}{said}",
    )


def load_proof(task: Task) -> Proof | None:
    """Return the last proof of the present phase; None if none was made."""
    record = task.state.proof
    return None if record is None else from_json(Proof, task.store.objects.load(record.object))


@again_if_moved
def prove_now(
    task: Task,
    *,
    at: str,
    show: Callable[[str], None] = lambda text: None,
    seconds: float | None = None,
    keep_in: Path | None = None,
) -> Proof:
    """Make the proof of the present phase by hand, and record it. Raises NotAllowedError where there is none to make.

    :param seconds: processor time that a run may take, where that is not what the project says.
    """
    state = task.state
    phase = task.rules.phase(state.phase or "")
    if phase is None or GUARD not in phase.gate_1.guards:
        raise NotAllowedError(
            f"{state.phase} has no proof: it speaks of targets that pass by now",
            remedy="go on to GREEN, or compare with a revision: phase-gate prove --base REV",
        )
    settings = task.project.configuration.proof
    if not state.freeze.red_exited and not settings.base:
        raise NotAllowedError(
            "RED was never seen in this cycle: there is nothing to compare with",
            remedy="compare with a revision: phase-gate prove --base REV",
        )
    tree = task.tree
    allowed = settings.seconds if seconds is None else seconds
    proof = _make(task, phase, tree.files, tree.digest, seconds=allowed, at=at, show=show, keep_in=keep_in)
    if proof.problem and not proof.starts:
        return proof  # there was nothing to try
    record = record_of(proof, task, tree=tree.digest, iteration=state.iteration, required=settings.mode == "required")
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.freeze.current == record.freeze and change.state.phase == state.phase:
            change.record(Event(kind="proved", data={"proof": to_json(record)}, at=at))
    return proof


def prove_before_exit(
    task: Task, reading: Reading, *, at: str, show: Callable[[str], None] = lambda text: None
) -> Event | None:
    """Make the proof that the last run's verdict wants with this signal; None where none is wanted."""
    state, measured = task.state, task.state.measurement
    phase = task.rules.phase(state.phase or "")
    if phase is None or measured is None or not reading.is_done or GUARD not in phase.gate_1.guards:
        return None
    if state.exited or task.tree.digest != measured.tree:
        return None
    evaluation = evaluate_again(state, task.rules, phase, reading, at=at, root=str(task.project.root))
    if not wants_proof(state, phase, evaluation, measured.tree):
        return None
    return gathering.prove(
        task, phase, files=task.tree.files, tree=measured.tree, iteration=measured.iteration, at=at, show=show
    )
