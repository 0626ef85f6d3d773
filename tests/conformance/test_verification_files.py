"""Verification gate: what is read (VG-03, VG-06, VG-24, VG-29), and how a command is ended (VG-13)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from phase_gate.errors import MalformedResultError, TaskFileError
from phase_gate.evidence.process.run import run_process
from phase_gate.tasks.handins import read_executor_result, read_verdict
from phase_gate.tasks.lint import lint_command, lint_done
from phase_gate.tasks.model import TaskSpec
from phase_gate.tasks.task_files import parse_tasks
from phase_gate.workflow.settings import DEFAULT_TIMEOUTS, GATE_TIMEOUT, MAX_TIMEOUTS
from tests.conformance.stories import faults
from tests.evidence.processes import Reached, is_alive


def refused(read: Any, text: str) -> str:
    with pytest.raises(MalformedResultError) as caught:
        read(text, "given.yaml")
    return str(caught.value.problem)


# --- VG-03 -------------------------------------------------------------------------------------------------------

SUCCESS = """\
status: success
task_name: "Task 3: Create PlannerId"
files_modified: [src/domain/PlannerId.ts]
verification:
  command: "npm test -- PlannerId"
  exit_code: 0
  output_summary: "5 tests passed"
done_criteria_met: true
evidence: |
  PlannerId class created with correct fields
error: null
"""
FAILURE = """\
status: failure
task_name: "Task 3: Create PlannerId"
error: |
  Cannot find module 'uuid'
  Run `npm install uuid` first
"""
BLOCKED = """\
status: blocked
task_name: "Task 3: Create PlannerId"
error: |
  Required file not found: src/domain/PlannerId.ts
  This task depends on Task 2 which may not be complete.
"""


@pytest.mark.criterion("VG-03")
@pytest.mark.parametrize(("text", "status"), [(SUCCESS, "success"), (FAILURE, "failure"), (BLOCKED, "blocked")])
def test_the_three_kinds_of_reports(text: str, status: str) -> None:
    result = read_executor_result(text, "result.yaml")
    assert result.status == status
    assert result.task_name == "Task 3: Create PlannerId"
    assert faults("executor-result", yaml.safe_load(text)) == []


@pytest.mark.criterion("VG-03")
def test_a_report_keeps_what_it_says() -> None:
    result = read_executor_result(SUCCESS, "result.yaml")
    assert result.files_modified == ("src/domain/PlannerId.ts",)
    assert result.verification is not None
    assert (result.verification.command, result.verification.exit_code) == ("npm test -- PlannerId", 0)
    assert result.done_criteria_met
    assert result.evidence == "PlannerId class created with correct fields"
    assert read_executor_result(FAILURE, "result.yaml").error.startswith("Cannot find module 'uuid'\nRun")


@pytest.mark.criterion("VG-03")
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("status: success", "status: done", "given.yaml:1:9: status can't be 'done'"),
        ("status: success\n", "", "the key 'status' is missing"),
        ("status: success", "status: success | failure | blocked", "status can't be 'success | failure | blocked'"),
        ("done_criteria_met: true", "done_criteria_met: true | false", "done_criteria_met has to be a boolean"),
        ("exit_code: 0", "exit_code: {code}", "exit_code has to be one value"),
        ("[src/domain/PlannerId.ts]", "[...]", "'...' stands in the form"),
        ("error: null", "error: [", "not YAML"),
        ("error: null", "error: no module", "it says success, and names an error"),
    ],
)
def test_what_does_not_match_the_schema_is_malformed(old: str, new: str, problem: str) -> None:
    assert old in SUCCESS
    assert problem in refused(read_executor_result, SUCCESS.replace(old, new))


# --- VG-06 -------------------------------------------------------------------------------------------------------

APPROVED = """\
verdict: APPROVED
task_name: "Task 3: Create PlannerId"
confidence: MEDIUM
findings:
  - "Build passes"
  - "Feature implemented"
concerns:
  - "3 TypeScript warnings should be addressed"
recommendation: commit
"""
REJECTED = """\
verdict: REJECTED
task_name: "Task 3: Create PlannerId"
confidence: HIGH
findings:
  - "Tests pass but implementation is incomplete"
concerns:
  - "Missing error handling for edge case"
  - "Documentation not updated"
recommendation: retry
feedback: |
  Implementation passes tests but:
  1. No error handling for null input
  2. JSDoc comments missing
