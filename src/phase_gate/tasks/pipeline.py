"""The part of a task's state that only pipelines have, and how events change it.

Pure, and imported only where a cycle runs through a pipeline. Which phase follows which is `pipeline.order`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from phase_gate.codec import from_json
from phase_gate.errors import NotAllowedError
from phase_gate.gate.parts import PIPELINE
from phase_gate.names import name_key, same_name
from phase_gate.tasks.model import Choice, Failure, Word
from phase_gate.values import Value, field, replace

if TYPE_CHECKING:
    from phase_gate.gate.measured import Remembered
    from phase_gate.gate.state import Event, State


RequestStatus = Literal["proposed", "approved", "rejected"]

#: Entries of phases that are remembered for drawings: more than any budget of recoveries needs.
_STEPS = 200


class Request(Value):
    """A change that a person, an agent or a phase asks for."""

    id: str
    type: str
    title: str
    #: The phase that it leads to.
    target: str
    status: RequestStatus = "proposed"
    by: str = ""
    at: str = ""
    #: Closes every gate until a person decides.
    blocking: bool = False
    #: What it is about, as a hash: the same one is never made twice. Empty: a person made it.
    fingerprint: str = ""
    decided_by: str = ""
    reason: str = ""


class Step(Value, kw_only=False):
    """A phase that was entered, and how."""

    phase: str
    how: str


class Pipeline(Value):
    #: Digests of the constitution's files, as they were recorded; empty for one that was missing.
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: Object with the rules that the cycle began with.
    rules: str = ""
    #: Commands of checks that were added since, by the names of their rules: from then on they are rules, too.
    commands: Mapping[str, str] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    #: Contents of artifacts that belong to earlier attempts, by artifact.
    old: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What artifacts were when the recovery began: what is made in it belongs to the attempt that follows.
    at_failure: Mapping[str, str] = field(default_factory=dict)
    #: What artifacts were when the phase was left that asked for them.
    made: Mapping[str, str] = field(default_factory=dict)
    #: Those of the present phase.
    votes: tuple[Word, ...] = ()
    #: What the reviewers agreed on, by artifact.
    approved: Mapping[str, str] = field(default_factory=dict)
    #: The commit that the plan was approved on.
    base: str = ""
    requests: tuple[Request, ...] = ()
    failed_phase: str = ""
    failures: tuple[Failure, ...] = ()
    recoveries: int = 0
    #: Rewinds that were taken, each with the failure that it was for.
    rewinds: tuple[str, ...] = ()
    #: What a person said where the pipeline was stuck, and who; empty once the phase has exited.
    guidance: str = ""
    #: Where the phase leads that has exited.
    leads_to: str = ""

    @property
    def pending(self) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.status == "proposed")

    def request(self, name: str) -> Request | None:
        return next((each for each in self.requests if each.id.upper() == name.upper()), None)

    def knows(self, fingerprint: str) -> bool:
        """Tell whether a request about the very same thing was made before, whatever became of it."""
        return any(each.fingerprint == fingerprint for each in self.requests)


class PipelineFiles(Value):
    """How the files of a pipeline are when a phase is entered."""

    #: Digests of artifacts, and of the constitution's files; empty for what is not there.
    artifacts: Mapping[str, str] = field(default_factory=dict)
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: What git has checked out; empty if that is not known.
    commit: str = ""
    #: Object with the rules, where a cycle begins.
    rules: str = ""
    #: The commands of checks, by the names of their rules.
    commands: Mapping[str, str] = field(default_factory=dict)
    #: What the root-cause record says.
    root_cause: Mapping[str, str] = field(default_factory=dict)


def files_in(remembered: Remembered) -> PipelineFiles:
    """Return what was remembered of the pipeline's files."""
    files: PipelineFiles = remembered.parts.get(PIPELINE) or PipelineFiles()
    return files


def find_pipeline(state: State) -> Pipeline | None:
    """Return the pipeline that the present cycle runs through; None in any other workflow."""
    pipeline: Pipeline | None = state.parts.get(PIPELINE)
    return pipeline


def pipeline_of(state: State) -> Pipeline:
    """Return the pipeline of the present cycle. Raises NotAllowedError where there is none."""
    pipeline = find_pipeline(state)
    if pipeline is None:
        raise NotAllowedError(
            f"this cycle runs through {state.workflow or 'no workflow yet'}, which is no pipeline",
            remedy="begin one: workflow: pipeline in the settings, then phase-gate advance",
        )
    return pipeline


# --- events


def change(pipeline: Pipeline | None, event: Event) -> Pipeline | None:
    """Return the pipeline after an event: each cycle begins with a new one, or with none."""
    if event.kind == "cycle-began":
        return _began(event.data.get(PIPELINE))
    apply = _CHANGES.get(event.kind)
    return pipeline if pipeline is None or apply is None else apply(pipeline, event)


