"""Experiments that are made by a command only: which there are, the last one of each, and the event that records one.

Pure. Their metrics count as long as the files are those that they were made on (`gate.proofs`).
"""

from __future__ import annotations

from phase_gate.codec import to_json
from phase_gate.gate.state import Event, ExperimentRecord, State

#: The kinds, by the names of the packages that make them.
MUTATION = "mutation"
BEHAVIOUR = "behaviour"


def current_experiment(state: State, kind: str, tree: str) -> ExperimentRecord | None:
    """Return the last one of this kind, if it was made on these very files."""
    record = state.experiments.get(kind)
    return record if record is not None and record.tree == tree else None


def experimented(kind: str, record: ExperimentRecord, at: str) -> Event:
    return Event(kind="experimented", data={"experiment": kind, "record": to_json(record)}, at=at)
