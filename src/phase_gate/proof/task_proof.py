"""The proof of a task: its inputs, its metrics and findings for the gate, and the event that records it.

It compares the current sources with the files, tests and options from the time when RED exited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from phase_gate.codec import from_json, spell_out, to_json
from phase_gate.errors import NotAllowedError
from phase_gate.evidence import gathering
from phase_gate.evidence.context import ignore
from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.gate.judging import evaluate_again
from phase_gate.gate.measured import Finding, cap_findings
from phase_gate.gate.measuring import GUARD, describe_missing_proof, wants_proof
from phase_gate.gate.state import Case, Event, ProofRecord, State
from phase_gate.gate.verdict import Signal
from phase_gate.proof.experiment import Show, make_proof
from phase_gate.proof.trial import Trial
from phase_gate.proof.verdicts import Proof, TargetProof, describe_broken
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.snapshots import FileSnapshot, files_at_cycle_start, hidden_sources
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase

#: Options of this plugin. A run in a sandbox belongs to no task.
_OUR_OPTIONS = ("--phase", "--exit-signal")


def prove(task: Task, phase: Phase, *, files: Mapping[str, str], at: str, show: Show = ignore) -> Event | None:
    """Make the proof that a phase requires before it exits. Return the event that records it, None if proofs are off.

    :param files: path -> content id of the files that the measured run left.
    """
    settings, measured = task.project.configuration.proof, task.state.measurement
    if settings.mode == "off" or measured is None:
        return None
    proof = _make(task, phase, files, measured.tree, seconds=settings.seconds, at=at, show=show)
    return _recorded(record_of(proof, task, tree=measured.tree, iteration=measured.iteration), at)


def prove_before_exit(task: Task, reading: Signal, *, at: str, show: Show = ignore) -> Event | None:
    """Make the proof if the last run's verdict requires one with this signal. Return None if it does not."""
    state, measured = task.state, task.state.measurement
    phase = task.rules.phase(state.phase or "")
    if phase is None or measured is None or not reading.is_done or GUARD not in phase.gate_1.guards:
        return None
    if state.exited or task.tree.digest != measured.tree:
        return None
    evaluation = evaluate_again(
        Case(state=state, workflow=task.rules, phase=phase, at=at, root=str(task.project.root), reading=reading)
    )
    if not wants_proof(state, phase, evaluation, measured.tree):
        return None
    return gathering.prove(task, phase, files=task.tree.files, at=at, show=show)


@again_if_moved
def prove_now(task: Task, *, at: str, show: Show = ignore, seconds: float | None = None) -> Proof:
    """Make and record the proof of the current phase on request. Raises NotAllowedError if the phase has no proof.

    :param seconds: the limit of a run. Default: the project's setting.
    """
    state, settings = task.state, task.project.configuration.proof
    phase = task.rules.phase(state.phase or "")
    base = "compare with a revision: phase-gate prove --base REV"
    if phase is None or GUARD not in phase.gate_1.guards:
        problem = f"{state.phase} has no proof: a proof is about targets that already pass"
        raise NotAllowedError(problem, remedy=f"continue to GREEN, or {base}")
    if not state.freeze.red_exited:
        raise NotAllowedError("RED was never seen in this cycle: there is nothing to compare with", remedy=base)
    tree, allowed = task.tree, settings.seconds if seconds is None else seconds
    proof = _make(task, phase, tree.files, tree.digest, seconds=allowed, at=at, show=show)
    record = record_of(proof, task, tree=tree.digest, iteration=state.iteration)
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        change.record(_recorded(record, at))
    return proof


def load_proof(task: Task) -> Proof | None:
    """Return the last proof of the current phase, or None."""
    record = task.state.proof
    return None if record is None else from_json(Proof, task.store.objects.load(record.object))


# --- the trial


def _make(
    task: Task, phase: Phase, files: Mapping[str, str], tree: str, *, seconds: float, at: str, show: Show
) -> Proof:
    """Return the proof against RED.

    :param at: the current time, because waivers expire.
    """
    state, objects = task.state, task.store.objects
    frozen = objects.load_frozen(state.freeze.current)
    if not state.freeze.red_exited or frozen is None or state.targets is None:
        return Proof(problem="RED was never seen in this cycle")
    remembered = state.memory.phase.get("proof")
    if remembered is None:
        return Proof(problem="the files of the phase before were not kept")
    measured = state.measurement
    has_passed = measured is not None and measured.tree == tree and measured.measured.metrics.get("tests_failing") == 0
    targets = sorted({bare_id(each) for each in objects.load(state.targets)})
    sources = {path for path, file in frozen.inventory.files.items() if file.is_source}
    then = from_json(FileSnapshot, objects.load(remembered))
    red = [each for each in task.rules.phases if each.tests == "failing"]
    trial = Trial(
        root=task.project.root,
        targets=tuple(targets),
        then=then,
        now={**files, **hidden_sources(files, task.tree.beside)},  # a step may change sources that git ignores
        frozen=frozenset({*frozen.inventory.files, *frozen.support} - sources),
        words=_words_of_red(task, {each.name for each in red}),
        sources_with_tests=frozenset({*sources, *frozen.pieces}),
        as_now=frozenset(finding.file for finding in _waived_findings(state, at) if finding.file),
        # In REFACTOR the targets also pass without the change, so there is no control.
        has_control=phase.name in {each.next for each in red},
        began=files_at_cycle_start(objects, state, task.project.root, files),
        seconds=seconds,
        took=measured.targets_s if measured is not None and has_passed else None,
    )
    return make_proof(trial, show=show)


