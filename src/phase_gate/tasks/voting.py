"""Reviewers' votes in a consensus phase: read one, record it, and say how they stand.

Reading is strict, as for every answer that opens something.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import Event, State
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.artifacts import fingerprint
from phase_gate.tasks.asking import vote_file
from phase_gate.tasks.evidence import Look
from phase_gate.tasks.handins import Ballot
from phase_gate.tasks.model import Word
from phase_gate.tasks.pipeline import Pipeline, Tally, count_votes, pipeline_of
from phase_gate.values import Value
from phase_gate.workflow.model import Consensus, Phase, Workflow, requires_of, settle

# --- votes of reviewers in a consensus phase: what is voted on, and how the votes stand


#: Characters of a version that people type.
_VERSION = 12


class VoteStanding(Value):
    """How the votes of a phase stand."""

    task: str
    phase: str
    #: Digests of what is voted on, by artifact.
    on: Mapping[str, str]
    #: Where a vote may lie.
    file: str
    tally: Tally
    threshold: float
    required_voters: int

    @property
    def version(self) -> str:
        return version_of(self.on)

    @property
    def is_reached(self) -> bool:
        score = self.tally.score
        return score is not None and score >= self.threshold and not self.misses_voters

    @property
    def misses_voters(self) -> bool:
        return len(self.tally.counted) < self.required_voters


def show_votes(task: Task) -> VoteStanding:
    """Return how the votes stand."""
    state, workflow = task.state, task.rules
    phase, consensus = _asked(state, workflow)
    on = _versions(task, workflow, pipeline_of(state), consensus)
    return _standing(state, workflow, phase, consensus, on)


@again_if_moved
def cast_votes(task: Task, *ballots: Ballot, reports: tuple[str, ...] = ()) -> VoteStanding:
    """Record votes, all of them or none; return how the votes stand with them.

    :param reports: the files with the votes, from the root: they are no part of what is voted on.
    """
    with task.transaction() as change:
        state = change.state
        task.store.refuse_while_running(change.opened.state)
        pipeline = pipeline_of(state)
        workflow = task.after(change).rules
        phase, consensus = _asked(state, workflow)
        on = _versions(task, workflow, pipeline, consensus)
        for ballot in ballots:
            _refuse_other(ballot, phase, on)
            word = Word(by=ballot.by, answer=ballot.vote, confidence=ballot.confidence, about=on, reason=ballot.reason)
            change.record(Event(kind="voted", data={"word": to_json(word), "reports": list(reports)}))
    return _standing(change.state, workflow, phase, consensus, on)


def _asked(state: State, workflow: Workflow) -> tuple[Phase, Consensus]:
    """Return the phase and what it asks to agree on. Raises NotAllowedError where the phase asks for no votes."""
    phase = workflow.phase(state.phase or "")
    consensus = None if phase is None else requires_of(phase).consensus
    if phase is None or consensus is None or state.exited:
        asking = [each.name for each in workflow.phases if requires_of(each).consensus is not None]
        raise NotAllowedError(
            f"{state.phase} asks for no vote{' any more' if consensus is not None else ''}",
            remedy=f"vote in one of: {', '.join(asking)}; phase-gate status says what is next",
        )
    return phase, consensus


def _versions(task: Task, workflow: Workflow, pipeline: Pipeline, consensus: Consensus) -> dict[str, str]:
    """Return the digests of what is voted on. Raises NotAllowedError for what does not count, whatever is voted."""
    look = Look(task, workflow, pipeline)
    for name in consensus.on:
        path = look.rules.artifacts[name].path
        if fault := look.fault(name):
            problem = f"there is nothing to vote on: {name} ({path}) {fault}"
            raise NotAllowedError(problem, remedy=f"write it first: {path}")
    return {name: look.artifact(name).digest for name in consensus.on}


def version_of(on: Mapping[str, str]) -> str:
    """Return what tells this version from others, short enough to be typed."""
    return fingerprint(*(part for pair in sorted(on.items()) for part in pair))[:_VERSION]


def _refuse_other(ballot: Ballot, phase: Phase, on: dict[str, str]) -> None:
    if ballot.phase and ballot.phase != phase.name:
        raise NotAllowedError(
            f"the vote speaks of {ballot.phase}, and the task is in {phase.name}", remedy="vote on what is there now"
        )
    if ballot.version and ballot.version != version_of(on):
        raise NotAllowedError(
            f"the vote speaks of version {ballot.version}, and this is {version_of(on)}",
            remedy="read what is there now, then vote again",
        )


def _standing(state: State, workflow: Workflow, phase: Phase, consensus: Consensus, on: dict[str, str]) -> VoteStanding:
    pipeline = pipeline_of(state)
    return VoteStanding(
        task=state.task,
        phase=phase.name,
        on=on,
        file=vote_file(workflow, consensus),
        tally=count_votes(pipeline.votes, on),
        threshold=settle(consensus.threshold, workflow),
        required_voters=int(settle(consensus.voters, workflow)),
    )
