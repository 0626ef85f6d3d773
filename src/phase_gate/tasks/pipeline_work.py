"""The work of a pipeline: what its phases made, what was approved, and the changes that are asked for.

Pure: values. `state_extension` applies events to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import WORK
from phase_gate.tasks.work import Work
from phase_gate.values import Value, field

if TYPE_CHECKING:
    from phase_gate.gate.state import State

RequestStatus = Literal["proposed", "approved", "rejected"]


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
    #: A hash of its subject, so that no request is made twice. Empty if a person made it.
    fingerprint: str = ""
    decided_by: str = ""
    reason: str = ""


class Pipeline(Work):
    #: Recorded digests of the constitution's files; empty for a missing file.
    constitution: Mapping[str, str] = field(default_factory=dict)
    #: Object with the rules that the cycle began with.
    rules: str = ""
    #: Contents of artifacts that belong to earlier attempts, by artifact.
    old: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Artifacts when the recovery began. Artifacts that are made during the recovery belong to the next attempt.
    at_failure: Mapping[str, str] = field(default_factory=dict)
    #: Artifacts when the phase that requires them was left.
    made: Mapping[str, str] = field(default_factory=dict)
    #: The approved versions, by artifact.
    approved: Mapping[str, str] = field(default_factory=dict)
    requests: tuple[Request, ...] = ()
    failed_phase: str = ""
    recoveries: int = 0
    #: The phase that follows the exited one.
    leads_to: str = ""

    @property
    def is_pipeline(self) -> bool:
        return True

    @property
    def pending(self) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.status == "proposed")


def find_pipeline(state: State) -> Pipeline | None:
    """Return the pipeline of the current cycle; None in any other workflow."""
    work = state.parts.get(WORK)
    return work if isinstance(work, Pipeline) else None


def pipeline_of(state: State) -> Pipeline:
    """Return the pipeline of the current cycle. Raises NotAllowedError if there is none."""
    pipeline = find_pipeline(state)
    if pipeline is None:
        raise NotAllowedError(
            f"this cycle uses {state.workflow or 'no workflow yet'}, which is not a pipeline",
            remedy="begin one: workflow: pipeline in the settings, then phase-gate advance",
        )
    return pipeline
