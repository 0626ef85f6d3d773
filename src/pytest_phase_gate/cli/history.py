"""`phase-gate history`: every run of the task, oldest first. Streams the ledger; only looks."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_phase_gate.cli._answer import Answer, Call
from pytest_phase_gate.core.waivers import describe_override
from pytest_phase_gate.storage.ledger import Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", action="store_true", help="list every event, not only the runs")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    store.look()
    if call.arguments.events:
        events = [
            {"seq": line.seq, "at": line.event.at, "kind": line.event.kind, **_brief(line)} for line in store.lines()
        ]
        text = "\n".join(f"{row['seq']:>5}  {row['at']}  {row['kind']:16}  {_words(row)}" for row in events)
        return Answer(text=text or "nothing has happened yet", document={"events": events})
    runs = list(collect_runs(store.lines(), project.task, lost=store.lost_runs(store.look().state)))
    overrides = list(collect_overrides(store.lines()))
    document = {"task": project.task, "root": str(project.root), "runs": runs, "overrides": overrides}
    rows = [f"waived {row['at'][:19]}Z  {describe_override(row)}" for row in overrides]
    return Answer(text="\n".join((_table(runs), *rows)), document=document)


def collect_overrides(lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
    """Yield what people have let pass, oldest first, with the cycle that it was for."""
    cycle = 0
    for line in lines:
        if line.event.kind == "cycle-began":
            cycle = line.event.data["cycle"]
        elif line.event.kind == "waived":
            yield {"kind": "waive", "cycle": cycle, "at": line.event.at, **line.event.data}


def collect_runs(lines: Iterable[Line], task: str, *, lost: tuple[str, ...] = ()) -> Iterable[dict[str, Any]]:
    """Return the runs that the ledger's lines tell of, in the order in which they began."""
    runs: dict[str, dict[str, Any]] = {}
    for line in lines:
        data = line.event.data
        if line.event.kind == "run-started":
            runs[data["run"]] = {
                "id": data["run"],
                "kind": "lost" if data["run"] in lost else "open",
                "phase": data["phase"],
                "iteration": None,
                "task": task,
                "exit_status": None,
                "at": line.event.at,
                "ended_at": None,
                "counts": {},
                "why": "",
                "green": None,
                "duration_s": None,
                "tree": data["tree"],
                "arguments": data["arguments"],
                "python": data["python"],
                "pytest": data["pytest"],
            }
        elif line.event.kind == "run-ended" and data["run"] in runs:
            runs[data["run"]] |= {
                "kind": data["kind"],
                "iteration": data["iteration"],
                "exit_status": data["exit_status"],
                "ended_at": line.event.at,
                "counts": data["tally"],
                "why": data["why"],
                "green": data["green"],
                "duration_s": data["duration_s"],
            }
        elif line.event.kind == "run-lost" and data["run"] in runs:
            runs[data["run"]] |= {"kind": "lost", "why": "it began and never ended"}
    return runs.values()


def _table(runs: list[dict[str, Any]]) -> str:
    if not runs:
        return "no run is recorded yet\n  next: pytest --phase=red"
    rows = [f"{'began':20}  {'phase':9} {'it':>3}  {'kind':10}  tests"]
    for run in runs:
        counts = ", ".join(f"{number} {name}" for name, number in run["counts"].items())
        why = f" ({run['why']})" if run["why"] else ""
        iteration = "" if run["iteration"] is None else run["iteration"]
        rows.append(f"{run['at'][:19] + 'Z':20}  {run['phase']:9} {iteration:>3}  {run['kind']:10}  {counts}{why}")
    return "\n".join(rows)


def _brief(line: Line) -> dict[str, Any]:
    data = line.event.data
    if line.event.kind == "evaluated":
        evaluation = data["evaluation"]
        return {name: evaluation[name] for name in ("phase", "iteration", "can_exit", "reason")}
    kept = (
        "run",
        "phase",
        "task",
        "answer",
        "name",
        "value",
        "reason",
        "by",
        "to",
        "next",
        "how",
        "why",
        "cycle",
        "guard",
    )
    found = {name: data[name] for name in kept if data.get(name) is not None}
    if "kind" in data:
        found["run_kind"] = data["kind"]
    return found


def _words(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("seq", "at", "kind"))
