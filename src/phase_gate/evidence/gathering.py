"""Gather the evidence that the rules of a phase require, and remember the current state for later comparisons.

A pipeline adds its own evidence with a `PartEvidence`, which its part returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from phase_gate.evidence.context import EvidenceContext, Provider, RunCoverage, ignore
from phase_gate.gate.measured import (
    SINCE,
    Evidence,
    Measured,
    Remembered,
    Since,
    join,
    measuring_providers,
    wanted_names,
    wanted_providers,
)
from phase_gate.gate.state import pipeline_part
from phase_gate.values import replace
from phase_gate.workflow.metrics import CLAIM_METRICS
from phase_gate.workflow.sections import ConfidenceRules, ExitGate
from phase_gate.workflow.settings import Configuration

if TYPE_CHECKING:
    from phase_gate.gate.state import Event
    from phase_gate.task import Task
    from phase_gate.workflow.model import Phase, Workflow


#: The provider whose data from the start of the cycle is compared with a claim.
_CLAIMED_FILES = "git"


class PartEvidence(Protocol):
    """Evidence that a pipeline adds to its workflow. Its part returns it from `Part.evidence`."""

    def providers(self, task: Task, workflow: Workflow, phase: Phase) -> Mapping[str, Provider]:
        """Return the providers that only this part has."""

    def as_judged(self, task: Task, workflow: Workflow, phase: Phase) -> Phase:
        """Return the phase with its current requirements for this task."""

    def conclude(self, evidence: Evidence, task: Task, workflow: Workflow, phase: Phase) -> Evidence:
        """Return the conclusions from all measurements, by their own names."""

    def remember(
        self, found: Remembered, task: Task, workflow: Workflow, phase: Phase, *, begins_cycle: bool
    ) -> Remembered:
        """Return the data remembered at the start of a phase, with the data that this part needs later."""


def gather(
    task: Task,
    workflow: Workflow,
    phase: Phase,
    *,
    wanted: frozenset[str] | None = None,
    show: Callable[[str], None] = ignore,
    coverage: Callable[[], RunCoverage] | None = None,
) -> Evidence:
    """Measure all evidence other than tests.

    :param wanted: the names to measure. Default: the names in the phase's rules.
    :param coverage: returns coverage.py's measurement of a run. None without a run.
    """
    part = _added_by_part(workflow)
    if part is not None:
        phase = part.as_judged(task, workflow, phase)
    names = wanted_names(workflow, phase, task.project.configuration) if wanted is None else wanted
    context = context_of(task, names, phase=phase.name, show=show)
    if coverage is not None:
        context = replace(context, coverage=coverage())
    if part is None:
        return gather_evidence(context)
    evidence = gather_evidence(replace(context, more=part.providers(task, workflow, phase)))
    return {**evidence, **part.conclude(evidence, task, workflow, phase)}


def remember(
    task: Task,
    workflow: Workflow,
    phase: Phase,
    *,
    begins_cycle: bool = False,
    known: Mapping[str, str] | None = None,
) -> Remembered:
    """Return the state of the project at the start of a phase, for later comparisons.

    :param begins_cycle: a cycle begins with the phase, so the data for the rules of all phases is remembered, too.
    :param known: data for the phase that was remembered when the previous one ended.
    """
    configuration, keep = task.project.configuration, task.store.keep
    in_phase = _with_claims(wanted_names(workflow, phase), configuration)
    context = context_of(task, in_phase, phase=phase.name)
    of_phase, complaints = _remember(context, keep, "phase", "exit", known=known or {})
    of_cycle: dict[str, str] = {}
    if begins_cycle:
        in_cycle = frozenset().union(*(wanted_names(workflow, each, configuration) for each in workflow.phases))
        of_cycle, more = _remember(replace(context, wanted=in_cycle), keep, "cycle")
        complaints += more
    found = Remembered(cycle=of_cycle, phase=of_phase, warnings=tuple(complaints))
    if begins_cycle and _CLAIMED_FILES in found.phase:
        # A claim is about the work of the whole cycle.
        found = replace(found, cycle={**found.cycle, _CLAIMED_FILES: found.phase[_CLAIMED_FILES]})
    part = _added_by_part(workflow)
    return found if part is None else part.remember(found, task, workflow, phase, begins_cycle=begins_cycle)


def remember_next(
    task: Task, workflow: Workflow, phase: Phase, *, keep: Callable[[str, Any], str] | None = None
) -> Mapping[str, str]:
    """Return the state of the project at the end of a phase, for the next one, whose first run may be much later.

    :param keep: stores an object and returns its name. Default: the task's store.
    """
    following = workflow.phase(phase.next)
    if following is None:
        return {}
    wanted = wanted_names(workflow, following)
    context = context_of(task, wanted, phase=following.name)
    return _remember(context, keep or task.store.keep, "exit")[0]


#: The module that makes proofs. It is in a higher layer, and is imported when a phase would exit.
PROVER = "phase_gate.proof.task_proof"


def prove(
    task: Task, phase: Phase, *, files: Mapping[str, str], at: str, show: Callable[[str], None] = ignore
) -> Event | None:
    """Make the proof that a phase requires before it exits. Return the event that records it, None if it is off.

    :param files: path -> content id of the files that the measured run left.
    """
    made: Event | None = import_module(PROVER).prove(task, phase, files=files, at=at, show=show)
    return made


def context_of(
    task: Task, wanted: frozenset[str], *, phase: str, show: Callable[[str], None] = ignore
) -> EvidenceContext:
    """Return the context of the task's project for providers."""
    project, store, state = task.project, task.store, task.state
    ended = {f"{name} at exit": digest for name, digest in state.memory.exit.items()}
    remembered = {**state.memory.cycle, **state.memory.phase, **state.memory.run, **ended}
    known = state.known_tests
    return EvidenceContext(
        root=project.root,
        folder=project.folder,
        state_folder=project.state_folder,
        configuration=project.configuration,
        wanted=wanted,
        phase=phase,
        show=show,
        list_files=project.list_files,
        files=lambda: task.tree.files,
        beside=lambda: task.tree.beside,
        recall=lambda name: store.objects.load(remembered[name]) if name in remembered else None,
        known_tests=lambda: frozenset() if known is None else frozenset(store.objects.load_inventory(known).files),
    )


