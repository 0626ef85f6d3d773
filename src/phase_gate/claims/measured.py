"""What is measured beside an agent's words, when it claims to be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from phase_gate.claims.confidence import Indicator, Measures, plan_is_ticked
from phase_gate.claims.decision import ClaimContext
from phase_gate.errors import NotAllowedError
from phase_gate.evidence.gathering import context_of
from phase_gate.evidence.git import Since, look_since
from phase_gate.evidence.providers import gather_evidence
from phase_gate.gate.measured import Measured
from phase_gate.gate.runs import Kind, count
from phase_gate.gate.state import Json, State
from phase_gate.project import Project
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.metrics import CLAIM_METRICS
from phase_gate.workflow.model import Phase

#: Of a plan that is read.
_MAX_PLAN = 4 * 1024 * 1024

_Known = tuple[bool | None, str]


class MeasuredClaim(Value):
    context: ClaimContext
    #: What git shows now, for the next claim; None if there is nothing to show.
    git: Any = None
    tree: str = ""


def measure_claim(task: Task, *, show: Callable[[str], None]) -> MeasuredClaim:
    """Return everything that a claim is compared with.

    :param show: says what is going on while a command of the project runs.
    """
    project, state = task.project, task.state
    phase = task.rules.phase(str(state.phase))
    if phase is None:
        raise NotAllowedError("the cycle is done: there is nothing to claim", remedy=project.begin_command)
    tests = _tests_pass(task)
    since = _files_changed(task)
    differ = _files_differ(since, task)
    moved = _task_file(project)
    return MeasuredClaim(
        context=ClaimContext(
            interrupted=_interrupted(state),
            limits=phase.breaker,
            failure=_measured_failure(state, phase, tests),
            evidence=_evidence(task, tests, show),
            measures=Measures(
                files_changed=since.changed,
                files_differ=differ[0],
                files_reason=differ[1],
                task_file_moved=moved[0],
                task_file_reason=moved[1],
                tests_pass=tests[0],
                tests_reason=tests[1],
            ),
            metrics={} if state.measurement is None else state.measurement.metrics,
            phase=phase.name,
            iteration=state.iteration,
        ),
        git=since.now,
        tree=task.tree.digest,
    )


def _interrupted(state: State) -> str:
    last = state.last_run
    if last is None or last.kind != Kind.INCOMPLETE or last.why != "interrupted":
        return ""
    return f"somebody interrupted run {last.id[:8]}: ask them, or let a run end"


def _tests_pass(task: Task) -> _Known:
    """Tell whether Gate 1 is open now, but for what only a claim can give."""
    state = task.state
    verdict = state.evaluation
    is_current = verdict is not None and verdict["phase"] == state.phase and not state.evaluation_is_stale
    if not is_current or task.tree.digest != state.trees.last or state.open_runs:
        return None, task.standing(gate_1_only=True).reason
    assert verdict is not None
    if verdict["gate_1"]["open"]:
        return True, f"Gate 1 is open in iteration {verdict['iteration']}"
    if _holds_but_for_claims(verdict):
        return True, f"Gate 1 waits for nothing but a claim in iteration {verdict['iteration']}"
    return False, f"Gate 1 is closed: {verdict['reason']}"


def _holds_but_for_claims(verdict: Json) -> bool:
    clauses = verdict["gate_1"]["clauses"]
    about_claims = [not CLAIM_METRICS.isdisjoint({*each["values"], *each["unknown"]}) for each in clauses]
    others = (each["met"] is True for each, is_one in zip(clauses, about_claims, strict=True) if not is_one)
    guards = (each["met"] is True or each["waived"] for each in verdict["gate_1"]["guards"])
    return any(about_claims) and not all(about_claims) and all(others) and all(guards)


def _measured_failure(state: State, phase: Phase, tests: _Known) -> str:
    measured = state.measurement
    failing = 0 if measured is None else measured.metrics.get("suite_failing", 0)
    if measured is not None and phase.tests != "failing" and isinstance(failing, int) and failing:
        # Whatever was changed since: until a run shows otherwise they fail.
        return f"{count(failing, 'test')} failed in the last complete run (iteration {measured.iteration})"
    return tests[1] if tests[0] is False else ""


# --- signs


def _evidence(task: Task, tests: _Known, show: Callable[[str], None]) -> tuple[Indicator, ...]:
    project = task.project
    gate = project.configuration.exit_gate
    checks = gate.evidence_checks
    rows: dict[str, _Known] = {}
    if checks.tests:
        rows["tests pass"] = tests
    if checks.acceptance_criteria:
        rows["acceptance criteria"] = _criteria(task.state, task.tree.digest)
    if checks.build or checks.clean_git:
        measured = _measure(task, show)
        if checks.clean_git:
            rows["clean git"] = _from_metric(measured, "tree_clean", "nothing is uncommitted", "there are changes")
        if checks.build:
            rows["build"] = _build(project, measured)
    if gate.plan_file is not None:
        rows[f"plan {gate.plan_file}"] = _plan(project.root / gate.plan_file)
    return tuple(
        Indicator(
            name=name, kind="evidence", present=present, detail=detail if present is not None else f"unknown: {detail}"
        )
        for name, (present, detail) in rows.items()
    )


def _criteria(state: State, tree: str) -> _Known:
    measured = state.measurement
    if state.aim.criteria is None or measured is None:
        return None, "no criteria are listed"
    if measured.tree != tree:
        return None, "files have changed since the last run"
    left = measured.metrics.get("criteria_open")
    if not isinstance(left, int):
        return None, "not measured"
    return left == 0, "each has a test that shows it" if left == 0 else f"{count(left, 'criterion')} open"


def _measure(task: Task, show: Callable[[str], None]) -> Measured:
    checks = task.project.configuration.exit_gate.evidence_checks
    wanted = {"tree_clean"} if checks.clean_git else set()
    wanted |= {"build_ok"} if checks.build else set()
    return gather_evidence(context_of(task, frozenset(wanted), phase=task.state.phase or "", show=show))


def _from_metric(measured: Measured, name: str, yes: str, no: str) -> _Known:
    value = measured.metrics.get(name)
    if not isinstance(value, bool):
        return None, next((text for text in measured.warnings if name in text), "not measured")
    return value, yes if value else no


def _build(project: Project, measured: Measured) -> _Known:
    if not any(command.name == "build" for command in project.configuration.commands):
        return None, "there is no command evidence.commands.build"
    return _from_metric(measured, "build_ok", "it ended with 0", "it did not end with 0")


def _plan(path: Path) -> _Known:
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_PLAN).decode("utf-8", "replace")
    except OSError as error:
        return None, error.strerror or "it can't be read"
    return plan_is_ticked(text)


# --- confidence


def _files_changed(task: Task) -> Since:
    before = {**task.state.memory.phase, **task.state.memory.claim}.get("git")
    context = context_of(task, frozenset(), phase=task.state.phase or "")
    return look_since(context, None if before is None else task.store.objects.load(before))


def _files_differ(since: Since, task: Task) -> _Known:
    """Tell whether anything is not what it was when the phase began, or when a claim passed; git knows best."""
    state, tree = task.state, task.tree.digest
    if since.changed is not None:
        began = "the last claim that passed" if state.memory.claim else f"{state.phase} began"
        return since.changed > 0, f"{count(since.changed, 'file')} changed since {began} (git)"
    before = last = None
    then = f"when {state.phase} began"
    for line in task.store.lines():
        kind, data = line.event.kind, line.event.data
        if kind == "phase-entered":
            # Where another phase came before, its last run is what this one began with.
            before = last
        elif kind == "claimed" and data["claim"]["gate"] == "passed":
            before, then = data["tree"], "at the last claim that passed"
        elif kind in ("run-started", "run-ended"):
            last = data["tree"]
            before = before or last
    if before is None:
        return None, "there is no run to compare with"
    return tree != before, f"the sources are {'' if tree == before else 'not '}what they were {then}"


def _task_file(project: Project) -> _Known:
    rules = project.configuration.confidence
    if rules.task_file is None:
        return None, "confidence.task_file is not set"
    name = rules.task_file.replace("{task}", project.task)
    path = project.root / name
    moved = project.root / rules.done_folder / path.name
    if path.exists():
        return False, f"{name} is where it was"
    if moved.exists():
        return True, f"{path.name} is in {rules.done_folder}/"
    return None, f"neither {name} nor {rules.done_folder}/{path.name} is there"
