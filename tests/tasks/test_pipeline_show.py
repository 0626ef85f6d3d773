"""The votes on a version, the result of a gate, and the status of a pipeline."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from phase_gate.gate.state import WORK, State
from phase_gate.tasks.pipeline_show import count_votes, merge_gate_results, stuck_to_json
from phase_gate.tasks.work import Failure, Pipeline, Word
from tests.e2e.sessions import SCHEMAS
from tests.support import Project
from tests.tasks.pipelines import CONFIGURATION, WORKFLOW, Pipe

ON = {"plan": "d1"}


def vote(by: str, choice: Any = "approve", confidence: float = 1.0, *, on: dict[str, str] = ON) -> Word:
    return Word(by=by, answer=choice, confidence=confidence, about=on)


@pytest.mark.parametrize(
    ("votes", "score", "voters"),
    [
        pytest.param([], None, 0, id="no-votes-no-score"),
        pytest.param([vote("ann")], 1.0, 1, id="approve-weighs-1"),
        pytest.param([vote("ann", "conditional")], 0.5, 1, id="conditional-weighs-half"),
        pytest.param([vote("ann", "reject")], 0.0, 1, id="reject-weighs-nothing-and-is-a-vote"),
        pytest.param(
            [vote("ann", confidence=0.9), vote("bob", "conditional", 0.8)], 0.65, 2, id="mean-times-confidence"
        ),
        pytest.param([vote("ann", "reject"), vote("Ann")], 1.0, 1, id="one-vote-a-name-the-last-counts"),
        pytest.param([vote("ann", on={"plan": "d0"})], None, 0, id="another-version"),
        pytest.param([vote("ann", on={"plan": "d1", "more": "d2"})], None, 0, id="more-than-what-is-asked"),
        pytest.param([vote("ann"), vote("ann", on={"plan": "d0"})], None, 0, id="the-last-was-on-another-version"),
    ],
)
def test_what_votes_come_to(votes: list[Word], score: float | None, voters: int) -> None:
    tally = count_votes(votes, ON)
    assert (tally.score, len(tally.counted)) == (score, voters)


@pytest.mark.processes
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


@pytest.mark.processes
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
    deep = "[" * 500 + "]" * 500
    (pipe.project.root / "deep.json").write_text(f'{{"phase": "{engine["phase"]}", "score": {deep}}}')
    assert pipe.gate("explain", "--gate-result", "--merge", "deep.json").has("deep.json is no gate result")
    assert merged["pass"] is False
    assert merged["blockers"]
    # A handler without scores does not take those of the engine away.
    assert merge_gate_results({"pass": True, "score": None}, {**engine, "score": 0.5})["score"] == 0.5


@pytest.mark.processes
@pytest.mark.criterion("PG-14")
def test_what_the_record_asks_of_a_person_stands_in_the_report(pipe: Pipe) -> None:
    pipe.begin(CONFIGURATION + "parameters: {max_recoveries: 1}\noverrides: {allow_non_interactive: true}\n")
    pipe.fail()
    pipe.make("root-cause", pipe.record(required_human_input="who is the customer?"))
    pipe.signal()
    report = pipe.gate("pipeline", "recover", "--json").document["stuck"]
    assert report["required_human_input"][0] == "who is the customer?"


@pytest.mark.processes
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


@pytest.mark.processes
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


def test_a_stuck_pipeline_names_its_task() -> None:
    pipeline = Pipeline(failed_phase="INTAKE", failures=(Failure(phase="INTAKE", error="no brief"),))
    report = stuck_to_json(State(task="other", parts={WORK: pipeline}), WORKFLOW, None)
    assert report["required_human_input"][-1].endswith('resume --reason "..." --by NAME --task other')


@pytest.mark.processes
def test_a_phase_without_tests_asks_for_its_files_not_for_a_test(project: Project) -> None:
    pipe = Pipe(project).at("ARCHITECTURE")
    assert pipe.gate("history").has("no run is recorded yet", "next: phase-gate advance")
    project.remove("test_lending.py")
    project.commit_all()
    for _ in range(2):
        ran = project.run("--phase=auto")
        assert ran.has("empty run", "(architecture-plan", "next    write the named files")
    pipe.make("architecture-plan")
    project.run("--phase=auto")
    checked = pipe.gate("check")
    assert checked.has("next: phase-gate advance")
    assert "let a test run" not in checked.out
