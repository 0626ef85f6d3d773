"""Votes, records, audits, attempts and ways of a pipeline: one table a rule."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.errors import DocumentError
from phase_gate.tasks.artifacts import Drifted
from phase_gate.tasks.evidence import drift_findings
from phase_gate.tasks.handins import VoteError, parse_vote, read_json_document
from phase_gate.tasks.pipeline_show import count_votes
from phase_gate.tasks.routing import PipelineFiles, entry_data, following
from phase_gate.tasks.work import Pipeline, Request, Word
from tests.conftest import ROOT

WORKFLOW = load_shipped_workflow("pipeline")
PHASES = {phase.name: phase for phase in WORKFLOW.phases}
SCHEMAS = ROOT / "src" / "phase_gate" / "schemas"
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vote: approve\nconfidence: 1\n", "'by' is missing"),
        ("vote: yes\nconfidence: 1\nby: ann\n", "vote can't be 'yes'"),
        ("vote: approve\nconfidence: 1.1\nby: ann\n", "confidence can't be 1.1"),
        ("vote: approve\nconfidence: true\nby: ann\n", "confidence has to be a number"),
        ("vote: reject\nconfidence: 1\nby: ann\n", "a vote to reject needs a reason"),
        ("vote: conditional\nconfidence: 1\nby: ann\nreason: ' '\n", "reason is blank"),
        ("vote: approve\nconfidence: 1\nby: ann\nweight: 5\n", "unknown key 'weight'"),
        ("vote: approve\nvote: reject\n", ""),
        ("- approve\n", ""),
    ],
)
def test_a_vote_that_is_not_plainly_one_is_refused(text: str, words: str) -> None:
    with pytest.raises((VoteError, DocumentError)) as caught:
        parse_vote(text, "vote.yaml")
    assert words in str(caught.value)


def test_a_vote_in_full() -> None:
    text = "vote: reject\nconfidence: 0.5\nby: Ann  Bee\nreason: too\n  vague\nphase: architecture\nversion: abc\n"
    ballot = parse_vote(text, "vote.yaml")
    assert (ballot.vote, ballot.confidence, ballot.by, ballot.reason) == ("reject", 0.5, "Ann Bee", "too vague")
    assert (ballot.phase, ballot.version) == ("ARCHITECTURE", "abc")


# --- documents, held against their published schemas

RECORD = {"failed_phase": "AUDIT", "summary": "s", "root_cause": "r", "requires_phase_rewind_to": None}
FINDING = {"id": "A-1", "severity": "blocking", "kind": "security", "title": "t"}
AUDIT = {"summary": "s", "findings": [FINDING]}


@pytest.mark.parametrize(
    ("name", "document", "is_right"),
    [
        ("root-cause", RECORD, True),
        ("root-cause", {**RECORD, "requires_phase_rewind_to": "INTAKE", "evidence": ["a.py:3"]}, True),
        ("root-cause", {**RECORD, "required_human_input": "a decision"}, True),
        ("root-cause", {**RECORD, "requires_phase_rewind_to": ""}, False),
        ("root-cause", {key: value for key, value in RECORD.items() if key != "requires_phase_rewind_to"}, False),
        ("root-cause", {**RECORD, "summary": " "}, False),
        ("root-cause", {**RECORD, "evidence": "a.py"}, False),
        ("root-cause", {**RECORD, "guess": 1}, False),
        ("audit", AUDIT, True),
        ("audit", {**AUDIT, "findings": []}, True),
        ("audit", {**AUDIT, "findings": [{**FINDING, "status": "resolved", "file": "a.py", "line": 3}]}, True),
        ("audit", {"findings": []}, False),
        ("audit", {**AUDIT, "findings": [{**FINDING, "severity": "BLOCKING"}]}, False),
        ("audit", {**AUDIT, "findings": [{**FINDING, "status": "wontfix"}]}, False),
    ],
)
def test_documents_are_read_as_their_schemas_say(name: str, document: Any, is_right: bool) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    assert jsonschema.Draft7Validator(schema).is_valid(document) is is_right
    if is_right:
        read_json_document(document, name)
    else:
        with pytest.raises(ValueError, match=r"\w"):
            read_json_document(document, name)


# --- artifacts


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


# --- ways


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


# --- drift


def drifted(**changes: Any) -> list[tuple[str, str]]:
    return [(each.id, each.proof) for each in drift_findings(Drifted(**changes), WORKFLOW)]


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