def _added_by_part(workflow: Workflow) -> PartEvidence | None:
    part = pipeline_part(workflow)
    return None if part is None else part.evidence()


def _with_claims(wanted: frozenset[str], configuration: Configuration) -> frozenset[str]:
    """Return the names, with the one that claims are compared with if claims are configured or required."""
    is_set = ExitGate.of(configuration) != ExitGate() or ConfidenceRules.of(configuration) != ConfidenceRules()
    return wanted | {"files_changed"} if is_set or not wanted.isdisjoint(CLAIM_METRICS) else wanted


# --- the providers, and their results


#: Providers that are modules of this package. They are imported when needed, because some import large libraries.
_OWN = ("quality", "git", "documents", "commands", "new_code")
#: Providers of features that every task may have.
_OF_FEATURES = {
    "sources": "phase_gate.evidence.quality:SOURCES",
    "proof": "phase_gate.proof.trial:PROVIDER",
    "beginning": "phase_gate.proof.trial:BEGINNING",
}


def _provider(name: str, context: EvidenceContext) -> Provider | None:
    """Return a provider; None for one of a feature that the task does not have."""
    place = f"phase_gate.evidence.{name}:PROVIDER" if name in _OWN else _OF_FEATURES.get(name)
    if place is None:
        return context.more.get(name)
    module, _, variable = place.partition(":")
    provider: Provider = getattr(import_module(module), variable)
    return provider


def gather_evidence(context: EvidenceContext) -> Evidence:
    """Return the measurement of each provider."""
    found: dict[str, Measured] = {}
    for name in measuring_providers(context.wanted, context.configuration):
        try:
            provider = _provider(name, context)
            if provider is None:
                warning = f"what a {name} asks for is unknown: this cycle began as none"
                found[name] = Measured(warnings=(warning,))
            else:
                found[name] = provider.measure(context)
        except Exception as error:
            found[name] = Measured(warnings=(_complain(name, error),))
    return found


def measure_names(task: Task, wanted: Iterable[str], *, show: Callable[[str], None]) -> Measured:
    """Return the joint measurement of some names in the current phase."""
    context = context_of(task, frozenset(wanted), phase=task.state.phase or "", show=show)
    return join(gather_evidence(context).values())


def _remember(
    context: EvidenceContext,
    keep: Callable[[str, Any], str],
    *since: Since,
    known: Mapping[str, str] = {},
) -> tuple[dict[str, str], list[str]]:
    """Store the data that providers need for later comparisons. Return provider -> object, and warnings.

    :param keep: stores an object and returns its name.
    :param since: only providers that compare since one of these times.
    :param known: provider -> object, for data that was remembered already.
    """
    found: dict[str, str] = {}
    complaints: list[str] = []
    for name in wanted_providers(context.wanted, context.configuration):
        if SINCE.get(name) not in since:
            continue
        if name in known:
            found[name] = known[name]
            continue
        try:
            provider = _provider(name, context)
            memory = None if provider is None else provider.remember(context)
        except Exception as error:
            complaints.append(_complain(name, error))
            continue
        if memory is not None:
            found[name] = keep("evidence", memory)
    return found, complaints


def _complain(name: str, error: Exception) -> str:
    return f"evidence of {name!r} is unknown: {type(error).__name__}: {error}"
