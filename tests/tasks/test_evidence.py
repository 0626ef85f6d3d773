"""What closes a gate of a pipeline, and that evidence belongs to one attempt."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.tasks.artifacts import Drifted
from phase_gate.tasks.evidence import drift_findings
from phase_gate.values import replace
from phase_gate.workflow.model import Workflow
from tests.tasks.pipelines import CONFIGURATION, PATHS, WORKFLOW, Pipe, details, unmet


def drifted(workflow: Workflow = WORKFLOW, **changes: Any) -> list[tuple[str, str]]:
    return [(each.id, each.proof) for each in drift_findings(Drifted(**changes), workflow)]


def test_the_same_drift_is_the_same_request() -> None:
    assert drifted(lines=400) == []
    ((kind, large),) = drifted(lines=401)
    assert kind == "scope"
    assert drifted(lines=500) == [("scope", large)]
    assert drifted(lines=4000) != [("scope", large)]
    ((kind, first),) = drifted(files={"tox.ini": "a"})
    assert kind == "config"
    assert drifted(files={"tox.ini": "b"}) != [("config", first)]
    assert drifted(files={"tox.ini": "a"}, lines=1) == [("config", first)]


def test_every_line_can_be_drift() -> None:
    strict = replace(WORKFLOW, parameters={**WORKFLOW.parameters, "large_change": 0})
    assert drifted(strict, lines=0) == []
    assert [kind for kind, _ in drifted(strict, lines=1)] == ["scope"]


BLOCKING = {"id": "A-1", "severity": "blocking", "kind": "security", "title": "names are logged"}


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
@pytest.mark.criterion("PG-10")
def test_without_git_nobody_can_tell_what_drifted(pipe: Pipe) -> None:
    pipe.at("REVIEW")
    pipe.prepare()
    (pipe.project.root / ".git").rename(pipe.project.root / "git-elsewhere")
    verdict = pipe.read()
    assert "drift-known" in unmet(verdict)


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
@pytest.mark.criterion("PG-17")
def test_a_snapshot_of_another_tree_does_not_count(pipe: Pipe) -> None:
    pipe.at("IMPLEMENTATION")
    assert pipe.read()["gate_1"]["satisfied"], "a look writes it"
    pipe.project.write(lending="def fine(days):\n    return 21 * days\n")
    assert "another tree" in details(pipe.signal(), "artifacts-made")


@pytest.mark.processes
@pytest.mark.criterion("PG-17")
def test_votes_on_another_version_do_not_count(pipe: Pipe) -> None:
    pipe.at("CONSENSUS_MASTER_PLAN")
    pipe.prepare()
    assert pipe.read()["gate_1"]["satisfied"]
    pipe.make("master-plan")
    verdict = pipe.read()
    assert verdict["metrics"]["consensus_voters"] == 0
    assert "the vote of ann is on another version" in details(verdict, "consensus-reached")


@pytest.mark.processes
@pytest.mark.criterion("PG-17")
def test_a_check_without_a_result_is_not_passed(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION.replace("{run: test ! -e docs/broken-build}", "{run: sleep 9, timeout: 0}"))
    while pipe.phase != "IMPLEMENTATION":
        pipe.do()
    pipe.prepare()
    verdict = pipe.read()
    assert unmet(verdict) == ["checks-passed"]
    assert (verdict["metrics"]["checks_failed"], verdict["metrics"]["checks_missing"]) == (0, 1)


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
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
