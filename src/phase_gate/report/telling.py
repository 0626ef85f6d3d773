"""Tell the story of a task from its events, in one pass.

Pure: what stored objects say comes through an argument. However long the ledger is, what is kept of it is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.gate.breaker import at_time
from phase_gate.gate.calibration import calibrate, judge_claims
from phase_gate.gate.events import apply
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import NEW_STATE, Event, State
from phase_gate.report.happenings import happenings_of
from phase_gate.report.ids_over_time import COMPARED, Sampled, tell_tests
from phase_gate.report.story import Happening, LedgerCheck, PhaseStep, Run, Section, Series, Story
from phase_gate.values import replace

#: The newest ones that are listed: a file of some megabytes is the most that anybody wants to send.
KEPT_RUNS = 20_000
KEPT_HAPPENINGS = 2_000
#: Changed files that a run names.
_NAMED = 5

#: What is drawn over time: metric, title, unit, and which way is better.
_TREND: tuple[tuple[str, str, str, int], ...] = (
    ("quality_after", "Quality", "points", 1),
    ("improvements_found", "Left to improve", "places", -1),
    ("suite_total", "Tests", "tests", 0),
    ("duration_s", "Duration", "s", 0),
)

#: Returns a stored object; None if it is gone or damaged.
Load = Callable[[str], Any]


class Teller:
    """Takes event after event, then tells the story."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.state: State = NEW_STATE
        self._runs: dict[str, Run] = {}
        self._begun = 0
        self._happenings: deque[Happening] = deque(maxlen=KEPT_HAPPENINGS)
        self._happened = 0
        self._samples: deque[Sampled] = deque(maxlen=COMPARED)
        self._trend: dict[str, deque[tuple[int, float]]] = {name: deque(maxlen=KEPT_RUNS) for name, *_ in _TREND}
        self._about_claims: list[Event] = []

    def see(self, event: Event) -> None:
        """Take one more event. Raises KeyError or TypeError for one that is not as we write it."""
        before, self.state = self.state, apply(self.state, event)
        if event.kind == "run-started":
            self._run_began(event)
        elif event.kind in ("run-ended", "run-lost"):
            self._run_ended(event, before)
        elif event.kind == "evaluated":
            self._judged(event.data["evaluation"])
        for kind, text in happenings_of(event, before, self.state):
            self._happened += 1
            self._happenings.append(Happening(run=self._begun, at=event.at, kind=kind, text=text))
        self._keep_for_claims(event)

    def _run_began(self, event: Event) -> None:
        self._begun += 1
        data = event.data
        run = Run(number=self._begun, id=data["run"], at=event.at, phase=data["phase"], cycle=self.state.cycle)
        self._runs[run.id] = run
        if len(self._runs) > KEPT_RUNS:
            del self._runs[next(iter(self._runs))]

    def _run_ended(self, event: Event, before: State) -> None:
        run = self._runs.get(event.data["run"])
        if run is None or before.open_run(run.id) is None:
            return
        after = self.state.streak
        if event.kind == "run-lost":
            says, resets = "it began and never ended", before.streak > 0
            self._runs[run.id] = replace(run, kind="lost", says=says, streak=after, resets=resets)
            return
        data = event.data
        metrics, changed = data["metrics"], data.get("changed")
        passed, failed, skipped = _counts(data)
        self._runs[run.id] = replace(
            run,
            kind=str(data["kind"]),
            iteration=data["iteration"],
            passed=passed,
            failed=failed,
            skipped=skipped,
            green=str(data["green"]),
            streak=after,
            resets=after < before.streak,
            seconds=data["duration_s"],
            exit_status=data["exit_status"],
            says=data["why"],
            changed=tuple((changed or ())[:_NAMED]),
            changed_count=None if changed is None else len(changed),
        )
        if data["iteration"] is None:
            return
        self._samples.append(
            Sampled(number=run.number, tree=data["tree"], inventory=data["inventory"], outcomes=data["outcomes"])
        )
        for name, points in self._trend.items():
            if isinstance(value := metrics.get(name), int | float):
                points.append((run.number, value))

    def _judged(self, evaluation: Mapping[str, Any]) -> None:
        run = self._runs.get(evaluation["run"] or "")
        if run is not None:
            self._runs[run.id] = replace(
                run,
                says=evaluation["reason"],
                gate_1=evaluation["gate_1"]["satisfied"],
                can_exit=evaluation["can_exit"],
            )

    def _keep_for_claims(self, event: Event) -> None:
        if event.kind == "claimed" or (
            self._about_claims and event.kind in ("run-ended", "rewound", "phase-entered", "phase-exited")
        ):
            kept = {
                name: event.data[name]
                for name in ("claim", "iteration", "green", "how", "forced")
                if name in event.data
            }
            self._about_claims.append(Event(kind=event.kind, data=kept, at=event.at))

    def tell(
        self,
        standing: Standing,
        ledger: LedgerCheck,
        *,
        at: str,
        task: str,
        root: str,
        lost: tuple[str, ...] = (),
        more: tuple[Section, ...] = (),
    ) -> Story:
        """Return the story so far."""
        state = self.state
        runs = tuple(replace(run, kind="lost") if run.id in lost else run for run in self._runs.values())
        return Story(
            task=task,
            root=root,
            at=at,
            standing=standing,
            ledger=ledger,
            workflow=state.workflow,
            cycle=state.cycle,
            phase=state.phase or "",
            iteration=state.iteration,
            streak=state.streak,
            steps=_steps(state, self._load),
            evaluation=state.evaluation,
            breaker=at_time(state.breaker, at),
            runs=runs,
            runs_left_out=self._begun - len(runs),
            happenings=tuple(self._happenings),
            happenings_left_out=self._happened - len(self._happenings),
            tests=tell_tests(self._samples, self._load),
            criteria=None if state.criteria is None else self._load(state.criteria),
            trend=tuple(
                Series(name=title, unit=unit, points=tuple(self._trend[name]), better=better)
                for name, title, unit, better in _TREND
                if self._trend[name]
            ),
            calibration=calibrate(*judge_claims(self._about_claims)) if self._about_claims else None,
            more=more,
        )


def _counts(data: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return passed, failed and skipped tests: as we count where that is known, else as pytest does."""
    metrics, tally = data["metrics"], data["tally"]
    if isinstance(metrics.get("suite_passing"), int):
        return metrics["suite_passing"], metrics["suite_failing"], metrics.get("tests_skipped", 0)
    failed = tally.get("failed", 0) + tally.get("error", 0) + tally.get("errors", 0)
    return tally.get("passed", 0), failed, tally.get("skipped", 0)


def _steps(state: State, load: Load) -> tuple[PhaseStep, ...]:
    rules = None if state.rules is None else load(state.rules)
    if rules is None:
        return ()
    names = [row["name"] for row in rules["phases"]]
    steps = []
    for index, name in enumerate(names):
        if name == state.phase:
            steps.append(PhaseStep(name=name, standing="exited" if state.exited else "present"))
        elif state.is_done:
            steps.append(PhaseStep(name=name, standing="past" if name in state.visited else "ahead"))
        else:
            is_past = state.phase in names and index < names.index(state.phase)
            steps.append(PhaseStep(name=name, standing="past" if is_past else "ahead"))
    done = PhaseStep(name="DONE", standing="exited" if state.is_done else "ahead")
    return (*steps, done)
