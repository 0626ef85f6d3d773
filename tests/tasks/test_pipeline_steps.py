"""Change requests, recoveries and guidance of a pipeline, by real commands."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import cast

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import State
from phase_gate.task import Task
from phase_gate.tasks.pipeline_steps import show_votes
from phase_gate.values import replace
from tests.tasks.pipelines import CONFIGURATION, LINE, ROUTES, WORKFLOW, Pipe, unmet

pytestmark = pytest.mark.processes


@pytest.mark.criterion("PG-08")
def test_requests_have_types_a_routing_map_and_a_status(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    for kind in ROUTES:
        assert pipe.ask(kind, f"more {kind}", "--by", "ann").code == 0
    rows = pipe.gate("pipeline", "request", "list", "--json").document["requests"]
    assert {row["type"]: row["target"] for row in rows} == ROUTES
    assert {row["status"] for row in rows} == {"proposed"}
    assert pipe.ask("taste").code == 2
    assert pipe.ask("scope", "more scope").code == 13
    assert pipe.gate("pipeline", "request", "reject", "CR-1").code == 2  # without a reason
    assert pipe.gate("pipeline", "request", "reject", "CR-1", "--reason", "next year", "--by", "bob").code == 0
    unknown = pipe.gate("pipeline", "request", "approve", "CR-99", "--by", "bob")
    assert unknown.has("there is no request 'CR-99'", "try: phase-gate pipeline request list")
    assert pipe.gate("pipeline", "request", "approve", "CR-1").code == 13  # decided
    assert pipe.gate("pipeline", "request", "approve", "CR-9").code == 2
    # What lies ahead is approved, and nothing is skipped for it.
    assert pipe.gate("pipeline", "request", "approve", "CR-4").code == 0
    assert pipe.phase == "IMPLEMENTATION"
    assert pipe.gate("pipeline", "request", "approve", "CR-2").code == 0
    assert pipe.phase == "CONSENSUS_ARCHITECTURE"
    rows = pipe.gate("pipeline", "request", "list", "--json").document["requests"]
    assert [row["status"] for row in rows] == ["rejected", "approved", "proposed", "approved", "proposed"]


@pytest.mark.criterion("PG-13")
@pytest.mark.criterion("PG-14")
def test_five_recoveries_then_stuck_with_its_report(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    for number in range(1, 6):
        verdict = pipe.fail()
        assert f"recovery {number} of 5" in verdict["reason"]
        # One of them goes back, and does not get the budget back.
        pipe.recover("CONSENSUS_ROLE_PLANS" if number == 2 else None)
        if number == 2:
            pipe.make("role-plans")
            pipe.do()
    assert pipe.pipeline["recoveries"] == 5
    pipe.project.write({"docs/broken-build": ""})
    ran = pipe.gate("signal", "--reason", "surely now")
    assert ran.code == 12
    assert pipe.phase == "STUCK"
    assert pipe.pipeline["recoveries"] == 5
    ran = pipe.gate("pipeline", "recover", "--json")
    assert ran.code == 12
    report = ran.document["stuck"]
    assert report["current_failure"]["phase"] == "IMPLEMENTATION"
    assert "checks-passed" in report["current_failure"]["unmet"]
    assert "nobody looked" in report["root_cause_summary"]
    assert report["failed_iterations"] == 6
    assert report["recoveries"] == report["max_recoveries"] == 5
    assert any("phase-gate pipeline recover resume" in text for text in report["required_human_input"])
    assert pipe.gate("pipeline", "recover").out.startswith("Stuck: all 5 recoveries are used up")
    assert "\nRequired human input\n" in pipe.gate("pipeline", "recover").out


@pytest.mark.criterion("PG-13")
def test_a_failure_inside_a_recovery_uses_one_up(pipe: Pipe) -> None:
    pipe.at("INTAKE")
    pipe.fail()
    for number in range(2, 6):
        assert f"recovery {number} of 5" in pipe.signal()["reason"]
        assert pipe.pipeline["failed_phase"] == "INTAKE"
    assert pipe.signal()["reason"].startswith("STUCK")
    assert pipe.phase == "STUCK"
    assert pipe.pipeline["recoveries"] == 5


@pytest.mark.criterion("PG-18")
def test_without_consensus_on_the_recovery_plan_there_is_no_fix_attempt(pipe: Pipe) -> None:
    pipe.at("INTAKE")
    pipe.fail()
    pipe.prepare("votes")
    verdict = pipe.read()
    assert unmet(verdict) == ["consensus-reached"]
    assert pipe.gate("rewind", "INTAKE", "--reason", "no patience").code == 13
    assert pipe.project.run("--phase=intake").code == 13
    assert pipe.ask("scope", "a way out").code == 0
    assert pipe.gate("pipeline", "request", "approve", "CR-1").code == 13
    pipe.vote("ann")
    assert not pipe.read()["gate_1"]["satisfied"]
    pipe.vote("bob")
    assert pipe.read()["gate_1"]["satisfied"]
    assert pipe.signal()["can_exit"]
    pipe.enter()
    assert pipe.phase == "INTAKE"


GUIDED = CONFIGURATION + "parameters: {max_recoveries: 0}\noverrides: {allow_non_interactive: true}\n"


@pytest.mark.criterion("PG-19")
@pytest.mark.parametrize("phase", ["INTAKE", "CONSENSUS_MASTER_PLAN"])
def test_a_person_gives_guidance_where_it_is_stuck_and_the_failed_phase_goes_on(pipe: Pipe, phase: str) -> None:
    pipe.begin(GUIDED)
    while pipe.phase != phase:
        pipe.do()
    pipe.fail()
    assert pipe.phase == "STUCK"
    report = pipe.gate("pipeline", "recover", "--json").document["stuck"]
    assert any("phase-gate pipeline recover resume" in text for text in report["required_human_input"])
    before = set(pipe.pipeline.get("approved", ()))
    resume = ("pipeline", "recover", "resume", "--by", "ann", "--reason")
    assert pipe.gate("pipeline", "recover", "resume", "--by", "ann").code == 2
    assert pipe.gate(*resume, "it works").code == 13
    ran = pipe.gate(*resume, "ask the branch library, they know the customer")
    assert ran.code == 0, ran.err
    assert ran.has(f"{phase} (attempt 2) begins", "guidance      ann: ask the branch library")
    assert (pipe.phase, pipe.state["cycle"]) == (phase, 1)
    assert pipe.steps[-1] == (phase, "guided")
    assert "ask the branch library" in pipe.gate("explain", phase).out
    pipe.prepare()
    verdict = pipe.read()
    assert verdict["gate_1"]["satisfied"]
    assert [row["kind"] for row in verdict["overrides"]] == ["guidance"]
    assert set(pipe.pipeline.get("approved", ())) == before
    pipe.do()
    assert pipe.phase == LINE[LINE.index(phase) + 1]
    # No recovery was given back: the next failure needs a person again.
    pipe.fail()
    assert pipe.phase == "STUCK"
    assert pipe.gate(*resume, "the plan has to name the price").code == 0
    assert pipe.phase == LINE[LINE.index(phase) + 1]


def test_where_no_phase_asks_for_votes_none_is_named() -> None:
    rules = replace(WORKFLOW, phases=WORKFLOW.phases[:1])
    with pytest.raises(NotAllowedError) as refused:
        show_votes(cast(Task, SimpleNamespace(state=State(phase="INTAKE"), rules=rules)))
    assert refused.value.remedy == "phase-gate status shows the next step"


#: Each leads to another command, by a remedy, a next command or a hint.
LEADING = [
    "pipeline request list",
    "pipeline request new --type scope --title more",
    "pipeline request approve CR-9",
    "pipeline request approve",
    "pipeline recover resume --reason so --by mara",
    "pipeline recover start --reason so",
    "withdraw",
    "withdraw no_such",
    "waive tests-kept --reason so --by mara",
    "breaker reset --reason so --by mara",
    "audit --repair",
    "audit --accept-rollback --reason so --by mara",
    "drive --resume",
    "status -v",
]


def test_what_leads_on_leads_to_the_same_task(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHASE_GATE_TASK", "loans")
    pipe.begin()
    wrong = []
    for line in LEADING:
        ran = pipe.gate(*line.split())
        rows = f"{ran.out}{ran.err}".splitlines()
        leading = [row for row in rows if re.search("phase-gate [a-z]|pytest --phase=", row)]
        wrong += [(line, row) for row in leading or ("nothing",) if not re.search("task[ =]loans", row)]
    assert wrong == []
