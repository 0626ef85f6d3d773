"""What a verify run is worth: the runs of pytest in it that were recorded, else what its output says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_phase_gate.core.runs import Kind, count
from pytest_phase_gate.core.values import Value
from pytest_phase_gate.core.verify_lint import count_tests_said
from pytest_phase_gate.storage.opening import read_event
from pytest_phase_gate.storage.store import TaskStore


class Weighed(Value):
    tests: int | None = None
    runs: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()


#: What makes a run of pytest prove nothing, whatever its exit code.
_FAULTS = (
    ("tests_failing", "tests-failing", "failed, and the exit code hides it"),
    ("tests_newly_skipped", "no-new-skips", "newly skipped"),
    ("tests_missing", "tests-kept", "known when the task was taken, and gone now"),
    ("outcomes_doubtful", "outcomes-genuine", "that an outcome is not the test's own"),
)


def weigh(store: TaskStore, output: str, *, since: int) -> Weighed:
    """Return what the runs that were recorded since then tell; without any, what a runner's last lines tell.

    :param since: the ledger's last line when the verify command was started.
    """
    runs = _recorded(store, since)
    open_ones = [run.id for run in store.look().state.open_runs if not run.nested]
    if not runs and not open_ones:
        tests = count_tests_said(output)
        problems = (("no-tests", "it ended with 0 and ran no test"),) if tests == 0 else ()
        return Weighed(tests=tests, problems=problems)
    problems_found = [("run-lost", f"run {run[:8]} of pytest began and never ended") for run in open_ones]
    for run in runs:
        problems_found += _faults(run)
    counted = [run for run in runs if run["kind"] != Kind.VOID]
    if runs and not counted:
        problems_found.append(("no-tests", "pytest was called, and ran no test"))
    flags = [
        f"flaky: {count(run['metrics']['tests_flaky'], 'test')} passed only after a rerun"
        for run in counted
        if run["metrics"].get("tests_flaky")
    ]
    return Weighed(
        tests=sum(int(run["metrics"].get("tests_total") or 0) for run in counted),
        runs=tuple(run["run"] for run in runs),
        problems=tuple(dict.fromkeys(problems_found)),
        flags=tuple(flags),
    )


def _recorded(store: TaskStore, since: int) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for line in store.lines():
        if line.seq > since and line.event.kind == "run-ended":
            data = read_event(
                line, lambda event: {name: event.data[name] for name in ("run", "kind", "why", "metrics")}
            )
            if data["kind"] != Kind.NESTED:
                found.append(data)
    return found


def _faults(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    kind, metrics = run["kind"], run["metrics"]
    if kind == Kind.VOID:
        return []
    found = [] if kind == Kind.COMPLETE else [(f"{kind}-run", f"{kind} run: {run['why']}")]
    if kind == Kind.EMPTY:
        return [("no-tests", f"no test ran: {run['why']}")]
    found += [
        (slug, f"{count(int(metrics[name]), 'sign' if name == 'outcomes_doubtful' else 'test')} {words}")
        for name, slug, words in _FAULTS
        if metrics.get(name)
    ]
    return found