"""


@pytest.mark.criterion("VG-06")
def test_a_verdict_keeps_everything() -> None:
    approved = read_verdict(APPROVED, "verdict.yaml")
    assert (approved.verdict, approved.confidence, approved.recommendation) == ("APPROVED", "MEDIUM", "commit")
    assert approved.findings == ("Build passes", "Feature implemented")
    assert approved.concerns == ("3 TypeScript warnings should be addressed",)
    rejected = read_verdict(REJECTED, "verdict.yaml")
    assert (rejected.verdict, rejected.recommendation) == ("REJECTED", "retry")
    assert rejected.feedback.splitlines()[1] == "1. No error handling for null input"
    for text in (APPROVED, REJECTED):
        assert faults("verdict", yaml.safe_load(text)) == []


@pytest.mark.criterion("VG-06")
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("verdict: APPROVED", "verdict: APPROVED | REJECTED", "verdict can't be"),
        ("verdict: APPROVED", "verdict: Approved", "verdict can't be"),
        ("confidence: MEDIUM", "confidence: 80", "confidence can't be"),
        ("recommendation: commit", "recommendation: ship it", "recommendation can't be"),
        ("recommendation: commit\n", "", "the key 'recommendation' is missing"),
        ('  - "Build passes"', '  - "Criterion X met: {evidence}"', "stands in the form"),
        ("verdict: APPROVED", "verdict: REJECTED", "it says REJECTED, and recommends the commit"),
    ],
)
def test_a_verdict_that_is_none_is_malformed(old: str, new: str, problem: str) -> None:
    assert old in APPROVED
    assert problem in refused(read_verdict, APPROVED.replace(old, new))


# --- VG-24 -------------------------------------------------------------------------------------------------------


def task(verify: str, done: str = "all 5 tests pass") -> TaskSpec:
    return TaskSpec(name="Task 1", files=(), action="do", verify=verify, done=done, shell=True)


@pytest.mark.criterion("VG-24")
@pytest.mark.parametrize("verify", ['echo "done"', "true", "cat file.ts", "npm test || true", "npm test -- a | tail"])
def test_commands_that_prove_nothing_are_refused(verify: str) -> None:
    assert [each.kind for each in lint_command(task(verify))] == ["refused"]


@pytest.mark.criterion("VG-24")
def test_too_broad_a_command_is_flagged() -> None:
    assert [(each.kind, each.slug) for each in lint_command(task("npm test"))] == [("flagged", "too-broad")]


@pytest.mark.criterion("VG-24")
@pytest.mark.parametrize(
    "verify", ["npm test -- PlannerId", 'grep -c "export class Foo" src/Foo.ts', "tsc --noEmit && npm test"]
)
def test_the_good_ones_of_the_document_are_left_alone(verify: str) -> None:
    assert lint_command(task(verify)) == ()


@pytest.mark.criterion("VG-24")
@pytest.mark.parametrize(
    ("done", "flags"),
    [
        ("Task complete", ["vague-done"]),
        ("It works", ["vague-done"]),
        ("PlannerId class exists with id, createdAt, version properties; all 5 tests pass", []),
    ],
)
def test_vague_done_criteria_are_flagged(done: str, flags: list[str]) -> None:
    assert [each.slug for each in lint_done(task("npm test -- a", done))] == flags


# --- VG-29 -------------------------------------------------------------------------------------------------------

XML = """\
<task>
  <name>Task 3: Create PlannerId</name>
  <files>src/domain/PlannerId.ts</files>
  <action>Create the class</action>
  <verify>npm test -- PlannerId</verify>
  <done>PlannerId class exists with id, createdAt, version properties; all 5 tests pass</done>
</task>
"""
YAML = """\
name: "Task 3: Create PlannerId"
files: [src/domain/PlannerId.ts]
action: Create the class
verify: npm test -- PlannerId
done: PlannerId class exists with id, createdAt, version properties; all 5 tests pass
"""


@pytest.mark.criterion("VG-29")
def test_a_task_reads_the_same_from_xml_and_from_yaml() -> None:
    (task,) = parse_tasks(XML, "task.xml")
    assert (task,) == parse_tasks(YAML, "task.yaml")
    assert task.slug == "task-3-create-plannerid"
    assert task.verify == "npm test -- PlannerId"
    assert faults("task", yaml.safe_load(YAML)) == []


@pytest.mark.criterion("VG-29")
def test_several_tasks_stand_in_one_file() -> None:
    second = XML.replace("Task 3", "Task 4")
    assert [each.name[:6] for each in parse_tasks(f"<plan>{XML}{second}</plan>", "plan.xml")] == ["Task 3", "Task 4"]


@pytest.mark.criterion("VG-29")
def test_a_task_without_a_verify_command_is_none() -> None:
    for text, name in ((XML.replace("<verify>npm test -- PlannerId</verify>", ""), "task.xml"),):
        with pytest.raises(TaskFileError, match=r"task\.xml:1:1: <verify> is missing"):
            parse_tasks(text, name)


# --- VG-13 -------------------------------------------------------------------------------------------------------


@pytest.mark.criterion("VG-13")
def test_defaults_and_maxima_are_those_of_the_document() -> None:
    assert dict(DEFAULT_TIMEOUTS) == {"executor": 5 * 60, "verify": 2 * 60, "review": 3 * 60}
    assert dict(MAX_TIMEOUTS) == {"executor": 15 * 60, "verify": 5 * 60, "review": 10 * 60}
    assert GATE_TIMEOUT == 30 * 60
    with pytest.raises(TaskFileError, match=r"timeouts\.verify can't be 301 s"):
        parse_tasks(f"{YAML}timeouts: {{verify: 301}}\n", "task.yaml")


@pytest.mark.criterion("VG-13")
def test_a_time_out_ends_the_tree_and_keeps_what_was_printed(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "os.write(1, b'%d\\n' % child.pid)\n"
        "time.sleep(60)\n"
    )
    (tmp_path / "slow.py").write_text(code, encoding="utf-8")
    ended = run_process(
        f"{sys.executable} slow.py",
        shell=False,
        cwd=tmp_path,
        environment=os.environ,
        timeout=Reached(tmp_path / "verify.txt"),
        log=tmp_path / "verify.txt",
        limit=1000,
    )
    assert (ended.how, ended.code, ended.problem) == ("timed-out", None, "")
    assert not is_alive(int(ended.output.read_text(encoding="utf-8")))
