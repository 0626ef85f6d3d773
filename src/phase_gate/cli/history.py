"""`phase-gate history`: every run of the task, oldest first. Streams the ledger; only looks."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from phase_gate.cli._answer import Call, Done
from phase_gate.gate.events import verdict_of
from phase_gate.gate.measured import describe_override
from phase_gate.gate.state import Event
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.storage.ledger import Line
from phase_gate.storage.opening import read_event
from phase_gate.visible import show_rows


def run(call: Call) -> Done:
    project = call.project()
    store = call.store(project)
    opened = store.look()
    if call.arguments.events:
        return Done(text=_event_rows(store.lines()), document={"events": _events(store.lines())})
    if call.arguments.calibration:
        return _calibration(store.lines())
    overrides: list[dict[str, Any]] = []
    # In one pass: what people have let pass is little, and stands behind the runs.
    lines = _set_aside(store.lines(), overrides)
    runs = collect_runs(lines, project.task, lost=store.lost_runs(opened.state))
    document = {"task": project.task, "root": str(project.root), "runs": runs, "overrides": _each(overrides)}
    return Done(text=_rows(runs, overrides), document=document)


def _calibration(lines: Iterable[Line]) -> Done:
    from phase_gate.claims.calibration import calibrate, calibration_to_json, judge_claims

    found = calibrate(*judge_claims(line.event for line in lines))
    rows = ["score    claims  true later"]
    for row in found.rows:
        share = "" if row.share is None else f"{row.share:5.0%}"
        rows.append(f"{row.low:>3}-{row.high - 1:<3}  {row.claims:>6}  {row.true:>4} {share}".rstrip())
    if found.open:
        rows.append(f"{found.open} more: nothing came after them")
    return Done(text=show_rows(rows), document=calibration_to_json(found))


def collect_runs(lines: Iterable[Line], task: str, *, lost: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Yield the runs that the ledger's lines tell of, in the order in which they began.

    Holds no more than the runs that overlap: the first one's end lets it go.
    """
    runs: dict[str, dict[str, Any]] = {}
    open_ones: set[str] = set()
    for line in lines:
        kind = line.event.kind
        if kind == "run-started":
            row = read_event(line, lambda event: _began(event, task, lost))
            runs[row["id"]] = row
            open_ones.add(row["id"])
        elif kind in ("run-ended", "run-lost"):
            run, change = read_event(line, _ended)
            if run in open_ones:
                runs[run] |= change
                open_ones.remove(run)
        elif kind in ("repaired", "rollback-accepted"):
            open_ones.clear()  # the state forgets them there: their ends do not count any more
        while runs and (first := next(iter(runs))) not in open_ones:
            yield runs.pop(first)
    yield from runs.values()


def _began(event: Event, task: str, lost: tuple[str, ...]) -> dict[str, Any]:
    data = event.data
    return {
        "id": _text(data["run"]),
        "kind": "lost" if data["run"] in lost else "open",
        "phase": _text(data["phase"]),
        "iteration": None,
        "task": task,
        "exit_status": None,
        "at": event.at,
        "ended_at": None,
        "counts": {},
        "metrics": {},
        "why": "",
        "green": None,
        "duration_s": None,
        "tree": data["tree"],
        "arguments": data["arguments"],
        "python": data["python"],
        "pytest": data["pytest"],
    }