def _began(data: Mapping[str, Any] | None) -> Pipeline | None:
    return None if data is None else Pipeline(constitution=data["constitution"], rules=data["rules"])


def _entered(pipeline: Pipeline, event: Event) -> Pipeline:
    phase, how = event.data["phase"], event.data["how"]
    data = event.data.get(PIPELINE, {})
    old = dict(pipeline.old)
    for name, digests in data.get("old", {}).items():
        old[name] = tuple(dict.fromkeys((*old.get(name, ()), *(each for each in digests if each))))
    anew = data.get("anew", ())
    return replace(
        pipeline,
        attempts={**pipeline.attempts, phase: pipeline.attempts.get(phase, 0) + 1},
        steps=(*pipeline.steps, Step(phase, how))[-_STEPS:],
        old=old,
        votes=(),
        approved={name: digest for name, digest in pipeline.approved.items() if name not in anew},
        at_failure=data.get("at_failure", pipeline.at_failure),
        base=data.get("base", pipeline.base),
        leads_to="",
        made={**pipeline.made, **data.get("made", {})},
        commands={**pipeline.commands, **data.get("commands", {})},
        failed_phase="" if how in ("recovered", "guided") else pipeline.failed_phase,
        guidance=data.get("guidance", pipeline.guidance),
    )


def _exited(pipeline: Pipeline, event: Event) -> Pipeline:
    rewind = event.data.get("rewind")
    return replace(
        pipeline,
        leads_to=event.data["next"],
        guidance="",
        approved={**pipeline.approved, **event.data.get("approved", {})},
        rewinds=pipeline.rewinds if rewind is None else (*pipeline.rewinds, rewind),
    )


def _voted(pipeline: Pipeline, event: Event) -> Pipeline:
    vote = replace(from_json(Word, event.data["word"]), at=event.at)
    others = (each for each in pipeline.votes if not same_name(each.by, vote.by))
    return replace(pipeline, votes=(*others, vote))


def _request_made(pipeline: Pipeline, event: Event) -> Pipeline:
    return replace(pipeline, requests=(*pipeline.requests, Request(**event.data, at=event.at)))


def _request_decided(pipeline: Pipeline, event: Event) -> Pipeline:
    data = event.data
    return replace(
        pipeline,
        requests=tuple(
            replace(each, status=data["status"], decided_by=data["by"], reason=data["reason"])
            if each.id == data["id"]
            else each
            for each in pipeline.requests
        ),
    )


def _gate_failed(pipeline: Pipeline, event: Event) -> Pipeline:
    failures, cause = list(pipeline.failures), event.data.get("cause")
    if cause is not None:
        # The record that lies there speaks of an earlier failure, of the phase that it names.
        about = [number for number, each in enumerate(failures) if each.phase == cause["phase"]]
        for number in about[-1:]:
            known = {"root_cause": cause["summary"], "human_input": cause["human_input"]}
            failures[number] = replace(failures[number], **known)
    failure = replace(from_json(Failure, event.data["failure"]), at=event.at)
    return replace(
        pipeline,
        failures=(*failures, failure),
        failed_phase=event.data["failed_phase"],
        recoveries=pipeline.recoveries + bool(event.data["uses_recovery"]),
        at_failure=event.data.get("at_failure", pipeline.at_failure),
    )


def _commands_added(pipeline: Pipeline, event: Event) -> Pipeline:
    return replace(pipeline, commands={**pipeline.commands, **event.data["commands"]})


_CHANGES: Mapping[str, Callable[[Pipeline, Event], Pipeline]] = {
    "phase-entered": _entered,
    "phase-exited": _exited,
    "voted": _voted,
    "request-made": _request_made,
    "request-decided": _request_decided,
    "gate-failed": _gate_failed,
    "commands-added": _commands_added,
}


# --- what reviewers' votes come to: a vote counts for one version of one attempt, and no reviewer has two


#: What a vote weighs, times how sure the reviewer is.
WEIGHTS: Mapping[Choice, float] = {"approve": 1.0, "conditional": 0.5, "reject": 0.0}


class Tally(Value):
    """What the votes on the present version come to."""

    #: None without a vote: no score is not a score of nothing.
    score: float | None
    counted: tuple[Word, ...] = ()
    #: Votes on another version: they do not count.
    outdated: tuple[Word, ...] = ()


def count_votes(votes: Iterable[Word], on: Mapping[str, str]) -> Tally:
    """Return what the votes come to.

    :param on: digests of what has to be agreed on, as it is now; none of them empty, or nothing is there to vote on.
    """
    last = {name_key(vote.by): vote for vote in votes}.values()
    counted = tuple(vote for vote in last if dict(vote.about) == dict(on) and all(on.values()))
    outdated = tuple(vote for vote in last if vote not in counted)
    score = sum(WEIGHTS[vote.answer] * vote.confidence for vote in counted) / len(counted) if counted else None
    return Tally(score=None if score is None else round(score, 6), counted=counted, outdated=outdated)
