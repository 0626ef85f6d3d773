"""The state as JSON, and back.

Pure. The document's canonical form is what the ledger vouches for, so the same state always gives the same document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.gate.breaker import Breaker, breaker_from_json, breaker_to_json
from phase_gate.gate.flakiness import Flakiness
from phase_gate.gate.parts import load_part
from phase_gate.gate.state import Fact, Json, Measurement, OpenRun, RunSummary, Snapshot, State, Undo
from phase_gate.gate.waivers import Waiver
from phase_gate.values import as_dict, fields


def state_to_json(state: State) -> dict[str, Any]:
    """Return the state as plain JSON; absent and empty fields are left out, so that additions stay readable."""
    document = {
        name: value
        for name in fields(State)
        if name != "parts" and (value := _plain(getattr(state, name))) not in (None, [], {}, "") and value is not False
    }
    if state.parts:
        document["parts"] = {name: load_part(name).to_json(value) for name, value in state.parts.items()}
    return document


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Breaker):
        return None if value == Breaker() else breaker_to_json(value)
    if isinstance(value, Flakiness):
        return None if value == Flakiness() else as_dict(value)
    if isinstance(value, Undo):
        return {"run": value.run, "state": state_to_json(value.state)}
    if isinstance(value, OpenRun | RunSummary | Measurement | Fact | Snapshot | Waiver):
        return {name: _plain(getattr(value, name)) for name in fields(type(value))}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value


def state_from_json(document: Json) -> State:
    """Return the state that `state_to_json` wrote. Raises KeyError, TypeError or ValueError on anything else."""
    given: dict[str, Any] = dict(document)
    unknown = set(given) - set(fields(State))
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r}")
    for name in ("visited", "recovered", "overrides", "beside"):
        if name in given:
            given[name] = tuple(given[name])
    for name, build in _BUILDERS.items():
        if name in given:
            given[name] = build(given[name])
    return State(**given)


def _measurement(data: Json) -> Measurement:
    return Measurement(
        **{
            **data,
            "findings": tuple(data["findings"]),
            "notes": tuple(data["notes"]),
            "tables": tuple(data.get("tables", ())),
        }
    )


_BUILDERS: Mapping[str, Callable[[Any], object]] = {
    "open_runs": lambda rows: tuple(OpenRun(**row) for row in rows),
    "facts": lambda rows: tuple(Fact(**row) for row in rows),
    "waivers": lambda rows: tuple(Waiver(**{**row, "findings": tuple(row["findings"])}) for row in rows),
    "last_run": lambda row: RunSummary(**row),
    "measurement": _measurement,
    "baseline": lambda row: Snapshot(**row),
    "first": lambda row: Snapshot(**row),
    "latest": lambda row: Snapshot(**row),
    "breaker": breaker_from_json,
    "flakiness": lambda row: Flakiness(**row),
    "parts": lambda rows: {name: load_part(name).from_json(row) for name, row in rows.items()},
    "undo": lambda row: Undo(row["run"], state_from_json(row["state"])),
}