def _ended(event: Event) -> tuple[str, dict[str, Any]]:
    data = event.data
    if event.kind == "run-lost":
        return _text(data["run"]), {"kind": "lost", "why": "it began and never ended"}
    return _text(data["run"]), {
        "kind": _text(data["kind"]),
        "iteration": data["iteration"],
        "exit_status": data["exit_status"],
        "ended_at": event.at,
        "counts": dict(data["tally"]),
        "metrics": dict(data["metrics"]),
        "why": data["why"],
        "green": data["green"],
        "duration_s": data["duration_s"],
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _set_aside(lines: Iterable[Line], overrides: list[dict[str, Any]]) -> Iterator[Line]:
    """Yield the lines, and keep what people have let pass, oldest first, with the cycle that it was for."""
    cycle = 0
    for line in lines:
        if line.event.kind == "cycle-began":
            cycle = read_event(line, lambda event: event.data.get("cycle", 0))
        elif line.event.kind == "waived":
            row = {"kind": "waive", "cycle": cycle, "at": line.event.at}
            read_event(line, lambda event, row=row: describe_override(row | event.data))  # type: ignore[misc]
            overrides.append({**row, **line.event.data})
        yield line


def _each(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows that are there by the time they are asked for."""
    yield from rows


def _show_count(name: str, number: int) -> str:
    """Return a count as pytest says it: only errors have a plural there."""
    return f"1 {name.removesuffix('s')}" if number == 1 and name == "errors" else f"{number} {name}"


def _rows(runs: Iterator[dict[str, Any]], overrides: list[dict[str, Any]]) -> Iterator[str]:
    title = f"{'began':20}  {'phase':9} {'it':>3}  {'kind':10}  tests"
    ended = _Trend()
    for run in runs:
        if title:
            yield title
            title = ""
        ended.add(run)
        counts = ", ".join(_show_count(name, number) for name, number in run["counts"].items())
        why = f" ({run['why']})" if run["why"] else ""
        iteration = "" if run["iteration"] is None else str(run["iteration"])
        yield f"{run['at'][:19] + 'Z':20}  {run['phase']:9} {iteration:>3}  {run['kind']:10}  {counts}{why}"
    if title:
        yield from ("no run is recorded yet", "  next: pytest --phase=red")
    yield from ended.lines()
    for row in overrides:
        yield f"waived {row['at'][:19]}Z  {describe_override(row)}"


class _Trend:
    """The last runs that ended, as sparklines below the table."""

    #: As many as a terminal shows, and a few in each of its columns.
    _KEPT = 600
    #: Fewer are read faster than any line.
    _FEWEST = 3

    def __init__(self) -> None:
        self._runs: deque[tuple[float, float, float]] = deque(maxlen=self._KEPT)

    def add(self, run: dict[str, Any]) -> None:
        if run["green"] is not None:
            counts, metrics = run["counts"], run["metrics"]
            failed = metrics.get("suite_failing", counts.get("failed", 0))
            self._runs.append((failed, metrics.get("suite_passing", counts.get("passed", 0)), run["duration_s"] or 0.0))

    def lines(self) -> Iterator[str]:
        if len(self._runs) < self._FEWEST:
            return
        from phase_gate.report.text import can_show_blocks, sparkline

        plain = not can_show_blocks(getattr(sys.stdout, "encoding", None))
        for index, (name, form) in enumerate((("failed", ".0f"), ("passed", ".0f"), ("seconds", ".1f"))):
            values = [row[index] for row in self._runs]
            yield f"{name:9}{sparkline(values, plain=plain)}  {values[0]:{form}} to {values[-1]:{form}}"


def _events(lines: Iterable[Line]) -> Iterator[dict[str, Any]]:
    for line in lines:
        brief = read_event(line, _brief)
        yield {"seq": line.seq, "at": line.event.at, "kind": line.event.kind, **brief}


def _event_rows(lines: Iterable[Line]) -> Iterator[str]:
    is_empty = True
    for row in _events(lines):
        is_empty = False
        yield f"{row['seq']:>5}  {row['at']}  {row['kind']:16}  {_words(row)}"
    if is_empty:
        yield "nothing has happened yet"


def _brief(event: Event) -> dict[str, Any]:
    data = event.data
    if event.kind == "evaluated":
        verdict = evaluation_to_json(verdict_of(event))
        return {name: verdict[name] for name in ("phase", "iteration", "can_exit", "reason")}
    if event.kind == "claimed":
        claim = data["claim"]
        return {name: claim[name] for name in ("phase", "iteration", "decision", "indicators", "confidence", "reason")}
    kept = (
        *("attempt", "command", "commit", "mark", "skip_kind", "wave", "outcome", "code", "seconds"),
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
    for name, inner in _INSIDE.get(event.kind, ()):
        found[inner] = data[name][inner]
    if "kind" in data:
        found["run_kind"] = data["kind"]
    return found


#: What is told of events that hold a document of their own.
_INSIDE = {
    "task-taken": (("spec", "name"),),
    "executor-reported": (("result", "status"),),
    "verify-ran": (("check", "how"), ("check", "exit_code")),
    "reviewed": (("word", "by"), ("word", "answer")),
    "voted": (("word", "by"), ("word", "answer")),
    "attempt-failed": (("failure", "type"), ("failure", "error")),
    "iteration-started": (("iteration", "number"), ("iteration", "phase")),
    "iteration-ended": (("iteration", "number"), ("iteration", "outcome"), ("iteration", "reason")),
}


def _words(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("seq", "at", "kind"))
