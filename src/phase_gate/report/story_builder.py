"""Read a task's story from its events, in one pass.

`read_story` reads the files and verifies every line on the way; the rest is pure. However long the ledger is, what is
kept of it is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from phase_gate.errors import StateError, StorageError
from phase_gate.gate.breaker import Status, at_time
from phase_gate.gate.events import apply
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.measured import describe_override
from phase_gate.gate.state import NEW_STATE, Event, State, load_part
from phase_gate.project import Project
from phase_gate.report.outcome_rows import COMPARED, Sampled, build_test_history
from phase_gate.report.story import Happening, HappeningKind, LedgerCheck, PhaseStep, Run, Series, Story
from phase_gate.storage.opening import read_event
from phase_gate.storage.store import TaskStore, now
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.names import DONE

#: The newest ones that are listed: a file of some megabytes is the most that users want to send.
KEPT_RUNS = 20_000
KEPT_HAPPENINGS = 2_000
#: Changed files that a run names.
_NAMED = 5

#: What is drawn over time: metric, title and unit.
_TREND: tuple[tuple[str, str, str], ...] = (
    ("quality_after", "Quality", "points"),
    ("improvements_found", "Left to improve", "places"),
    ("suite_total", "Tests", "tests"),
    ("duration_s", "Duration", "s"),
)

#: Returns a stored object; None if it is gone or damaged.
Load = Callable[[str], Any]


def read_story(project: Project, store: TaskStore) -> Story:
    """Return the story up to the first damaged line, with the damage."""
    damaged: list[StateError] = []

    def load(name: str) -> Any:
        try:
            if store.may_lack(name):
                return None  # of an earlier cycle, and no longer kept
            return store.objects.load(name)
        except StateError as error:
            damaged.append(error)
            return None

    builder, events, head = StoryBuilder(load), 0, ""
    lost: tuple[str, ...] = ()
    standing = CurrentStatus("closed", "")  # any damage is reported instead
    try:
        for line in store.lines():
            read_event(line, builder.see)
            events, head = line.seq, line.hash
        opened = store.read()
        task = Task(project, store, builder.state)
        lost = task.lost_runs
        store.check_objects(opened.state)
        standing = task.current_status()
    except StorageError:
        raise
    except StateError as error:
        damaged.append(error)
    check = LedgerCheck(events=events, head=head)
    # Only once, because it loads objects, which may be damaged, too.
    story = builder.build(standing, check, at=now(), task=project.task, root=str(project.root), lost=lost)
    if not damaged:
        return story
    first = damaged[0]
    closed = CurrentStatus("closed", first.problem, next_hint=first.remedy)
    return replace(story, ledger=replace(check, problem=first.problem, remedy=first.remedy), standing=closed)


class StoryBuilder:
    """Takes event after event, then builds the story."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.state: State = NEW_STATE
        self._runs: dict[str, Run] = {}
        self._begun = 0
        self._happenings_by_kind: deque[Happening] = deque(maxlen=KEPT_HAPPENINGS)
        self._happened = 0
        self._samples: deque[Sampled] = deque(maxlen=COMPARED)
        self._trend: dict[str, deque[tuple[int, float]]] = {name: deque(maxlen=KEPT_RUNS) for name, *_ in _TREND}
        #: Phase -> the object with its last proof, in this cycle.
        self._proofs: dict[str, str] = {}

    def see(self, event: Event) -> None:
        """Take one more event. Raises KeyError or TypeError for one that is not as we write it."""
        before, self.state = self.state, apply(self.state, event)
        if event.kind == "run-started":
            self._run_began(event)
        elif event.kind in ("run-ended", "run-lost"):
            self._run_ended(event, before)
        elif event.kind == "evaluated":
            self._judged()
        elif event.kind == "proved":
            self._proofs[self.state.phase or ""] = event.data["proof"]["object"]
        if self.state.cycle != before.cycle:
            self._proofs.clear()
        for kind, text in happenings_of(event, before, self.state):
            self._happened += 1
            self._happenings_by_kind.append(Happening(run=self._begun, at=event.at, kind=kind, text=text))

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

    def _judged(self) -> None:
        evaluation = self.state.evaluation
        if evaluation is not None and (run := self._runs.get(evaluation.run or "")) is not None:
            self._runs[run.id] = replace(run, says=evaluation.reason, can_exit=evaluation.can_exit)

    def build(
        self,
        standing: CurrentStatus,
        ledger: LedgerCheck,
        *,
        at: str,
        task: str,
        root: str,
        lost: tuple[str, ...] = (),
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
            state=state,
            steps=_steps(state, self._load),
            evaluation=state.evaluation,
            breaker=at_time(state.breaker, at),
            runs=runs,
            runs_left_out=self._begun - len(runs),
            happenings=tuple(self._happenings_by_kind),
            happenings_left_out=self._happened - len(self._happenings_by_kind),
            tests=build_test_history(self._samples, self._load),
            criteria=None if state.criteria is None else self._load(state.criteria),
            trend=tuple(
                Series(name=title, unit=unit, points=tuple(self._trend[name]))
                for name, title, unit in _TREND
                if self._trend[name]
            ),
            proofs={phase: proof for phase, name in self._proofs.items() if (proof := self._load(name)) is not None},
            more=tuple(each for name, value in state.parts.items() for each in load_part(name).sections(value)),
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
    present = names.index(state.phase) if state.phase in names else len(names)

    def standing(index: int, name: str) -> Literal["past", "now", "exited", "ahead"]:
        if index == present:
            return "exited" if state.exited else "now"
        is_past = name in state.visited if state.is_done else index < present < len(names)
        return "past" if is_past else "ahead"

    steps = (PhaseStep(name=name, standing=standing(index, name)) for index, name in enumerate(names))
    return (*steps, PhaseStep(name=DONE, standing="exited" if state.is_done else "ahead"))


# --- events between the runs as sentences: phases, signals, overrides, the breaker. Pure


Happened = tuple[HappeningKind, str]

_SIGNALS: dict[str, Happened] = {
    "done": ("signal", "exit signal"),
    "not-done": ("not-done", "signal: not done"),
    "blocked": ("needs-person", "signal: blocked"),
    "test-wrong": ("needs-person", "signal: a test is wrong"),
    "stale": ("too-early", "a stale signal"),
    "refused": ("too-early", "a refused signal"),
}
_BREAKER: dict[Status, Happened] = {
    "open": ("breaker-open", "the circuit opens"),
    "half-open": ("breaker-half-open", "the circuit is half-open"),
    "closed": ("breaker-closed", "the circuit is closed again"),
}
#: What resets the streak and the last verdict.
_DOUBTED = {
    "repaired": "the ledger was repaired",
    "rollback-accepted": "the state folder was accepted as it was found",
}
#: Steps of other features: text, reason and author.
_NOTES: dict[str, Callable[[Any], tuple[str, str | None, str | None]]] = {
    "fact-declared": lambda data: (f"declared {data['name']} = {data['value']}", data["reason"], data["by"]),
    "baseline-taken": lambda data: ("a baseline is recorded", None, None),
    "executor-reported": lambda data: (f"the executor reports {data['result']['status']}", None, data["by"]),
    "verify-ran": lambda data: (_describe_check(data["check"]), None, None),
    "attempt-failed": lambda data: (f"failed: {data['failure']['type']}", data["failure"]["error"], None),
    "committed": lambda data: (f"committed as {data['commit'][:10]}", None, None),
    "request-made": lambda data: (f"{data['id']} asks for a change ({data['type']})", data["title"], data["by"]),
    "request-decided": lambda data: (f"{data['id']} {data['status']}", data["reason"], data["by"]),
}
#: How a pipeline goes back, as a phrase.
_WAYS_BACK = {"request": "by a change request", "recovered": "after a recovery"}


def happenings_of(event: Event, before: State, after: State) -> Iterator[Happened]:
    """Yield what an event means in the story."""
    yield from _happenings_by_kind(event, before, after)
    if after.breaker.status is not before.breaker.status and event.kind not in ("phase-entered", "phase-exited"):
        kind, text = _BREAKER[after.breaker.status]
        yield kind, _with_reason(text, after.breaker.reason)


def _happenings_by_kind(event: Event, before: State, after: State) -> Iterator[Happened]:
    data: Any = event.data
    match event.kind:
        case "phase-entered" if data.get("how") == "rewind":
            if data.get("run") is not None:  # otherwise a user typed it, with a reason
                yield "rewound", f"back to {data['phase']}, by a run"
        case "phase-entered" if data.get("how") in _WAYS_BACK:
            yield "rewound", f"back to {data['phase']}, {_WAYS_BACK[data['how']]}"
        case "phase-entered":
            yield "entered", f"{data['phase']} begins" + (f", cycle {after.cycle}" if not before.visited else "")
        case "phase-exited":
            kind: HappeningKind = "forced" if data.get("forced") else "exited"
            yield kind, f"{before.phase} exits" + (", forced" if data.get("forced") else "")
        case "signal-spent":
            kind, text = _SIGNALS.get(data["answer"], ("note", f"signal: {data['answer']}"))
            if data.get("premature"):
                kind, text = "too-early", "exit signal, too early"
            yield kind, _with_reason(text, data.get("reason") or data.get("problem"), data.get("by"))
        case "signal-refused":
            yield "too-early", _with_reason("a refused signal", data.get("problem"))
        case "waived":
            yield "override", f"waived {describe_override({'kind': 'waive', 'expires': '', **data})}"
        case "overridden":
            yield "override", describe_override({"at": event.at, **data})
        case "rewound":
            yield "rewound", _with_reason(f"back to {data['to']}", data.get("reason"), data.get("by"))
        case "claimed":
            claim = data["claim"]
            yield "claim", _with_reason(f"claim, {claim['confidence']} points: {claim['gate']}", claim["reason"])
        case "attempt-failed" if before.is_pipeline:
            failure = data["failure"]
            yield "too-early", _with_reason(f"the gate of {failure['phase']} failed", failure["error"])
        case "reviewed" if before.is_pipeline:
            word = data["word"]
            vote = f"voted {word['answer']} ({word['confidence']:g})"
            yield "note", _with_reason(vote, word.get("reason"), word["by"])
        case "stuck":
            yield "needs-person", _with_reason("stuck", data["reason"])
        case "repaired" | "rollback-accepted":
            yield "override", _with_reason(_DOUBTED[event.kind], data.get("reason"), data.get("by"))
        case _ if event.kind in _NOTES:
            yield "note", _with_reason(*_NOTES[event.kind](data))


def _with_reason(text: str, reason: str | None, by: str | None = None) -> str:
    return text + (f" ({by})" if by else "") + (f": {reason}" if reason else "")


def _describe_check(check: Mapping[str, Any]) -> str:
    code = "" if check["exit_code"] is None else f" with {check['exit_code']}"
    return f"the verify command {'began' if check['how'] == 'running' else check['how']}{code}"
