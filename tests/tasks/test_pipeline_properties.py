"""Random pipelines, random events: nothing is skipped, every transition is declared, the budget and the fold hold.

The oracle reads the generated file by itself; the code under test gets it as YAML, like anybody's workflow.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phase_gate.config.files import load_shipped_guards
from phase_gate.config.workflow import parse_workflow
from phase_gate.errors import PhaseGateError
from phase_gate.gate.events import apply
from phase_gate.gate.judging import evaluate_without_run, judgement_events
from phase_gate.gate.measured import Remembered
from phase_gate.gate.order import Entry, How, decide_entry, entry_events
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import NEW_STATE, Event, State, state_from_json, state_to_json
from phase_gate.tasks.artifacts import SeenArtifact, SeenProject
from phase_gate.tasks.evidence import measure
from phase_gate.tasks.handins import RootCause
from phase_gate.tasks.pipeline import Failure, Pipeline, PipelineFiles, Request, files_in, find_pipeline
from phase_gate.tasks.routing import Plan, budget, decided, entry_data, failure_events, made, main_line
from phase_gate.values import replace
from phase_gate.workflow.model import ROOT_CAUSE, Workflow
from phase_gate.workflow.names import DONE, STUCK

GUARDS = load_shipped_guards()
NAMES = ("ALPHA", "BETA", "GAMMA", "DELTA", "EPSILON")
ARTIFACTS = ("one", "two", "three")
VERSIONS = st.sampled_from(["", "a", "b", "c", "d"])
AT = "2026-01-01T00:00:00.000Z"


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Return a workflow file, as data: some phases on a line, some of which fail into a recovery or route requests."""
    line = NAMES[: draw(st.integers(1, len(NAMES)))]
    recovers: bool = draw(st.booleans())
    phases: dict[str, Any] = {}
    for name in line:
        phase: dict[str, Any] = {"tests": "none", "gate_1": {"name": name, "condition": "artifacts_missing == 0"}}
        wanted: list[str] = draw(st.lists(st.sampled_from(ARTIFACTS), unique=True, max_size=2))
        phase["requires"] = {"artifacts": wanted}
        votes: bool = draw(st.booleans())
        if wanted and votes:
            phase["requires"]["consensus"] = {"on": wanted[:1], "threshold": 0.5, "voters": 1}
        if recovers and draw(st.booleans()):
            phase["on_failure"] = "MEND"
        if draw(st.booleans()):
            phase["routes"] = "requests"
        phases[name] = phase
    if recovers:
        phases[line[0]]["on_failure"] = "MEND"
        phases["MEND"] = {
            "tests": "none",
            "recovers": True,
            "requires": {"artifacts": ["record"]},
            "gate_1": {"name": "Mended", "condition": "artifacts_missing == 0"},
        }
        if draw(st.booleans()):
            phases["MEND"]["on_failure"] = "MEND"
    made_when = st.sampled_from(["attempt", "phase"])
    artifacts = {name: {"path": f"{name}.md", "made": draw(made_when)} for name in ARTIFACTS}
    return {
        "workflow": "random",
        "start": "first",
        "rewind_by_option": False,
        "parameters": {"max_recoveries": draw(st.integers(0, 3))},
        "artifacts": {**artifacts, "record": {"path": "record.json", "schema": ROOT_CAUSE}},
        "routes": {kind: draw(st.sampled_from(line)) for kind in ("scope", "config")},
        "phases": phases,
    }


