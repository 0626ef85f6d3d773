"""Measure the project when an agent claims to be done."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from phase_gate.claims.confidence import ClaimContext, Sign, plan_is_ticked
from phase_gate.errors import NotAllowedError
from phase_gate.evidence.gathering import context_of, measure_names
from phase_gate.evidence.git import changes_since_commit
from phase_gate.gate.state import State
from phase_gate.gate.verdict import Evaluation
from phase_gate.project import Project
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.metrics import CLAIM_METRICS
from phase_gate.workflow.model import Phase
from phase_gate.workflow.sections import ConfidenceRules, ExitGate

#: The maximum number of bytes read from a plan.
_MAX_PLAN = 4 * 1024 * 1024


def measure_claim(task: Task, *, handed: Collection[str] = (), show: Callable[[str], None]) -> ClaimContext:
    """Return everything that a claim is compared with.

    :param handed: the file with the claim from the root, which does not count as a changed file.
    :param show: shows progress while a command of the project runs.
    """
    project, state = task.project, task.state
    phase = task.rules.phase(str(state.phase))
    if phase is None:
        raise NotAllowedError("the cycle is done: there is nothing to claim", remedy=project.begin_command)
    tests = _tests_pass(task)
    moved = _task_file(project)
    return ClaimContext(
        interrupted=_interrupted(state),
        limits=phase.breaker,
        failure=_measured_failure(state, phase, tests),
        untested=tests.reason if tests.met is None else "",
        evidence=_evidence(task, tests, moved, show),
        files=_files_changed(task, handed),
        task_file=moved,
        tests=tests,
        metrics={} if state.measurement is None else state.measurement.measured.metrics,
        phase=phase.name,
        iteration=state.iteration,
        asked=phase.gate_1.names & CLAIM_METRICS,
        tree=task.tree.digest,
        gate=ExitGate.of(project.configuration),
        rules=ConfidenceRules.of(project.configuration),
    )


def _interrupted(state: State) -> str:
    last = state.last_run
    if last is None or last.kind != "incomplete" or last.why != "interrupted":
        return ""
    return f"run {last.id[:8]} was interrupted: ask the user, or let a run end"


def _tests_pass(task: Task) -> Sign:
    """Return whether Gate 1 is open, ignoring clauses on claims."""
    behind, verdict = task.outdated(), task.state.evaluation
    if behind is not None:
        return Sign(None, behind.reason)
    assert verdict is not None, "outdated() covers a task without a verdict"
    if verdict.gate_1.is_open:
        return Sign(True, f"Gate 1 is open in iteration {verdict.iteration}")
    if _is_open_but_for_claims(verdict):
        return Sign(True, f"Gate 1 needs only a claim in iteration {verdict.iteration}")
    return Sign(False, f"Gate 1 is closed: {verdict.reason}")


def _is_open_but_for_claims(verdict: Evaluation) -> bool:
    clauses = verdict.gate_1.clauses
    others = [each for each in clauses if CLAIM_METRICS.isdisjoint({*each.values, *each.unknown})]
    is_asked = 0 < len(others) < len(clauses)
    return is_asked and all(each.met is True for each in others) and all(each.passes for each in verdict.gate_1.guards)


def _measured_failure(state: State, phase: Phase, tests: Sign) -> str:
    measured = state.measurement
    failing = 0 if measured is None else measured.measured.metrics.get("suite_failing", 0)
    if measured is not None and phase.tests != "failing" and isinstance(failing, int) and failing:
        # Even if files changed since: the tests count as failing until another run.
        return f"{count(failing, 'test')} failed in the last complete run"
    return tests.reason if tests.met is False else ""


# --- indicators


def _evidence(task: Task, tests: Sign, moved: Sign, show: Callable[[str], None]) -> tuple[Sign, ...]:
    project = task.project
    gate = ExitGate.of(project.configuration)
    checks = gate.evidence_checks
    rows: dict[str, Sign] = {}
    if checks.tests:
        rows["tests pass"] = tests
    if checks.acceptance_criteria:
        rows["acceptance criteria"] = _criteria(task.state, task.tree.digest)
    wanted = {"clean git": "tree_clean"} if checks.clean_git else {}
    wanted |= {"build": "build_ok"} if checks.build else {}
    if wanted:
        rows |= _measure(task, wanted, show)
    if ConfidenceRules.of(project.configuration).task_file is not None:
        rows["task file moved"] = moved
    if gate.plan_file is not None:
        rows[f"plan {gate.plan_file}"] = _plan(project.root / gate.plan_file)
    return tuple(replace(sign, name=name) for name, sign in rows.items())


def _criteria(state: State, tree: str) -> Sign:
    measured = state.measurement
    if state.criteria is None or measured is None:
        return Sign(None, "no criteria are listed")
    if measured.tree != tree:
        return Sign(None, "files have changed since the last run")
    left = measured.measured.metrics.get("criteria_open")
    if not isinstance(left, int):
        return Sign(None, "not measured")
    return Sign(left == 0, "each has a test that shows it" if left == 0 else f"{count(left, 'criterion')} open")


def _measure(task: Task, wanted: dict[str, str], show: Callable[[str], None]) -> dict[str, Sign]:
    """Return a sign for each metric, by its name as a sign."""
    measured = measure_names(task, wanted.values(), show=show)
    signs = {}
    for title, name in wanted.items():
        value = measured.metrics.get(name)
        reason = next((text for text in measured.warnings if name in text), "not measured")
        signs[title] = Sign(value, f"{name} is {str(value).lower()}") if isinstance(value, bool) else Sign(None, reason)
    return signs


def _plan(path: Path) -> Sign:
    try:
        with path.open("rb") as stream:
            text = stream.read(_MAX_PLAN).decode("utf-8", "replace")
    except OSError as error:
        return Sign(None, error.strerror or "it can't be read")
    return plan_is_ticked(text)


# --- confidence


def _files_changed(task: Task, handed: Collection[str]) -> Sign:
    """Compare with the commit at the start of the cycle, because files may have changed before the first run."""
    began = task.state.memory.cycle.get("git")
    context = context_of(task, frozenset(), phase=task.state.phase or "")
    since = changes_since_commit(context, None if began is None else task.store.objects.load(began))
    if since.files is None:
        return Sign(None, "git can't tell")
    changed = len(since.files.difference(handed))
    if not changed and began is None:
        return Sign(None, "git does not know on which commit the cycle began")
    commit = "the commit that the cycle began on" if began is not None else "the last commit"
    return Sign(changed > 0, f"{count(changed, 'file')} changed since {commit}")


def _task_file(project: Project) -> Sign:
    rules = ConfidenceRules.of(project.configuration)
    if rules.task_file is None:
        return Sign(None, "confidence.task_file is not set")
    name = rules.task_file.replace("{task}", project.task)
    path = project.root / name
    moved = project.root / rules.done_folder / path.name
    if path.exists():
        return Sign(False, f"{name} is where it was")
    if moved.exists():
        return Sign(True, f"{path.name} is in {rules.done_folder}/")
    return Sign(None, f"neither {name} nor {rules.done_folder}/{path.name} is there")
