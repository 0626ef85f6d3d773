"""The phase gate engine: one test or more a clause, on a real task that goes through the shipped pipeline."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.tasks.pipeline_show import merge_gate_results
from phase_gate.tasks.routing import main_line
from tests.e2e.sessions import SCHEMAS
from tests.support import Project
from tests.tasks.pipelines import CHECKS, CONFIGURATION, LINE, PATHS, Pipe

pytestmark = pytest.mark.processes

WORKFLOW = load_shipped_workflow("pipeline")
BLOCKING = {"id": "A-1", "severity": "blocking", "kind": "security", "title": "names are logged"}


@pytest.fixture
def pipe(project: Project) -> Pipe:
    return Pipe(project)


def unmet(verdict: Any) -> list[str]:
    return [guard["name"] for guard in verdict["gate_1"]["guards"] if not guard["met"]]


def details(verdict: Any, guard: str) -> str:
    return " | ".join(
        f"{row['id']} {row['detail']}".strip() for row in verdict["findings"] if guard in (row["slug"], row["guard"])
    )


# --- PG-01 to PG-03: the states


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


# --- PG-04: the constitution


@pytest.mark.criterion("PG-04")
@pytest.mark.parametrize(
    ("phase", "change"), [("INTAKE", "changed"), ("QA_VALIDATION", "missing"), ("AUDIT", "changed")]
)
def test_a_constitution_that_changed_closes_every_gate(pipe: Pipe, phase: str, change: str) -> None:
    pipe.at(phase)
    pipe.prepare()
    file = pipe.project.root / "CONSTITUTION.md"
    text = file.read_text()
    if change == "changed":
        file.write_text("Anything goes.\n")
    else:
        file.unlink()
    if phase == "QA_VALIDATION":
        ran = pipe.project.run("--phase=qa_validation")
        assert ran.code == 10
        assert "constitution-kept" in ran.out
    else:
        verdict = pipe.read()
        assert unmet(verdict) == ["constitution-kept"]
        assert "CONSTITUTION.md" in details(verdict, "constitution-kept")
    file.write_text(text)
    if phase == "QA_VALIDATION":
        assert pipe.project.run("--phase=qa_validation").code == 0
    else:
        assert pipe.read()["gate_1"]["satisfied"]


@pytest.mark.criterion("PG-04")
def test_a_constitution_that_was_never_recorded_closes_every_gate(pipe: Pipe) -> None:
    pipe.project.write({"phase-gate.yaml": CONFIGURATION, "test_a.py": "def test_a(): pass\n"})
    ran = pipe.gate("advance")
    assert ran.code == 13
    assert "CONSTITUTION.md" in ran.err
    # pytest begins a cycle, too, and the constitution that comes later is not the one of its start.
    pipe.project.run("--phase=intake")
    pipe.project.write({"CONSTITUTION.md": "Written later.\n"})
    pipe.make("intake-brief")
    verdict = pipe.read()
    assert unmet(verdict) == ["constitution-kept"]
    assert "never recorded" in details(verdict, "constitution-kept")


# --- PG-05 to PG-07: what closes a gate, and its result


@pytest.mark.criterion("PG-05")
@pytest.mark.parametrize(
    ("phase", "without"),
    [
        ("INTAKE", "intake-brief"),
        ("ROLE_PLANNING", "role-plans"),
        ("IMPLEMENTATION", "repository-snapshot"),
        ("AUDIT", "audit-report"),
        ("PRODUCTION_GATE", "production-report"),
    ],
)
def test_a_missing_artifact_closes_the_gate_and_is_named(pipe: Pipe, phase: str, without: str) -> None:
    pipe.at(phase)
    pipe.prepare(without)
    verdict = pipe.signal()
    assert "artifacts-made" in unmet(verdict)
    assert details(verdict, "artifacts-made").startswith(without)
    assert PATHS[without].rpartition("/")[0] in details(verdict, "artifacts-made")


@pytest.mark.criterion("PG-05")
@pytest.mark.parametrize("check", ["build", "start"])
def test_a_failing_check_closes_the_gate_and_is_named(pipe: Pipe, check: str) -> None:
    pipe.at("PRODUCTION_GATE")
    pipe.prepare()
    pipe.project.write({f"docs/broken-{check}": ""})
    verdict = pipe.read()
    assert unmet(verdict) == ["checks-passed"]
    assert details(verdict, "checks-passed") == f"{check} it failed"
    assert verdict["metrics"]["checks_failed"] == 1
    pipe.project.remove(f"docs/broken-{check}")
    assert pipe.read()["gate_1"]["satisfied"]


@pytest.mark.criterion("PG-05")
@pytest.mark.parametrize(
    ("votes", "words"),
    [
        pytest.param([("ann", "approve", 1.0)], "1 voter, 2 are needed", id="one-voter"),
        pytest.param([("ann", "approve", 1.0), ("bob", "reject", 1.0)], "bob rejects: too vague", id="a-rejection"),
        pytest.param(
            [("ann", "approve", 1.0), ("bob", "approve", 1.0), ("bob", "reject", 1.0)], "bob rejects", id="last"
        ),
    ],
)
def test_low_consensus_closes_the_gate_and_is_named(pipe: Pipe, votes: list[Any], words: str) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.make("master-plan")
    for by, vote, confidence in votes:
        assert pipe.vote(by, vote, confidence, reason="too vague").code in (0, 10)
    verdict = pipe.read()
    assert unmet(verdict) == ["consensus-reached"]
    assert words in details(verdict, "consensus-reached")


@pytest.mark.criterion("PG-06")
@pytest.mark.parametrize("closed", [True, False])
def test_the_gate_result_has_the_fields_of_the_document(pipe: Pipe, closed: bool) -> None:
    pipe.at("PRODUCTION_GATE")
    if closed:
        pipe.project.write({"docs/broken-lint": ""})
    else:
        pipe.prepare()
    pipe.read()
    result = pipe.gate("explain", "--gate-result").document
    jsonschema.validate(result, json.loads((SCHEMAS / "gate-result.schema.json").read_text()))
    assert result["phase"] == "PRODUCTION_GATE"
    assert result["pass"] is not closed
    assert result["missingArtifacts"] == (["production-report"] if closed else [])
    assert result["failedChecks"] == (["lint"] if closed else [])
    assert bool(result["blockers"]) is closed
    assert result["timestamp"].endswith("Z")
    assert "score" not in result


@pytest.mark.criterion("PG-07")
def test_merging_keeps_the_scores_and_takes_the_rest_from_the_engine(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.read()
    scores = {"score": 0.97, "consensusScore": 0.96}
    handler = {"phase": "consensus_master_plan", "pass": True, **scores, "blockers": [], "timestamp": "then"}
    pipe.project.write({"handler.json": json.dumps(handler)})
    merged = pipe.gate("explain", "--gate-result", "--merge", "handler.json").document
    engine = pipe.gate("explain", "--gate-result").document
    assert merged == {**engine, "score": 0.97, "consensusScore": 0.96}
    assert merged["pass"] is False
    assert merged["blockers"]
    # A handler without scores does not take those of the engine away.
    assert merge_gate_results({"pass": True, "score": None}, {**engine, "score": 0.5})["score"] == 0.5


# --- PG-08 to PG-10: change requests

ROUTES = {
    "scope": "CONSENSUS_MASTER_PLAN",
    "architecture": "CONSENSUS_ARCHITECTURE",
    "dependency": "CONSENSUS_ROLE_PLANS",
    "config": "QA_VALIDATION",
    "requirement": "CONSENSUS_MASTER_PLAN",
}


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


@pytest.mark.criterion("PG-09")
def test_a_request_that_was_rejected_in_time_leads_nowhere(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    pipe.ask("scope")
    assert pipe.gate("pipeline", "request", "reject", "CR-1", "--reason", "next year").code == 0
    assert pipe.signal()["can_exit"]
    assert pipe.phase == "AUDIT"


@pytest.mark.sweep
@pytest.mark.criterion("PG-10")
def test_review_finds_drift_and_raises_it_once(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    pipe.project.write({"pyproject.toml": "[project]\nname = 'lending'\nversion = '1'\n"})
    pipe.project.commit_all()
    pipe.do()
    pipe.do()
    assert pipe.phase == "REVIEW"
    pipe.prepare()
    verdict = pipe.signal()
    assert verdict["metrics"]["drift_found"] == 1
    (request,) = pipe.pipeline["requests"]
    assert (request["type"], request["target"], request["by"]) == ("config", "QA_VALIDATION", "REVIEW")
    assert "pyproject.toml" in request["title"]
    pipe.enter()
    assert pipe.phase == "QA_VALIDATION"
    pipe.do()
    pipe.do()
    # The same change is still there, and asks for nothing any more.
    assert pipe.phase == "AUDIT"
    assert len(pipe.pipeline["requests"]) == 1


@pytest.mark.criterion("PG-10")
def test_without_git_nobody_can_tell_what_drifted(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    (pipe.project.root / ".git").rename(pipe.project.root / "git-elsewhere")
    verdict = pipe.read()
    assert "drift-known" in unmet(verdict)


@pytest.mark.sweep
@pytest.mark.criterion("PG-10")
def test_blocking_audit_findings_make_a_request_once(pipe: Pipe) -> None:
    pipe.at("AUDIT")
    finding = BLOCKING
    pipe.audit(finding, {**finding, "id": "A-2", "severity": "major"}, {**finding, "id": "A-3", "status": "resolved"})
    pipe.read()
    verdict = pipe.signal()
    assert verdict["can_exit"]
    (request,) = pipe.pipeline["requests"]
    assert (request["type"], request["target"]) == ("architecture", "CONSENSUS_ARCHITECTURE")
    pipe.enter()
    assert pipe.phase == "CONSENSUS_ARCHITECTURE"
    pipe.make("architecture-plan")
    while pipe.phase != "AUDIT":
        pipe.do()
    # It was agreed on what to do about it. If it is still there, it is a blocking issue, and no second request.
    pipe.audit(finding)
    verdict = pipe.read()
    assert unmet(verdict) == ["no-blocking-issue"]
    assert len(pipe.pipeline["requests"]) == 1
    pipe.audit({**finding, "status": "resolved"})
    assert pipe.read()["gate_1"]["satisfied"]


# --- PG-11 to PG-14: failures, recoveries, the end


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


@pytest.mark.criterion("PG-12")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"requires_phase_rewind_to": "REVIEW"}, "comes after", id="a-phase-ahead"),
        pytest.param({"requires_phase_rewind_to": "DONE"}, "is not a phase to go back to", id="no-phase-at-all"),
        pytest.param({"failed_phase": "INTAKE"}, "is for INTAKE", id="another-failure"),
    ],
)
def test_a_record_that_leads_nowhere_keeps_the_recovery_closed(pipe: Pipe, changes: Any, words: str) -> None:
    pipe.at("IMPLEMENTATION")
    pipe.fail()
    pipe.prepare("root-cause")
    pipe.make("root-cause", pipe.record(**changes))
    verdict = pipe.read()
    assert "root-cause-known" in unmet(verdict)
    assert words in details(verdict, "root-cause-known")


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


@pytest.mark.criterion("PG-14")
def test_what_the_record_asks_of_a_person_stands_in_the_report(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + "parameters: {max_recoveries: 1}\noverrides: {allow_non_interactive: true}\n")
    pipe.fail()
    pipe.make("root-cause", pipe.record(required_human_input="who is the customer?"))
    pipe.signal()
    report = pipe.gate("pipeline", "recover", "--json").document["stuck"]
    assert report["required_human_input"][0] == "who is the customer?"


# --- PG-16: the three examples


@pytest.mark.sampled(4)
@pytest.mark.criterion("PG-16")
@pytest.mark.parametrize(
    ("phase", "condition", "guard"),
    [
        ("ARCHITECTURE", "architecture-plan", "artifacts-made"),
        ("ARCHITECTURE", "repository-snapshot", "artifacts-made"),
        ("ARCHITECTURE", "constitution", "constitution-kept"),
        ("ARCHITECTURE", "issue", "no-blocking-issue"),
        ("IMPLEMENTATION", "approval", "as-approved"),
        ("IMPLEMENTATION", "constitution", "constitution-kept"),
        ("IMPLEMENTATION", "request", "no-pending-request"),
        ("REVIEW", "review-decision", "artifacts-made"),
        ("REVIEW", "repository-snapshot", "artifacts-made"),
        ("REVIEW", "constitution", "constitution-kept"),
    ],
)
def test_a_transition_needs_each_of_its_conditions(pipe: Pipe, phase: str, condition: str, guard: str) -> None:
    pipe.at(phase)
    pipe.prepare(condition)
    if condition == "constitution":
        pipe.project.write({"CONSTITUTION.md": "Anything goes.\n"})
    elif condition == "issue":
        pipe.ask("scope", "unlawful", "--blocking")
    elif condition == "request":
        pipe.ask("scope")
    elif condition == "approval":
        pipe.make("role-plans")
    verdict = pipe.signal()
    assert guard in unmet(verdict)
    assert not verdict["gate_1"]["satisfied"]


# --- PG-17, PG-18: evidence belongs to one attempt


@pytest.mark.sweep
@pytest.mark.criterion("PG-17")
def test_reports_that_lay_there_before_the_pipeline_do_not_count(pipe: Pipe) -> None:
    pipe.make("production-report")
    pipe.begin()
    while pipe.phase != "PRODUCTION_GATE":
        pipe.do()
    verdict = pipe.read()
    assert unmet(verdict) == ["artifacts-made"]
    assert "before this phase began" in details(verdict, "artifacts-made")
    text = (pipe.project.root / PATHS["production-report"]).read_text()
    pipe.project.write({PATHS["production-report"]: text.replace(". ", ".\n\n  ")})
    assert unmet(pipe.read()) == ["artifacts-made"]  # wrapped otherwise, it is the same text
    pipe.make("production-report")
    assert pipe.read()["gate_1"]["satisfied"]


@pytest.mark.criterion("PG-17")
def test_after_a_rewind_artifacts_have_to_be_made_anew_and_earlier_ones_stay(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_ARCHITECTURE")
    first = (pipe.project.root / PATHS["architecture-plan"]).read_text()
    pipe.do()
    assert pipe.gate("rewind", "ARCHITECTURE", "--reason", "it does not scale").code == 0
    pipe.make("repository-snapshot")
    assert details(pipe.read(), "artifacts-made").startswith("architecture-plan")
    pipe.make("architecture-plan")
    assert pipe.read()["gate_1"]["satisfied"]
    # Not even by way of another version.
    pipe.project.write({PATHS["architecture-plan"]: first})
    assert details(pipe.read(), "artifacts-made").startswith("architecture-plan")
    pipe.make("architecture-plan")
    # What was agreed on before the rewind is not agreed on any more; what lies before it is.
    assert set(pipe.pipeline["approved"]) == {"master-plan"}


@pytest.mark.criterion("PG-17")
def test_a_snapshot_of_another_tree_does_not_count(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    assert pipe.read()["gate_1"]["satisfied"], "a look writes it"
    pipe.project.write(lending="def fine(days):\n    return 21 * days\n")
    assert "another tree" in details(pipe.signal(), "artifacts-made")


@pytest.mark.criterion("PG-17")
def test_votes_on_another_version_do_not_count(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.prepare()
    assert pipe.read()["gate_1"]["satisfied"]
    pipe.make("master-plan")
    verdict = pipe.read()
    assert verdict["metrics"]["consensus_voters"] == 0
    assert "the vote of ann is on another version" in details(verdict, "consensus-reached")


@pytest.mark.criterion("PG-17")
def test_a_check_without_a_result_is_not_passed(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION.replace("{run: test ! -e docs/broken-build}", "{run: sleep 9, timeout: 0}"))
    while pipe.phase != "IMPLEMENTATION":
        pipe.do()
    pipe.prepare()
    verdict = pipe.read()
    assert unmet(verdict) == ["checks-passed"]
    assert (verdict["metrics"]["checks_failed"], verdict["metrics"]["checks_missing"]) == (0, 1)


@pytest.mark.criterion("PG-17")
def test_rules_that_change_on_the_way_do_not_count(pipe: Pipe) -> None:
    pipe.at("PRODUCTION_GATE")
    pipe.prepare()
    pipe.project.write(
        {"docs/broken-types": "", "phase-gate.yaml": CONFIGURATION.replace("test ! -e docs/broken-types", "true")}
    )
    verdict = pipe.read()
    assert "rules-kept" in unmet(verdict)
    assert "evidence.commands.types" in details(verdict, "rules-kept")
    pipe.project.write({"phase-gate.yaml": CONFIGURATION + "parameters: {max_recoveries: 50}\n"})
    pipe.project.remove("docs/broken-types")
    assert "parameters.max_recoveries" in details(pipe.read(), "rules-kept")


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


# --- PG-19: fixes inside the recovery, and a person's guidance where the pipeline is stuck

GUIDED = CONFIGURATION + "parameters: {max_recoveries: 0}\noverrides: {allow_non_interactive: true}\n"


@pytest.mark.criterion("PG-19")
def test_a_check_that_still_fails_keeps_the_recovery_closed(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    pipe.prepare()
    pipe.project.write({"docs/broken-build": ""})
    pipe.signal()
    pipe.prepare()
    verdict = pipe.read()
    assert unmet(verdict) == ["fix-checked"]
    assert details(verdict, "fix-checked") == "build it still fails"
    pipe.project.remove("docs/broken-build")
    assert pipe.read()["gate_1"]["satisfied"]
    assert pipe.signal()["can_exit"]
    pipe.enter()
    assert pipe.phase == "IMPLEMENTATION"


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


# --- PG-20: the names of the document in the status


@pytest.mark.criterion("PG-20")
def test_the_status_has_the_names_of_the_document(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    assert pipe.gate("status", "--json").document["pipeline"] == {"pendingChangeRequests": [], "failedPhase": None}
    for kind in ("scope", "config"):
        pipe.ask(kind, f"more {kind}")
    pipe.gate("pipeline", "request", "reject", "CR-1", "--reason", "next year")
    pipe.fail()
    status = pipe.gate("status", "--json").document
    schema = json.loads((SCHEMAS / "status.schema.json").read_text())
    jsonschema.validate(status["pipeline"], schema["properties"]["pipeline"])
    assert status["pipeline"] == {
        "pendingChangeRequests": [
            {"cr_id": "CR-2", "change_type": "config", "target_phase": "QA_VALIDATION", "status": "proposed"}
        ],
        "failedPhase": "IMPLEMENTATION",
    }


# --- PG-21: checks without a command


@pytest.mark.criterion("PG-21")
def test_checks_without_a_command_are_refused_at_the_start(pipe: Pipe) -> None:
    one = "workflow: pipeline\nevidence: {commands: {build: {run: 'true'}, lint: {run: 'true'}}}\n"
    pipe.project.write({"phase-gate.yaml": one, "CONSTITUTION.md": "x\n", "test_a.py": "def test_a(): pass\n"})
    ran = pipe.gate("advance")
    words = "start (for PRODUCTION_GATE), test (for PRODUCTION_GATE), types (for PRODUCTION_GATE)"
    assert ran.code == 13
    assert ran.has(f"checks without a command: {words}", "evidence: {commands: {")
    # pytest begins a cycle, too: then every verdict warns of them.
    pipe.project.run("--phase=intake")
    assert words in " ".join(pipe.gate("advance").out.split())


@pytest.mark.criterion("PG-19")
def test_the_first_green_run_of_a_recovery_counts(pipe: Pipe) -> None:
    pipe.at("QA_VALIDATION")
    pipe.project.write({"lending.py": "def fine(days):\n    return 21 * days\n"})
    pipe.project.run("--phase=qa_validation")
    pipe.signal()
    pipe.project.write({"lending.py": "def fine(days):\n    return 20 * days  # mended\n"})
    pipe.prepare()
    assert unmet(pipe.read()) == ["fix-tested"]
    ran = pipe.project.run("--phase=recovery_loop")
    verdict = pipe.gate("explain", "--json").document["evaluation"]
    assert verdict["gate_1"]["open"], ran.out
    assert unmet(verdict) == []