class World:
    """A task, the events of its ledger, and somebody who does things in no order at all."""

    def __init__(self, workflow: Workflow, draw: Any) -> None:
        self.workflow, self.draw = workflow, draw
        self.state: State = NEW_STATE
        self.ledger: list[Event] = []
        self.files: dict[str, str] = {}
        self.written = 0

    def record(self, *events: Event) -> None:
        for event in events:
            # As it comes back from the file.
            stored = Event(kind=event.kind, data=json.loads(json.dumps(event.data)), at=AT)
            self.ledger.append(stored)
            self.state = apply(self.state, stored)

    def remembered(self) -> Remembered:
        return Remembered(parts={"pipeline": PipelineFiles(artifacts=dict(self.files), commit="c0ffee", rules="r")})

    def do(self) -> None:
        actions = (
            *(self.go_on, self.go_on, self.go_on, self.enter, self.write, self.vote, self.judge),
            *(self.ask, self.answer, self.rewind, self.start),
        )
        with contextlib.suppress(PhaseGateError):  # refused: nothing was recorded
            self.draw(st.sampled_from(actions))()

    def go_on(self) -> None:
        """Do what the phase asks for, say so, and enter what follows."""
        phase = self.workflow.phase(self.state.phase or "")
        if phase is not None and not self.state.exited:
            for name in () if phase.requires is None else phase.requires.artifacts:
                self.written += 1
                self.files[name] = f"v{self.written}"
            self.vote()
            self.judge(Reading(answer="done"))
        self.enter("auto")

    def enter(self, name: str | None = None) -> None:
        entry = decide_entry(self.state, self.workflow, name or self.draw(st.sampled_from(["auto", *NAMES, "MEND"])))
        if entry.how is not How.STAY:
            self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        self.record(
            *entry_events(
                self.state,
                entry,
                self.workflow,
                run=None,
                allow_non_interactive=False,
                remembered=self.remembered(),
            )
        )

    def write(self) -> None:
        self.files[self.draw(st.sampled_from([*ARTIFACTS, "record"]))] = self.draw(VERSIONS)

    def vote(self) -> None:
        phase, pipeline = self.workflow.phase(self.state.phase or ""), find_pipeline(self.state)
        if phase is None or pipeline is None or phase.requires is None or phase.requires.consensus is None:
            return
        on = {name: self.files.get(name, "") for name in phase.requires.consensus.on}
        attempt = pipeline.attempts.get(phase.name, 0)
        data = {"by": "ann", "vote": "approve", "confidence": 1.0, "phase": phase.name, "attempt": attempt, "on": on}
        self.record(Event(kind="voted", data=data))

    def judge(self, reading: Reading | None = None) -> None:
        state, pipeline = self.state, find_pipeline(self.state)
        phase = self.workflow.phase(state.phase or "")
        if phase is None or pipeline is None or state.exited:
            return
        targets = ["", "", *main_line(self.workflow), "MEND", DONE]
        seen = {
            name: SeenArtifact(files=(name,) if digest else (), digest=digest) for name, digest in self.files.items()
        }
        seen = {name: seen.get(name, SeenArtifact()) for name in (*ARTIFACTS, "record")}
        cause = RootCause(
            failed_phase=pipeline.failed_phase or NAMES[0],
            summary="s",
            root_cause="r",
            requires_phase_rewind_to=self.draw(st.sampled_from(targets)),
        )
        seen["record"] = replace(seen["record"], document=cause)
        evidence = measure(SeenProject(artifacts=seen, constitution={}, tree=""), pipeline, self.workflow, phase)
        reading = reading or self.draw(st.sampled_from([ABSENT, Reading(answer="done")]))
        evaluation = evaluate_without_run(
            state, self.workflow, phase, reading, evidence=evidence, tree="t", at=AT, root="/"
        )
        self.record(
            *judgement_events(
                evaluation,
                phase,
                at=AT,
                state=state,
                workflow=self.workflow,
                look=lambda entered: self.remembered(),
            )
        )

    def ask(self) -> None:
        pipeline, rules = find_pipeline(self.state), self.workflow.pipeline
        assert rules is not None
        if pipeline is None or self.state.phase in (DONE, STUCK):
            return
        kind = self.draw(st.sampled_from(sorted(rules.routes)))
        number = len(pipeline.requests) + 1
        self.record(made(Request(id=f"CR-{number}", type=kind, title="t", target=rules.routes[kind]), at=AT))

    def answer(self) -> None:
        pipeline = find_pipeline(self.state)
        if pipeline is None or not pipeline.pending or self.state.phase in (DONE, STUCK):
            return
        status = self.draw(st.sampled_from(["approved", "rejected"]))
        self.record(decided(pipeline.pending[0], status, by="ann", reason="r"))

    def rewind(self) -> None:
        line = main_line(self.workflow)
        if self.state.phase not in line:
            return
        target = self.workflow.phase(self.draw(st.sampled_from(line[: line.index(self.state.phase) + 1])))
        assert target is not None
        pipeline, current = find_pipeline(self.state), self.workflow.phase(self.state.phase)
        said = entry_data(pipeline or Pipeline(), self.workflow, current, target, "rewind", files_in(self.remembered()))
        self.record(Event(kind="phase-entered", data={"phase": target.name, "how": "rewind", **said}))

    def start(self) -> None:
        phase, pipeline = self.workflow.phase(self.state.phase or ""), find_pipeline(self.state)
        if phase is None or pipeline is None or phase.recovers or not phase.on_failure:
            return
        if pipeline.recoveries < budget(self.workflow):
            plan = Plan(failure=Failure(phase=phase.name, reason="on purpose"))
            self.record(*failure_events(pipeline, self.workflow, phase, plan, self.remembered(), at=AT))


