"""A task's history made in memory by the real core: any number of runs, with any outcomes, at any time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.breaker import reset
from phase_gate.gate.events import apply
from phase_gate.gate.freshness import assess
from phase_gate.gate.inventory import Inventory, TestFile, frozen_from_json, split_id
from phase_gate.gate.judging import judgement_events
from phase_gate.gate.measured import Finding, Measured, Table
from phase_gate.gate.order import decide_entry, entry_events
from phase_gate.gate.outcomes import Bucket, Failure, Past, References
from phase_gate.gate.overrides import override_record
from phase_gate.gate.record import Criteria, Document, RunRecord
from phase_gate.gate.run_end import judge_run
from phase_gate.gate.state import NEW_STATE, Event, ProofRecord, Snapshot, State
from phase_gate.gate.verdict import ABSENT, Answer, Evaluation, Signal
from phase_gate.project import load_compiled
from phase_gate.proof.verdicts import Proof
from phase_gate.report.story import LedgerCheck, Story
from phase_gate.report.story_builder import StoryBuilder
from phase_gate.values import replace
from phase_gate.workflow.metrics import MetricValue

_LETTERS: dict[str, Bucket] = {
    "p": "passed",
    "f": "failed",
    "e": "error",
    "s": "skipped",
    "k": "flaky",
    "x": "xfailed",
    "u": "uncollectable",
    "n": "not-run",
}
_TALLY = {"p": "passed", "f": "failed", "e": "errors", "s": "skipped", "k": "rerun", "x": "xfailed", "u": "errors"}


class History:
    """Runs and what people do, one after the other."""

    def __init__(self, *, root: str = "invoice-service", begins: str = "2026-03-02T08:30:00+00:00") -> None:
        workflow = load_compiled("tdd")
        assert workflow is not None
        self.workflow, self.root = workflow, root
        self.clock = datetime.fromisoformat(begins)
        self.state: State = NEW_STATE
        self.events: list[Event] = []
        self.objects: dict[str, Any] = {}
        self.criteria = Criteria()
        self.links: Mapping[str, tuple[str, ...]] = {}
        self._runs = 0
        self._inventories: dict[str, Inventory] = {}
        self._record(Event(kind="created", data={"task": "default", "lineage": "0" * 32, "key_check": None}))

    # --- what happens --------------------------------------------------------------------------------------------

    def run(
        self,
        phase: str,
        outcomes: Mapping[str, str],
        *,
        tree: str = "",
        signal: Signal = ABSENT,
        seconds: float = 2.0,
        pause: float = 240.0,
        unselected: int = 0,
        interrupted: str = "",
        evidence: Mapping[str, MetricValue] | None = None,
        tables: tuple[Table, ...] = (),
        findings: tuple[Finding, ...] = (),
        notes: tuple[str, ...] = (),
        changed: tuple[str, ...] | None = None,
        messages: Mapping[str, str] | None = None,
    ) -> Evaluation:
        """Run once: outcomes are letters by test id, the tree is any word."""
        self.wait(pause)
        run = self._begin(phase, tree or f"tree-{self._runs}")
        inventory = _inventory(outcomes)
        buckets = {test_id: _LETTERS[letter] for test_id, letter in outcomes.items()}
        failing = [test_id for test_id, letter in outcomes.items() if letter in "feu"]
        session = Document(
            outcomes=buckets,
            exit_status=1 if failing else 0,
            tally=_tally(outcomes.values()),
            duration_s=seconds,
            failures={test_id: Failure(reason="assertion") for test_id in failing},
            marked=self.links,
            messages=messages or dict.fromkeys(failing, "assert 1 == 2"),
            interrupted=interrupted,
            narrowed_by=("-k total",) if unselected else (),
        )
        record = RunRecord(
            run=run,
            root=self.root,
            session=session,
            inventory=inventory,
            tree=tree or f"tree-{self._runs - 1}",
            changed_since=changed,
            unselected=tuple(f"known-{n}" for n in range(unselected)),
            criteria=self.criteria,
            evidence={"given": Measured(metrics=evidence or {}, tables=tables, findings=findings, notes=notes)},
        )
        self.wait(seconds)
        past = self._references(in_first_phase=self.workflow.first.name == phase)
        ended = judge_run(
            self.state, self.workflow, record, past, at=self.at, keep=self._keep, answer=lambda run: signal
        )
        assert ended.evaluation is not None
        verdict = [] if ended.iteration is None else judgement_events(ended.evaluation, ended)
        for event in (*ended.events, *verdict):
            self._record(event)
        return ended.evaluation

    def prove(self, proof: Proof) -> None:
        record = ProofRecord(
            tree=self.state.last_tree or "",
            freeze=self.state.freeze.current,
            object=self._keep("proof", spell_out(proof)),
            iteration=self.state.iteration,
            metrics={},
        )
        self._record(Event(kind="proved", data={"proof": to_json(record)}))

    def begin_run(self, phase: str, *, tree: str = "open") -> str:
        """Leave a run open: it is going on, or lost."""
        self.wait(240)
        return self._begin(phase, tree)

    def override(self, kind: Any, *, reason: str, by: str) -> None:
        self.wait(300)
        self._record(Event(kind="overridden", data=override_record(kind, self.state, reason=reason, by=by, at=self.at)))
        if kind == "breaker-reset":
            moved = spell_out(reset(self.state.breaker, at=self.at))
            self._record(Event(kind="breaker-reset", data={"breaker": moved}))

    def wait(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    # --- what comes of it ----------------------------------------------------------------------------------------

    @property
    def at(self) -> str:
        return self.clock.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def story(self, *, load: Callable[[str], Any] | None = None, lost: tuple[str, ...] = ()) -> Story:
        builder = StoryBuilder(load or self.objects.get)
        for event in self.events:
            builder.see(event)
        standing = assess(
            self.state,
            tree=self.state.last_tree or "",
            at=self.at,
            lost=lost,
            begin="pytest --phase=red",
            next_step=lambda: ("pytest --phase=auto", True),
        )
        ledger = LedgerCheck(events=len(self.events), head=hashlib.sha256(str(len(self.events)).encode()).hexdigest())
        return builder.build(standing, ledger, at=self.at, task="default", root=self.root, lost=lost)

    # --- inside --------------------------------------------------------------------------------------------------

    def _begin(self, phase: str, tree: str) -> str:
        entry = decide_entry(self.state, self.workflow, phase)
        run = f"{self._runs:016x}"
        self._runs += 1
        for event in entry_events(self.state, entry, self.workflow, run=run, allow_non_interactive=False):
            self._record(event)
        data = {
            "run": run,
            "phase": entry.phase.name,
            "tree": tree,
            "rules": self._keep("rules", to_json(self.workflow)),
            "arguments": [f"--phase={phase.lower()}"],
            "python": "3.13.1",
            "pytest": "9.0.0",
            "rewinds": entry.how == "rewind",
        }
        self._record(Event(kind="run-started", data=data))
        return run

    def _record(self, event: Event) -> None:
        event = event if event.at else replace(event, at=self.at)
        self.events.append(event)
        self.state = apply(self.state, event)

    def _keep(self, kind: str, value: Any) -> str:
        document = spell_out(value) if kind == "inventory" else value
        text = json.dumps(document, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        if kind == "inventory":
            self._inventories[name] = value
        self.objects.setdefault(name, json.loads(text))
        return name

    def _references(self, *, in_first_phase: bool) -> References:
        state = self.state

        def past(snapshot: Snapshot | None) -> Past | None:
            if snapshot is None:
                return None
            return Past(self._inventories[snapshot.inventory], self.objects[snapshot.outcomes])

        frozen = None
        if state.freeze.current is not None:
            document = self.objects[state.freeze.current]
            frozen = frozen_from_json(document, self._inventories[document["inventory"]])
        known = None if state.known_tests is None else self._inventories[state.known_tests]
        return References(
            baseline=past(state.baseline),
            first=past(state.first_snapshot),
            latest=past(state.latest_snapshot),
            known=known,
            targets=None if in_first_phase or state.targets is None else frozenset(self.objects[state.targets]),
            recovered=frozenset(state.recovered),
            frozen=frozen,
            red={} if state.freeze.red_bodies is None else self.objects[state.freeze.red_bodies]["bodies"],
        )


def given(reason: str, *, by: str = "mara", answer: Answer = "done") -> Signal:
    return Signal(answer=answer, reason=reason, by=by)


def _inventory(outcomes: Iterable[str]) -> Inventory:
    files: dict[str, list[str]] = {}
    for test_id in outcomes:
        path, name = split_id(test_id)
        files.setdefault(path, []).append(name)
    return Inventory(
        {
            path: TestFile(content="0", ids=tuple(sorted(names)), bodies=dict.fromkeys(names, "1"))
            for path, names in files.items()
        }
    )


def _tally(letters: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for letter in letters:
        if letter in _TALLY:
            counts[_TALLY[letter]] = counts.get(_TALLY[letter], 0) + 1
    return counts