def _waived_findings(state: State, at: str) -> Iterator[Finding]:
    """Yield the waived changes to tests. The sandboxes contain these tests in their current version."""
    keys = {key for waiver in state.waivers if waiver.is_in_force(at) for key in waiver.findings}
    for finding in () if state.measurement is None else state.measurement.measured.findings:
        if finding.key in keys and (finding.belongs_to("tests-unchanged") or finding.belongs_to("tests-kept")):
            yield finding


def _words_of_red(task: Task, phases: Collection[str]) -> tuple[str, ...]:
    """Return the command-line arguments of the last run of RED that the tests may need."""
    words: tuple[str, ...] = ()
    for line in task.store.lines():
        data = line.event.data
        if line.event.kind == "run-started" and data["phase"] in phases:
            words = kept_arguments(map(str, data.get("arguments", ())))
    return words


def kept_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """Return the command-line arguments without files and without options of this plugin.

    An argument after an option is kept, because it may be its value. A file does no harm, because only targets run.
    """
    found: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        value = [waiting.pop(0)] if word.startswith("-") and waiting and not waiting[0].startswith("-") else []
        if word.startswith("-") and word != "--" and not word.startswith(_OUR_OPTIONS):
            found += [word, *value]
    return tuple(found)


# --- the record for the gate


def _recorded(record: ProofRecord, at: str) -> Event:
    return Event(kind="proved", data={"proof": to_json(record)}, at=at)


def record_of(proof: Proof, task: Task, *, tree: str, iteration: int) -> ProofRecord:
    """Return the part of a proof that the gate needs. Store the whole proof as an object."""
    state, required = task.state, task.project.configuration.proof.mode == "required"
    weakened = _weakened(task) if required or task.store.is_driven() else ()
    metrics = metrics_of(proof, required=required)
    metrics["proof_objections"] = int(metrics["proof_objections"] or 0) + len(weakened)
    # The verdict shows by itself if RED was never seen.
    is_noted = proof.problem and state.freeze.red_exited
    return ProofRecord(
        tree=tree,
        freeze=state.freeze.current,
        object=task.store.keep("proof", spell_out(proof)),
        iteration=iteration,
        metrics=metrics,
        findings=cap_findings((*findings_of(proof, required=required), *weakened)),
        notes=(*proof.notes, *([describe_missing_proof(proof.problem)] if is_noted else [])),
        problem=proof.problem,
    )


def _weakened(task: Task) -> tuple[Finding, ...]:
    """Return the older tests that RED weakened, as findings that close the gate."""
    frozen = task.store.objects.load_frozen(task.state.freeze.current)
    found = () if frozen is None else frozen.weakened
    return tuple(replace(each, slug=GUARD, guard=GUARD, tier="hard") for each in found)


def metrics_of(proof: Proof, *, required: bool) -> dict[str, MetricValue]:
    """Return the metrics. If no proof could be made, only whether that keeps the gate closed."""
    if proof.problem:
        return {"proof_objections": int(required)}
    return {
        "targets_proven": proof.count("proven"),
        "targets_disproven": sum(each.is_disproven for each in proof.targets),
        "targets_vacuous": proof.count("checks-nothing"),
        "targets_unproven": sum(each.has("open") for each in proof.targets),
        "functions_changed": sum(not each.left_out for each in proof.functions),
        "functions_unnoticed": len(proof.unnoticed),
        "proof_has_control": proof.has_control,
        "proof_objections": sum(each.closes(required=required) for each in proof.targets),
    }


def findings_of(proof: Proof, *, required: bool) -> Iterator[Finding]:
    """Yield findings about targets and functions: objections and advice."""
    yield from (_finding(each, required=required) for each in proof.targets if not each.has("silent"))
    for each in proof.targets:
        if each.worked_with:
            file, detail = split_id(each.id)[0], describe_broken(each)
            yield Finding(slug=GUARD, tier="advisory", id=each.id, file=file, detail=detail)
    for function in proof.unnoticed:
        detail = f"{function.name} can do nothing, and no target notices: check what it returns or changes"
        yield Finding(slug="function-unnoticed", tier="advisory", file=function.file, line=function.line, detail=detail)
    if proof.problem and required:
        yield Finding(slug=GUARD, tier="hard", detail=f"no proof could be made: {proof.problem}")


def _finding(target: TargetProof, *, required: bool) -> Finding:
    closes = target.closes(required=required)
    return Finding(
        slug=GUARD if closes or target.verdict != "checks-nothing" else "checks-nothing",
        guard=GUARD,
        tier="hard" if closes else "advisory",
        id=target.id,
        file=split_id(target.id)[0],
        line=target.line if target.verdict == "cannot-fail" else None,
        detail=target.description,
    )