class Oracle:
    """What the file allows, read without any of the code under test."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.phases: Mapping[str, Any] = document["phases"]
        self.line = [name for name, phase in self.phases.items() if not phase.get("recovers")]
        self.routes = set(document["routes"].values())
        self.budget: int = document["parameters"]["max_recoveries"]

    def check(self, ledger: list[Event]) -> None:
        at: str | None = None
        exited = failed = ""
        recoveries = 0
        for event in ledger:
            data = event.data
            if event.kind == "cycle-began":
                assert at in (None, DONE), "a cycle begins where none is going on"
                at, recoveries = None, 0
            elif event.kind == "phase-entered":
                assert at != STUCK, "nothing follows STUCK"
                self._check_entry(at, data["phase"], data["how"], exited=exited, failed=failed)
                at, exited = data["phase"], ""
            elif event.kind == "phase-exited":
                assert data["phase"] == at, "only the present phase exits"
                exited = data["phase"]
                if data["next"] == DONE:
                    assert at == self.line[-1], "only the last phase leads to DONE"
                    at = DONE
            elif event.kind == "gate-failed":
                failed = data["failed_phase"]
                assert failed in self.line, "what failed is no recovery"
                recoveries += data["uses_recovery"]
                assert recoveries <= self.budget, "more recoveries than there are"
            elif event.kind == "stuck":
                at = STUCK

    def _check_entry(self, at: str | None, to: str, how: str, *, exited: str, failed: str) -> None:
        before = -1 if at not in self.line else self.line.index(at)
        if how in ("begin", "new-cycle"):
            assert to == self.line[0]
        elif how == "next":
            assert exited == at, "nobody goes on from a phase that has not exited"
            assert self.line.index(to) == before + 1, f"{at} is followed by {to}"
        elif how == "failure":
            assert at is not None
            assert self.phases[at].get("on_failure") == to
        elif how == "recovered":
            assert self.phases[at or ""].get("recovers")
            assert exited == at
            assert self.line.index(to) <= self.line.index(failed), f"{to} lies ahead of {failed}, which failed"
        elif how == "request":
            assert to in self.routes
            assert self.line.index(to) <= before, f"a request led ahead, from {at} to {to}"
        else:
            assert how == "rewind"
            assert self.line.index(to) <= before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=documents(), data=st.data())
def test_random_pipelines_keep_to_their_file(document: dict[str, Any], data: st.DataObject) -> None:
    workflow = parse_workflow(yaml.safe_dump(document, sort_keys=False), name="random.yaml", guards=GUARDS)
    world, oracle = World(workflow, data.draw), Oracle(document)
    world.go_on()
    for _ in range(data.draw(st.integers(5, 40))):
        world.do()
    oracle.check(world.ledger)
    again = NEW_STATE
    for event in world.ledger:
        again = apply(again, event)
        pipeline = find_pipeline(again)
        assert pipeline is None or pipeline.recoveries <= oracle.budget
    assert again == world.state
    stored = state_to_json(world.state)
    assert state_from_json(json.loads(json.dumps(stored))) == world.state
