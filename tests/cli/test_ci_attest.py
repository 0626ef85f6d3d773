"""`phase-gate ci attest` and `phase-gate ci badge`: what they say, and what they refuse to say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

from tests.cli.conftest import Begin, Desk
from tests.support import CALC

SVR = "https://in-toto.io/attestation/svr/v0.2"


def validate(document: dict[str, Any]) -> None:
    """By those who made the format: unknown fields and missing ones are errors there."""
    statement = Statement([], "", {})
    json_format.ParseDict(document, statement.pb, ignore_unknown_fields=False)
    statement.validate()


@pytest.fixture
def green(begin: Begin) -> Desk:
    """GREEN is open, on a commit."""
    desk = begin("red-exited")
    desk.sample.write(calc=CALC).commit_all()
    desk.sample.pytest("--phase=green")
    assert desk.sample.pytest("--phase=green").code == 0
    return desk


def statements(desk: Desk, *arguments: str) -> list[dict[str, Any]]:
    ran = desk.gate("ci", "attest", *arguments)
    assert ran.code == 0, ran.err
    return [json.loads(row) for row in ran.out.splitlines()]


def test_run_and_verdict_are_valid_statements(green: Desk) -> None:
    run, verdict = statements(green)
    for each in (run, verdict):
        validate(each)
    commit = green.sample.git("rev-parse", "HEAD").strip()
    assert run["subject"] == verdict["subject"] == [{"digest": {"gitCommit": commit}}]

    result = test_result_pb2.TestResult()
    json_format.ParseDict(run["predicate"], result, ignore_unknown_fields=False)
    for each in result.configuration:
        ResourceDescriptor.copy_from_pb(each).validate()
    assert (result.result, list(result.passed_tests)) == (
        "PASSED",
        ["test_calc.py::test_add", "test_calc.py::test_sub"],
    )

    # The package has no svr yet: its specification in few lines.
    predicate = verdict["predicate"]
    assert verdict["predicateType"] == SVR
    assert predicate.keys() == {"verifier", "timeCreated", "properties"}
    assert predicate["verifier"].keys() == {"id", "policies"}
    assert re.fullmatch(r"urn:pytest-phase-gate:\S+", predicate["verifier"]["id"])
    for each in predicate["verifier"]["policies"]:
        descriptor = ResourceDescriptor()
        json_format.ParseDict(each, descriptor.pb)
        descriptor.validate()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", predicate["timeCreated"])
    assert "PHASE_GATE_GREEN_GATE_1" in predicate["properties"]
    assert "PHASE_GATE_GREEN_EXIT" not in predicate["properties"]


def test_the_signal_adds_what_it_opens(green: Desk) -> None:
    assert green.gate("signal", "--reason", "both pass, twice").code == 0
    (verdict,) = statements(green, "--predicate=svr", "--verifier=https://ci.example.org/v2")
    assert {"PHASE_GATE_GREEN_GATE_2", "PHASE_GATE_GREEN_EXIT"} <= set(verdict["predicate"]["properties"])
    assert verdict["predicate"]["verifier"]["id"] == "https://ci.example.org/v2"


def test_into_a_file_one_a_line(green: Desk) -> None:
    ran = green.gate("ci", "attest", "-o", "out/statements.jsonl")
    assert ran.has("wrote out/statements.jsonl: 2 unsigned statements about commit")
    rows = (green.root / "out" / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["_type"] for row in rows] == ["https://in-toto.io/Statement/v1"] * 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("variables", "url"),
    [
        pytest.param(
            {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"},
            "https://github.example/a/b/actions/runs/7",
            id="github",
        ),
        pytest.param({"CI_JOB_URL": "https://gitlab.example/j/1"}, "https://gitlab.example/j/1", id="gitlab"),
    ],
)
def test_where_the_run_can_be_looked_at(
    green: Desk, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (run,) = statements(green, "--predicate=test-result")
    assert run["predicate"]["url"] == url


def test_without_git_the_fingerprint_stands_for_the_sources(begin: Begin) -> None:
    (run,) = statements(begin("green"), "--predicate=test-result")
    validate(run)
    assert re.fullmatch("[0-9a-f]{64}", run["subject"][0]["digest"]["sha256"])


def test_red_is_stated_as_it_is(begin: Begin) -> None:
    run, verdict = statements(begin("red"))
    assert run["predicate"]["result"] == "FAILED"
    assert len(run["predicate"]["failedTests"]) == 2
    assert "PHASE_GATE_RED_GATE_1" in verdict["predicate"]["properties"]


def test_what_is_not_committed_is_no_commit(green: Desk) -> None:
    (green.root / "notes.md").write_text("more", encoding="utf-8")
    green.sample.git("add", "notes.md")
    ran = green.gate("ci", "attest")
    assert ran.code == 13
    assert ran.has("notes.md is not committed, so what was tested is no commit")


def test_a_filter_of_the_repository_is_no_change(green: Desk) -> None:
    """`git-crypt unlock` in CI: files are younger than git's index, or as old, and nobody asks git for a status."""
    green.sample.git("config", "filter.crypt.clean", "tr a-y b-z")
    green.sample.write({".gitattributes": "calc.py filter=crypt\n"})
    (green.root / "calc.py").touch()
    green.sample.commit_all()
    assert green.sample.pytest("--phase=green").code in (0, 10)
    statements(green)


def test_what_was_not_tested_is_not_stated(green: Desk) -> None:
    (green.root / "calc.py").write_text("add = sub = None\n", encoding="utf-8")
    ran = green.gate("ci", "attest")
    assert ran.code == 13
    assert ran.has("files have changed since the last run")


@pytest.mark.parametrize(
    ("story", "says"),
    [
        pytest.param("", "has no run yet", id="no-task"),
        pytest.param("document", "no verdict on DOCUMENT yet", id="a-phase-was-entered-since"),
    ],
)
def test_nothing_to_state(begin: Begin, story: str, says: str) -> None:
    ran = begin(story).gate("ci", "attest")
    assert ran.code == 13
    assert ran.has(says)


# --- badge


def test_a_badge_of_where_the_task_stands(begin: Begin) -> None:
    desk = begin("green")
    ran = desk.gate("ci", "badge", "--gate1", "--label", "tdd")
    assert ran.code == 0
    assert json.loads(ran.out) == {
        "schemaVersion": 1,
        "label": "tdd",
        "message": "GREEN open",
        "color": "brightgreen",
        "isError": False,
    }
    assert json.loads(desk.gate("ci", "badge").out)["message"] == "GREEN closed"
    assert desk.gate("ci", "badge", "-o", "public/badge.json").has("wrote public/badge.json: GREEN closed")
    assert json.loads((desk.root / "public" / "badge.json").read_text(encoding="utf-8"))["color"] == "orange"


def test_a_badge_of_nothing(begin: Begin) -> None:
    assert json.loads(begin("").gate("ci", "badge").out)["message"] == "no run yet"


def test_a_file_that_can_not_be_written(begin: Begin) -> None:
    desk = begin("green")
    ran = desk.gate("ci", "badge", "-o", "calc.py/badge.json")
    assert ran.code == 11
    assert ran.has("badge.json could not be written")
