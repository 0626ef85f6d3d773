"""The phases of a pipeline: their order, requests that lead back, recoveries, and artifacts that get old."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.tasks.routing import PipelineFiles, entry_data, following, main_line
from phase_gate.tasks.work import Pipeline, Request
from tests.tasks.pipelines import CHECKS, CONFIGURATION, LINE, ROUTES, WORKFLOW, Pipe

PHASES = {phase.name: phase for phase in WORKFLOW.phases}


ALL = {name: f"{name}-now" for name in (WORKFLOW.pipeline.artifacts if WORKFLOW.pipeline else ())}


#: What may be older than the pipeline.
PLANS = {"intake-brief", "master-plan", "architecture-plan", "role-plans"}


@pytest.mark.parametrize(
    ("at", "phase", "how", "old"),
    [
        pytest.param(None, "INTAKE", "begin", set(ALL) - PLANS, id="reports-that-lay-there-before-and-no-plans"),
        pytest.param("INTAKE", "CONSENSUS_MASTER_PLAN", "next", set(), id="going-on-makes-nothing-old"),
        pytest.param("CONSENSUS_ROLE_PLANS", "IMPLEMENTATION", "next", {"repository-snapshot"}, id="but-a-snapshot"),
        pytest.param(
            "AUDIT",
            "REVIEW",
            "rewind",
            {"review-decision", "repository-snapshot", "audit-report", "production-report"},
            id="a-rewind-makes-old-what-comes-from-there-on",
        ),
        pytest.param("AUDIT", "PRODUCTION_GATE", "request", {"production-report"}, id="so-does-a-request"),
        pytest.param("AUDIT", "RECOVERY_LOOP", "failure", {"root-cause", "recovery-plan"}, id="a-recovery-has-its-own"),
    ],
)
def test_what_an_entry_makes_old(at: str | None, phase: str, how: str, old: set[str]) -> None:
    now = PipelineFiles(artifacts=ALL, commit="c")
    data = entry_data(Pipeline(), WORKFLOW, PHASES.get(at or ""), PHASES[phase], how, now)["work"]
    assert set(data.get("old", {})) == old
    assert all(digests == [ALL[name]] for name, digests in data.get("old", {}).items())


def test_a_plan_that_an_earlier_cycle_used_is_old_in_the_next_one() -> None:
    past = Pipeline(old={"intake-brief": ("first",)}, made={"intake-brief": "second", "audit-report": "third"})
    now = PipelineFiles(artifacts=ALL, commit="c")
    old = entry_data(past, WORKFLOW, None, PHASES["INTAKE"], "new-cycle", now)["work"]["old"]
    assert old["intake-brief"] == ["first", "second"], "and what was written since counts"
    assert old["audit-report"] == [ALL["audit-report"]]
    assert "master-plan" not in old


def test_after_a_recovery_what_stood_there_at_the_failure_is_old() -> None:
    pipeline = Pipeline(at_failure={"role-plans": "then", "production-report": "then"})
    now = PipelineFiles(artifacts=ALL, commit="c")
    data = entry_data(pipeline, WORKFLOW, PHASES["RECOVERY_LOOP"], PHASES["ROLE_PLANNING"], "recovered", now)
    assert data["work"]["old"]["role-plans"] == ["then"], "what is made in a recovery counts"
    data = entry_data(pipeline, WORKFLOW, PHASES["RECOVERY_LOOP"], PHASES["PRODUCTION_GATE"], "recovered", now)
    assert data["work"]["old"]["production-report"] == [ALL["production-report"], "then"], "a report does not"


def request(number: int, target: str, status: Any = "proposed") -> Request:
    return Request(id=f"CR-{number}", type="scope", title="t", target=target, status=status)


@pytest.mark.parametrize(
    ("phase", "requests", "way"),
    [
        ("REVIEW", [], ("AUDIT", "next")),
        ("REVIEW", [request(1, "INTAKE")], ("INTAKE", "request")),
        ("REVIEW", [request(1, "REVIEW")], ("REVIEW", "request")),
        ("REVIEW", [request(1, "INTAKE", "approved"), request(2, "INTAKE", "rejected")], ("AUDIT", "next")),
        ("REVIEW", [request(1, "PRODUCTION_GATE")], ("AUDIT", "next")),
        ("REVIEW", [request(1, "QA_VALIDATION"), request(2, "ARCHITECTURE")], ("ARCHITECTURE", "request")),
        ("IMPLEMENTATION", [request(1, "INTAKE")], ("QA_VALIDATION", "next")),
    ],
)
def test_where_a_phase_leads(phase: str, requests: list[Request], way: tuple[str, str]) -> None:
    pipeline = Pipeline(requests=tuple(requests))
    found = following(pipeline, WORKFLOW, PHASES[phase])
    assert (found.phase, found.how) == way
    assert bool(found.requests) is (way[1] == "request")


@pytest.mark.processes
@pytest.mark.criterion("PG-01")
@pytest.mark.criterion("PG-15")
def test_fourteen_states_in_order_and_the_production_gate_leads_to_done(pipe: Pipe) -> None:
    names = [phase.name for phase in WORKFLOW.phases]
    assert names == [*LINE, "RECOVERY_LOOP"]
    assert main_line(WORKFLOW) == LINE
    pipe.begin()
    seen = []
    while pipe.phase != "DONE":
        seen.append(pipe.phase)
        pipe.do()
    assert tuple(seen) == LINE
    # DONE is final: what has exited can't be signalled, rewound or recovered.
    for words in (
        ("signal", "--reason", "x"),
        ("rewind", "AUDIT", "--reason", "x"),
        ("pipeline", "recover", "start", "--reason", "x"),
    ):
        assert pipe.gate(*words).code == 13
    assert [phase for phase, _ in pipe.steps] == list(LINE)


@pytest.mark.processes
@pytest.mark.criterion("PG-01")
def test_stuck_is_final(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + "parameters: {max_recoveries: 0}\n")
    pipe.fail()
    assert pipe.phase == "STUCK"
    before = (pipe.project.root / ".phase-gate" / "ledger.jsonl").read_bytes()
    for words in (
        ("advance",),
        ("signal", "--reason", "x"),
        ("rewind", "INTAKE", "--reason", "x"),
        ("pipeline", "request", "new", "--type", "scope", "--title", "x"),
        ("pipeline", "recover", "start", "--reason", "x"),
    ):
        assert pipe.gate(*words).code == 13, words
    assert pipe.project.run("--phase=intake").code == 13
    assert pipe.project.run("--phase=auto").code == 13
    assert (pipe.project.root / ".phase-gate" / "ledger.jsonl").read_bytes() == before
    assert pipe.gate("check").code == 12
    assert pipe.gate("status").code == 12


@pytest.mark.processes
@pytest.mark.criterion("PG-02")
def test_each_state_names_what_it_requires_and_where_it_leads() -> None:
    table = {
        phase.name: (
            phase.requires.artifacts if phase.requires else (),
            phase.requires.checks if phase.requires else (),
            phase.requires.consensus is not None if phase.requires else False,
            phase.next,
            phase.on_failure,
        )
        for phase in WORKFLOW.phases
    }
    snapshot, failing = "repository-snapshot", "RECOVERY_LOOP"
    assert table == {
        "INTAKE": (("intake-brief",), (), False, "CONSENSUS_MASTER_PLAN", failing),
        "CONSENSUS_MASTER_PLAN": (("master-plan",), (), True, "ARCHITECTURE", failing),
        "ARCHITECTURE": (("architecture-plan", snapshot), (), False, "CONSENSUS_ARCHITECTURE", failing),
        "CONSENSUS_ARCHITECTURE": (("architecture-plan",), (), True, "ROLE_PLANNING", failing),
        "ROLE_PLANNING": (("role-plans",), (), False, "CONSENSUS_ROLE_PLANS", failing),
        "CONSENSUS_ROLE_PLANS": (("role-plans",), (), True, "IMPLEMENTATION", failing),
        "IMPLEMENTATION": ((snapshot,), ("build",), False, "QA_VALIDATION", failing),
        "QA_VALIDATION": ((), ("build", "lint"), False, "REVIEW", failing),
        "REVIEW": (("review-decision", snapshot), (), False, "AUDIT", failing),
        "AUDIT": (("audit-report",), (), False, "PRODUCTION_GATE", failing),
        "PRODUCTION_GATE": (("production-report",), CHECKS, False, "DONE", failing),
        "RECOVERY_LOOP": (("root-cause", "recovery-plan"), (), True, "", failing),
    }
    assert WORKFLOW.parameters["consensus_threshold"] == 0.95
    assert WORKFLOW.parameters["required_voters"] == 2
    for phase in WORKFLOW.phases:
        assert {"constitution-kept", "rules-kept", "no-blocking-issue"} <= set(phase.gate_1.guards)
    assert WORKFLOW.phase("QA_VALIDATION").tests == "passing"  # type: ignore[union-attr]


@pytest.mark.processes
@pytest.mark.criterion("PG-03")
def test_no_state_can_be_skipped(pipe: Pipe) -> None:
    pipe.begin()
    assert pipe.project.run("--phase=qa_validation").code == 13
    assert pipe.project.run("--phase=recovery_loop").code == 13
    for phase in (*LINE[1:], "RECOVERY_LOOP"):
        assert pipe.gate("rewind", phase, "--reason", "x").code == 13, phase
    assert pipe.phase == "INTAKE"
    pipe.prepare()
    assert pipe.signal()["can_exit"]
    assert pipe.phase == "CONSENSUS_MASTER_PLAN", "the signal has entered it"
    assert pipe.project.run("--phase=architecture").code == 13


@pytest.mark.processes
@pytest.mark.criterion("PG-09")
@pytest.mark.parametrize(("phase", "kind"), [("REVIEW", "scope"), ("AUDIT", "dependency"), ("AUDIT", "config")])
def test_a_proposed_request_leads_to_its_target_instead_of_going_on(pipe: Pipe, phase: str, kind: str) -> None:
    target = ROUTES[kind]
    pipe.at(phase)
    pipe.prepare()
    pipe.ask(kind)
    verdict = pipe.signal()
    assert verdict["can_exit"]
    assert target in verdict["reason"]
    following = {"REVIEW": "audit", "AUDIT": "production_gate"}[phase]
    assert pipe.phase == target
    assert pipe.project.run(f"--phase={following}").code == 13
    assert pipe.steps[-1] == (target, "request")
    assert pipe.pipeline["requests"][0]["status"] == "approved"


@pytest.mark.processes
@pytest.mark.criterion("PG-09")
def test_a_request_that_was_rejected_in_time_leads_nowhere(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    pipe.ask("scope")
    assert pipe.gate("pipeline", "request", "reject", "CR-1", "--reason", "next year").code == 0
    assert pipe.signal()["can_exit"]
    assert pipe.phase == "AUDIT"


@pytest.mark.processes
@pytest.mark.criterion("PG-11")
@pytest.mark.parametrize("phase", ["INTAKE", "CONSENSUS_MASTER_PLAN", "QA_VALIDATION", "PRODUCTION_GATE"])
def test_a_failing_gate_enters_the_recovery_and_remembers_the_phase(pipe: Pipe, phase: str) -> None:
    pipe.at(phase)
    verdict = pipe.fail()
    assert not verdict["can_exit"]
    assert "recovery 1 of 5" in verdict["reason"]
    assert pipe.phase == "RECOVERY_LOOP"
    assert pipe.pipeline["failed_phase"] == phase
    assert pipe.pipeline["recoveries"] == 1
    assert pipe.steps[-1] == ("RECOVERY_LOOP", "failure")
    ran = pipe.gate("pipeline", "recover")
    assert ran.code == 10
    assert f"failed        {phase}" in ran.out


@pytest.mark.processes
@pytest.mark.criterion("PG-11")
def test_looking_never_fails_a_gate(pipe: Pipe) -> None:
    pipe.at("QA_VALIDATION")
    pipe.project.write({"docs/broken-build": ""})
    assert pipe.project.run("--phase=qa_validation").code == 10
    for words in (("check",), ("status",), ("explain",), ("pipeline", "recover"), ("signal", "--not-done")):
        pipe.gate(*words)
    assert pipe.phase == "QA_VALIDATION"
    assert "recoveries" not in pipe.pipeline
    # A signal that goes with the run fails it at once.
    pipe.project.run("--phase=qa_validation", "--exit-signal=it builds here")
    assert pipe.phase == "RECOVERY_LOOP"
    assert pipe.pipeline["failed_phase"] == "QA_VALIDATION"


@pytest.mark.processes
@pytest.mark.sampled(4)
@pytest.mark.criterion("PG-12")
@pytest.mark.parametrize("rewind", [None, "ARCHITECTURE", "role_planning", "IMPLEMENTATION"])
def test_the_record_chooses_the_rewind(pipe: Pipe, rewind: str | None) -> None:
    pipe.at("IMPLEMENTATION")
    pipe.fail()
    verdict = pipe.recover(rewind)
    target = (rewind or "IMPLEMENTATION").upper()
    assert f"back to {target}" in verdict["reason"]
    assert pipe.phase == target
    assert pipe.steps[-1] == (target, "recovered")
    assert "failed_phase" not in pipe.pipeline
