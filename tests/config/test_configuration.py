"""`phase-gate.yaml`: what it may say, what is refused and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phase_gate
from phase_gate.config.configuration import load_configuration, parse_configuration
from phase_gate.config.fields import scalar_value
from phase_gate.config.files import apply_overlay, load_shipped_workflow
from phase_gate.config.vocabulary import MAX_BYTES
from phase_gate.config.yaml import YamlMapping, YamlNode, YamlSequence, read_document
from phase_gate.errors import ConfigurationError, DocumentError
from phase_gate.workflow.conditions import parse_condition
from phase_gate.workflow.model import Guard
from phase_gate.workflow.settings import (
    DEFAULT_DECISIONS,
    DEFAULT_DOCS,
    DEFAULT_NO_DOCUMENTS,
    FILE_NAME,
    Configuration,
    DocumentRules,
    DriveBudget,
    DriveSettings,
    EvidenceCommand,
    PhaseOverlay,
    QualitySettings,
    RunDefaults,
)

FULL = """\
workflow: rules/own.yaml
run:
  task: login
  exit: dual
  confirm: true
  criteria: 5
  report: [out/gate.json, out/gate.md]
  dir: build/gate
parameters: {required_green_runs: 3}
metrics: {coverage: number}
guards:
  covered:
    condition: coverage >= 90
    remedy: cover it
    detail: "{coverage} percent"
phases:
  green:
    condition: tests_flaky == 0
    guards: [covered]
  REFACTOR:
    condition: tests_failing == 0
    replace: true
lock_timeout: 2.5
docs: [doc/**]
freeze: [fixtures/**, "*.sql"]
evidence:
  commands:
    build: {run: "make -s 'all of it'", timeout: 2.5}
    lint: {run: "check | tail", shell: true}
  quality:
    enabled: true
    include: [src/**]
    exclude: [src/generated/**]
  documents:
    include: [manual/**]
    exclude: []
    minimum_words: 50
    decisions: [records/**]
    timeout: 2.5
overrides: {allow_non_interactive: true}
agents: {until: phase, stop_blocks: 5}
drive:
  agent: [my-agent, --prompt-file, "{prompt}"]
  time_limit: 15m
  test_time_limit: 90
  budget: {iterations: 3, time: 2h}
  signal: agent
  on_person_needed: [notify-send, "{reason}"]
  env: [PATH, "ANTHROPIC_*"]
  pytest: [-q]
  goal_file: TASK.md
  until: green
  idle_limit: 2
  retry_wait: 0
  executor: claude
  reviewer: [codex, exec]
  commit: true
  roles: {planner: claude, REVIEW: [my-agent, -r], voters: [gemini, codex exec]}
"""


def parse(text: str | bytes) -> Configuration:
    return parse_configuration(text, FILE_NAME)


# What it says


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    loaded = load_configuration(tmp_path)
    assert loaded == Configuration()
    assert loaded.workflow == "tdd"
    assert loaded.run == RunDefaults(task=None, exit="gate1", confirm=False, criteria=None, report=(), dir=None)
    assert (loaded.lock_timeout, loaded.docs, loaded.freeze) == (10, DEFAULT_DOCS, ())
    assert (loaded.commands, loaded.quality, loaded.allow_non_interactive) == ((), QualitySettings(), False)
    assert loaded.documents == DocumentRules(
        include=None, exclude=DEFAULT_NO_DOCUMENTS, minimum_words=20, decisions=DEFAULT_DECISIONS, timeout=120
    )
    assert loaded.documents.rules == {}
    assert (loaded.agents.until, loaded.agents.stop_blocks) == ("cycle", 3)
    assert loaded.drive == DriveSettings()
    assert (loaded.drive.signal, loaded.drive.time_limit, loaded.drive.budget.seconds) == ("ask", 1200, 14400)


def test_a_full_file_keeps_every_word(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(FULL)
    loaded = load_configuration(tmp_path)
    assert loaded.workflow == "rules/own.yaml"
    assert loaded.run == RunDefaults(
        task="login",
        exit="dual",
        confirm=True,
        criteria=5,
        report=("out/gate.json", "out/gate.md"),
        dir="build/gate",
    )
    assert loaded.overlay.parameters == {"required_green_runs": 3}
    assert (loaded.agents.until, loaded.agents.stop_blocks) == ("phase", 5)
    assert loaded.drive == DriveSettings(
        agent=("my-agent", "--prompt-file", "{prompt}"),
        time_limit=900.0,
        test_time_limit=90.0,
        budget=DriveBudget(iterations=3, seconds=7200.0),
        signal="agent",
        on_person_needed=("notify-send", "{reason}"),
        env=("PATH", "ANTHROPIC_*"),
        pytest=("-q",),
        goal_file="TASK.md",
        until="GREEN",
        idle_limit=2,
        retry_wait=0.0,
        executor=("claude",),
        reviewer=("codex", "exec"),
        commit=True,
        roles={"planner": ("claude",), "REVIEW": ("my-agent", "-r")},
        voters=("gemini", "codex exec"),
    )
    assert loaded.overlay.metrics == {"coverage": "number", "build_ok": "bool", "lint_ok": "bool"}
    assert loaded.overlay.guards == {
        "covered": Guard(
            name="covered",
            condition=parse_condition("coverage >= 90"),
            remedy="cover it",
            detail="{coverage} percent",
        )
    }
    assert loaded.overlay.phases == {
        "GREEN": PhaseOverlay(condition=parse_condition("tests_flaky == 0"), guards=("covered",)),
        "REFACTOR": PhaseOverlay(condition=parse_condition("tests_failing == 0"), replace=True),
    }
    assert (loaded.lock_timeout, loaded.docs, loaded.freeze) == (2.5, ("doc/**",), ("fixtures/**", "*.sql"))
    assert loaded.commands == (
        EvidenceCommand(name="build", run="make -s 'all of it'", timeout=2.5),
        EvidenceCommand(name="lint", run="check | tail", shell=True),
    )
    assert loaded.quality == QualitySettings(include=("src/**",), exclude=("src/generated/**",))
    assert loaded.documents == DocumentRules(
        include=("manual/**",), exclude=(), minimum_words=50, decisions=("records/**",), timeout=2.5
    )
    assert loaded.documents.rules == {
        "include": "manual/**",
        "exclude": "",
        "minimum_words": "50",
        "decisions": "records/**",
    }
    assert loaded.allow_non_interactive


@pytest.mark.parametrize(
    ("text", "is_default"),
    [
        pytest.param("evidence: {quality: {}}", True, id="an-empty-part"),
        pytest.param("evidence: {quality: {enabled: true}}", True, id="a-default-spelled-out"),
        pytest.param("evidence: {quality: {enabled: false}}", False, id="switched-off"),
        pytest.param("evidence: {quality: {exclude: [old.py]}}", False, id="a-file-left-out"),
    ],
)
def test_every_word_about_quality_is_part_of_its_rule(text: str, is_default: bool) -> None:
    assert (parse(text).quality.rule == QualitySettings().rule) is is_default


def test_what_it_lays_over_fits_the_shipped_workflow() -> None:
    laid = apply_overlay(load_shipped_workflow("tdd"), parse(FULL).overlay)
    assert laid.parameters["required_green_runs"] == 3
    assert laid.phases[1].gate_1.guards[-1] == "covered"
    assert [phase.gate_1.replaced for phase in laid.phases] == [False, False, True, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("run: {criteria: criteria.yaml}", RunDefaults(criteria="criteria.yaml"), id="criteria-file"),
        pytest.param("run: {criteria: '5'}", RunDefaults(criteria="5"), id="quoted-number-is-a-path"),
        pytest.param("run: {report: out.json}", RunDefaults(report=("out.json",)), id="one-report"),
        pytest.param("run: {report: []}", RunDefaults(), id="no-report"),
        pytest.param("run: {report: ./..a/b.json}", RunDefaults(report=("./..a/b.json",)), id="dots-that-stay-inside"),
        pytest.param("run: {dir: .}", RunDefaults(dir="."), id="the-root-itself-as-state-folder"),
        pytest.param("run: {task: on}", RunDefaults(task="on"), id="a-task-may-be-called-on"),
        pytest.param("run: {}", RunDefaults(), id="nothing"),
    ],
)
def test_run_defaults(text: str, expected: RunDefaults) -> None:
    assert parse(text).run == expected


def test_the_workflow_may_stand_under_run() -> None:
    assert parse("run: {workflow: pipeline}").workflow == "pipeline"


def test_no_docs_at_all_is_a_choice() -> None:
    assert parse("docs: []").docs == ()


# What it refuses

#: What a schema refuses too.
WRONG_STRUCTURE = [
    pytest.param("drive: {signal: auto}", "1:17", "drive.signal can't be 'auto'", "ask", id="a-signal-by-itself"),
    pytest.param("drive: {time_limit: soon}", "1:21", "has to be a span of time", "20m", id="no-span-of-time"),
    pytest.param("drive: {budget: {iterations: 0}}", "1:30", "can't be 0", "1 or more", id="a-budget-of-nothing"),
    pytest.param("drive: {budget: {money: 3}}", "1:18", "unknown key 'money'", "iterations", id="a-budget-of-money"),
    pytest.param("drive: {roles: {boss: claude}}", "1:17", "'boss' is no role", "planner", id="no-role"),
    pytest.param("drive: {env: [PHASE_GATE_KEY]}", "1:15", "never reaches an agent", "take it out", id="the-key"),
    pytest.param("agents: {until: dawn}", "1:17", "agents.until can't be 'dawn'", "cycle", id="until-another-time"),
    pytest.param("agents: {untill: phase}", "1:10", "unknown key 'untill' in agents", "until", id="unknown-for-agents"),
    pytest.param("agents: {stop_blocks: 0}", "1:23", "agents.stop_blocks can't be 0", "1 or more", id="never-held-up"),
    pytest.param(
        "agents: {stop_blocks: often}", "1:23", "agents.stop_blocks has to be a whole number", "digits", id="how-often"
    ),
    pytest.param("- a", "1:1", "the file has to be a mapping", "key: value", id="a-list"),
    pytest.param("workflw: tdd", "1:1", "unknown key 'workflw'", "use one of: workflow,", id="unknown-key"),
    pytest.param("workflow: [tdd]", "1:11", "workflow has to be a text", "one text", id="workflow-in-a-list"),
    pytest.param("workflow:", "1:1", "workflow has no value", "take the key out", id="workflow-of-nothing"),
    pytest.param("run: fast", "1:6", "run has to be a mapping, not 'fast'", "key: value", id="run-that-is-a-text"),
    pytest.param("run:", "1:1", "run has to be a mapping, not nothing", "key: value", id="run-of-nothing"),
    pytest.param("run:\n  tsak: a", "2:3", "unknown key 'tsak' in run", "use one of: task,", id="unknown-key-in-run"),
    pytest.param("run:\n  phase: red", "2:3", "would record every run", "--phase with", id="phase-in-a-file"),
    pytest.param("run: {exit_signal: x}", "1:7", "not given on purpose", "--exit-signal with", id="signal-in-a-file"),
    pytest.param("run: {exit-signal: x}", "1:7", "not given on purpose", "--exit-signal with", id="signal-with-a-dash"),
    pytest.param("run: {shard: 1/2}", "1:7", "its own number", "--phase-shard with", id="shard-in-a-file"),
    pytest.param("run: {exit: gate2}", "1:13", "run.exit can't be 'gate2'", "gate1", id="exit-that-is-no-choice"),
    pytest.param("run: {confirm: yes}", "1:16", "run.confirm has to be a boolean", "true or false", id="yes-for-true"),
    pytest.param("run: {criteria: 0}", "1:17", "run.criteria can't be 0", "1 or more", id="no-criteria"),
    pytest.param("run: {criteria: 1.5}", "1:17", "whole number", "digits", id="one-and-a-half-criteria"),
    pytest.param("run: {criteria: true}", "1:17", "whole number", "digits", id="criteria-that-are-true"),
    pytest.param("run: {criteria: [1]}", "1:17", "not a list", "", id="criteria-in-a-list"),
    pytest.param("run: {criteria: ' '}", "1:17", "run.criteria is blank", "text", id="blank-criteria"),
    pytest.param("run: {criteria: }", "1:7", "not nothing", "digits", id="criteria-of-nothing"),
    pytest.param("run: {report: {a: b}}", "1:15", "has to be a list", "[one, two]", id="report-that-is-a-mapping"),
    pytest.param("run: {report: [[a]]}", "1:16", "an item of run.report", "one text", id="report-in-two-lists"),
    pytest.param(
        "workflow: tdd\nrun: {workflow: tdd}", "2:17", "the workflow is named twice", "keep one", id="workflow-twice"
    ),
    pytest.param("parameters: [a]", "1:13", "parameters has to be a mapping", "", id="parameters-in-a-list"),
    pytest.param("parameters: {a: }", "1:14", "parameters.a has no value", "number", id="parameter-of-nothing"),
    pytest.param("parameters: {a: [1]}", "1:17", "one value, not a list", "", id="parameter-that-is-a-list"),
    pytest.param("metrics: {a: float}", "1:14", "metrics.a can't be 'float'", "number", id="unknown-type"),
    pytest.param("metrics: {A: int}", "1:11", "can't be named 'A'", "lower case", id="metric-in-upper-case"),
    pytest.param(
        "guards: {a: {remedy: x}}", "1:13", "the key 'condition' is missing", "", id="guard-without-condition"
    ),
    pytest.param("guards: {a: x}", "1:13", "guards.a has to be a mapping", "", id="guard-that-is-a-text"),
    pytest.param("guards: {A: {}}", "1:10", "can't be named 'A'", "lower case", id="guard-in-upper-case"),
    pytest.param("phases: {RED: }", "1:10", "phases.RED has to be a mapping", "", id="phase-of-nothing"),
    pytest.param("phases: {RED: {gate_2: x}}", "1:16", "unknown key 'gate_2' in phases.RED", "", id="other-gate-2"),
    pytest.param("phases: {RED: {guards: a}}", "1:24", "has to be a list", "[one", id="guards-without-brackets"),
    pytest.param("phases: {RED: {condition: [a]}}", "1:27", "has to be a text", "", id="condition-in-a-list"),
    pytest.param("phases: {RED: {condition: }}", "1:16", "has no value", "", id="condition-of-nothing"),
    pytest.param("phases: {RED: {replace: 1}}", "1:25", "has to be a boolean", "true", id="one-for-true"),
    pytest.param(
        "phases: {RED: {replace: true}}", "1:25", "no condition to replace", "add one", id="replace-by-nothing"
    ),
    pytest.param("lock_timeout: soon", "1:15", "has to be a number", "number", id="timeout-in-words"),
    pytest.param("lock_timeout: -1", "1:15", "lock_timeout can't be -1", "0 or more", id="negative-timeout"),
    pytest.param("docs: '*.md'", "1:7", "docs has to be a list", "[one", id="docs-without-brackets"),
    pytest.param("docs: ['']", "1:8", "an item of docs is blank", "", id="blank-glob"),
    pytest.param("freeze: {a: b}", "1:9", "freeze has to be a list", "", id="freeze-that-is-a-mapping"),
    pytest.param("evidence: {a: 1}", "1:12", "unknown key 'a' in evidence", "commands", id="other-evidence"),
    pytest.param("evidence: {commands: {b: {}}}", "1:26", "the key 'run' is missing", "", id="a-command-without-one"),
    pytest.param("evidence: {commands: {B: {run: a}}}", "1:23", "can't be named", "lower case", id="a-command-named-B"),
    pytest.param("evidence: {quality: true}", "1:21", "evidence.quality has to be a mapping", "", id="quality-is-true"),
    pytest.param("evidence: {quality: {max: 1}}", "1:22", "unknown key 'max'", "exclude", id="a-limit"),
    pytest.param("evidence: {quality: {enabled: no}}", "1:31", "a boolean", "true or false", id="enabled-no"),
    pytest.param("evidence: {documents: {a: 1}}", "1:24", "unknown key 'a'", "minimum_words", id="other-documents"),
    pytest.param("evidence: {documents: {include: []}}", "1:33", "no document would", "name some", id="no-document"),
    pytest.param("evidence: {documents: {minimum_words: 0}}", "1:39", "can't be 0", "1 or more", id="no-words"),
    pytest.param("evidence: {documents: {decisions: adr}}", "1:35", "has to be a list", "[one", id="one-decision"),
    pytest.param("evidence: {documents: {timeout: -1}}", "1:33", "can't be -1", "0 or more", id="negative-time"),
    pytest.param("evidence: [a]", "1:11", "evidence has to be a mapping", "", id="evidence-in-a-list"),
    pytest.param("store: git:origin", "1:8", "is named with its project", "git:REMOTE#PROJECT", id="no-project"),
    pytest.param("store: shop", "1:8", "is named with its project", "", id="a-store-of-one-word"),
    pytest.param("store: origin#shop", "1:8", "is no store that we know", "git:REMOTE#PROJECT", id="no-kind-of-store"),
    pytest.param("store: [git, shop]", "1:8", "store has to be a mapping", "", id="a-store-in-a-list"),
    pytest.param("store: {git: origin}", "1:8", "the key 'project' is missing", "", id="a-remote-without-a-project"),
    pytest.param("store: {project: shop}", "1:8", "the key 'git' is missing", "", id="a-project-without-a-store"),
    pytest.param("store: {git: '', project: shop}", "1:14", "blank", "", id="a-remote-of-nothing"),
    pytest.param("store: {svn: here, project: shop}", "1:8", "the key 'git' is missing", "", id="an-unknown-kind"),
    pytest.param("store: {git: a, project: b, key: c}", "1:29", "unknown key 'key'", "", id="more-than-a-store"),
    pytest.param(
        "store: {git: a, postgresql: 'postgresql://b/c', project: d}",
        "1:17",
        "two stores are named",
        "keep one",
        id="two-stores",
    ),
    pytest.param(
        "store: {postgresql: 'db:5432/c', project: d}", "1:21", "no address of a database", "write", id="no-scheme"
    ),
    pytest.param("overrides: true", "1:12", "overrides has to be a mapping", "", id="overrides-that-are-true"),
    pytest.param("overrides: {allow_non_interactive: on}", "1:36", "boolean, not 'on'", "true", id="on-for-true"),
    pytest.param("overrides: {force: true}", "1:13", "unknown key 'force'", "allow", id="unknown-override"),
]

#: Names and conditions: what only the loader knows.
WRONG_MEANING = [
    pytest.param(
        "store: 'git:ext::sh -c touch% x#shop'", "1:8", "is no remote that a store may be on", "ssh", id="a-command"
    ),
    pytest.param("store: {git: --upload-pack=x, project: a}", "1:8", "is no remote", "", id="an-option-for-git"),
    pytest.param("store: {git: 'ftp://a/b', project: c}", "1:8", "is no remote", "file://", id="a-remote-by-ftp"),
    pytest.param("store: {git: a, project: b/c}", "1:8", "can't be a project's", "1 to 64", id="project-in-path"),
    pytest.param("store: {git: a, project: b.lock}", "1:8", "can't be a project's name", "", id="project-like-a-lock"),
    pytest.param(
        "store: 'postgresql://ada:secret@db/c#d'", "1:8", "may not hold a password", "PGPASSFILE", id="a-password"
    ),
    pytest.param(
        "metrics: {tests_total: int}", "1:11", "is a measured metric already", "", id="metric-that-is-measured"
    ),
    pytest.param("phases:\n  RED: {}\n  red: {}", "3:3", "phase RED comes twice", "keep one", id="phase-in-two-cases"),
    pytest.param("phases: {RED: {condition: a >}}", "1:27", "phases.RED.condition: ", "", id="condition-cut-short"),
    pytest.param("guards: {a: {condition: (, remedy: x}}", "1:25", "guards.a.condition: ", "", id="guard-cut-short"),
    pytest.param("parameters: {a: 010}", "1:17", "leading zero", "quotes", id="octal-or-decimal"),
    pytest.param("lock_timeout: 1e999", "1:15", "too big", "shorter", id="endless-timeout"),
    pytest.param("run: {dir: ../x}", "1:12", "is no path below the root", "PHASE_GATE_DIR", id="a-folder-above"),
    pytest.param("run: {dir: /var/x}", "1:12", "is no path below the root", "--phase-dir", id="an-absolute-folder"),
    pytest.param(
        "run: {dir: a/../../b}", "1:12", "is no path below the root", "--dir", id="a-folder-above-by-a-detour"
    ),
    pytest.param("run: {dir: ~/x}", "1:12", "is no path below the root", "`/`", id="a-folder-in-the-home"),
    pytest.param("run: {dir: 'C:/x'}", "1:12", "is no path below the root", "`/`", id="a-folder-on-a-drive"),
    pytest.param("run: {dir: '..\\x'}", "1:12", "is no path below the root", "`/`", id="a-folder-above-on-windows"),
    pytest.param("run: {report: ../a.md}", "1:15", "is no path below the root", "--phase-report", id="a-report-above"),
    pytest.param(
        "run: {report: [a.md, /b.md]}", "1:22", "'/b.md' is no path", "--phase-report", id="an-absolute-report"
    ),
    pytest.param(
        "verification: {state_file: /S.md}", "1:28", "is no path below the root", "`/`", id="an-absolute-state"
    ),
    pytest.param("verification: {state_file: ../S.md}", "1:28", "is no path below the root", "`/`", id="a-state-above"),
]


@pytest.mark.parametrize(("text", "place", "problem", "remedy"), WRONG_STRUCTURE + WRONG_MEANING)
def test_refuses_with_place_and_remedy(text: str, place: str, problem: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse(text)
    assert caught.value.problem.startswith(f"phase-gate.yaml:{place}: ")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-configuration"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("", "1:1", id="empty"),
        pytest.param("# workflow: tdd\n", "1:1", id="only-comments"),
        pytest.param(b"\x89PNG\r\n", "1:1", id="binary"),
        pytest.param("workflow: tdd\nworkflow: tdd", "2:1", id="key-twice"),
        pytest.param("run:\n\ttask: a", "2:1", id="tab"),
        pytest.param("run: !!python/object:os.system {}", "1:6", id="tag"),
        pytest.param("docs: &a [b]\nfreeze: *a", "1:7", id="anchor"),
        pytest.param("run:\n  <<: {}", "2:3", id="merge-key"),
        pytest.param("workflow: a\n---\nworkflow: b", "3:1", id="two-documents"),
        pytest.param("evidence: " + "[" * 40, "1:42", id="deep-nesting"),
        pytest.param("workflow: " + "x" * 10_000_000, "1:1", id="ten-megabytes"),
    ],
)
def test_what_is_no_yaml_is_refused_by_the_reader(text: str | bytes, place: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text)
    assert caught.value.problem.startswith(f"phase-gate.yaml:{place}: ")
    assert caught.value.slug == "bad-yaml"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param("parameters:\n  requird: 1", "2:3", "has no parameter 'requird'", id="unknown-parameter"),
        pytest.param("parameters:\n  required_green_runs: '2'", "2:3", "type int, not text", id="text-for-number"),
        pytest.param("phases:\n  grene: {}", "2:3", "has no phase 'GRENE'", id="unknown-phase"),
        pytest.param("phases:\n  red: {condition: nope > 0}", "2:20", "unknown name 'nope'", id="unknown-metric"),
        pytest.param("phases:\n  red:\n    guards: [nope]", "3:13", "unknown guard 'nope'", id="unknown-guard"),
        pytest.param(
            "guards:\n  tests-kept: {condition: iteration > 0, remedy: x}", "2:3", "exists already", id="shipped-guard"
        ),
        pytest.param("metrics:\n  refactoring_complete: bool", "2:3", "exists already", id="metric-that-is-a-fact"),
    ],
)
def test_what_does_not_fit_the_workflow_is_found_in_the_file(text: str, place: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        apply_overlay(load_shipped_workflow("tdd"), parse(text).overlay)
    assert caught.value.problem.startswith(f"phase-gate.yaml:{place}: ")
    assert problem in caught.value.problem
    assert caught.value.slug == "bad-configuration"


# Files


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        pytest.param(lambda root: (root / FILE_NAME).mkdir(), "phase-gate.yaml: this is a folder", id="folder"),
        pytest.param(lambda root: (root / FILE_NAME).symlink_to("gone"), "no such file", id="dangling-link"),
        pytest.param(lambda root: (root / FILE_NAME).symlink_to(FILE_NAME), "can't be read", id="link-to-itself"),
        pytest.param(lambda root: (root / "phase-gate.yml").touch(), "phase-gate.yml: ", id="other-suffix"),
    ],
)
def test_what_stands_in_its_place_is_refused(tmp_path: Path, make: Callable[[Path], None], problem: str) -> None:
    make(tmp_path)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(tmp_path)
    assert problem in caught.value.problem
    assert caught.value.remedy
    assert caught.value.slug == "bad-configuration"


def test_does_not_wait_at_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        load_configuration(tmp_path)


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    # A link to itself: nobody can read that, not even root, who may read everything else.
    (tmp_path / FILE_NAME).symlink_to(tmp_path / FILE_NAME)
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_configuration(tmp_path)


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"#" * 10_000_000)
    with pytest.raises(DocumentError, match=rf"^phase-gate\.yaml:1:1: bigger than {MAX_BYTES} bytes"):
        load_configuration(tmp_path)


@pytest.mark.processes
def test_without_a_file_no_yaml_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from phase_gate.config.configuration import load_configuration;"
        "load_configuration(pathlib.Path.cwd()); assert 'yaml' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


# Schema


def as_json(node: YamlNode) -> object:
    if isinstance(node, YamlMapping):
        return {key.text: as_json(value) for key, value in node.entries}
    if isinstance(node, YamlSequence):
        return [as_json(item) for item in node.items]
    return scalar_value(node)


RIGHT = {
    "full": FULL,
    "nothing": "{}",
    "workflow": "workflow: tdd",
    "workflow-under-run": "run: {workflow: tdd}",
    "criteria-file": "run: {criteria: criteria.yaml}",
    "one-report": "run: {report: out.json}",
    "task-that-looks-like-a-number": "run: {task: 1.10}",
    "condition-without-replace": "phases: {RED: {condition: iteration > 0, replace: false}}",
    "empty-phase": "phases: {RED: {}}",
    "whole-timeout": "lock_timeout: 0",
    "store-on-git": "store: {git: origin, project: shop}",
    "store-in-a-database": "store: {postgresql: 'postgresql://db/work', project: shop}",
    "store-as-a-text": "store: git:origin#shop",
    "no-evidence": "evidence: {}",
    "agents": "agents: {until: cycle}",
    "nothing-about-agents": "agents: {}",
    "a-command": "evidence: {commands: {build: {run: make}}}",
    "quality": "evidence: {quality: {enabled: false, include: []}}",
    "no-rules-for-documents": "evidence: {documents: {}}",
    "documents": "evidence: {documents: {include: [a.md], exclude: [], minimum_words: 1, timeout: 0}}",
}


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        *(pytest.param(text, True, id=name) for name, text in RIGHT.items()),
        *(pytest.param(row.values[0], False, id=str(row.id)) for row in WRONG_STRUCTURE),
    ],
)
def test_schema_and_loader_agree(text: str, is_accepted: bool) -> None:
    folder = Path(phase_gate.__file__).parent / "schemas"
    schema = json.loads((folder / "configuration.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    document = as_json(read_document(text, name=FILE_NAME, limit=MAX_BYTES))
    assert jsonschema.Draft7Validator(schema).is_valid(document) is is_accepted
    if is_accepted:
        parse(text)
    else:
        with pytest.raises(ConfigurationError):
            parse(text)


# Fuzz

SIGNS = [*" :[]{}()'\"|\t\né", ": ", "- ", "&a ", "*a", "!!str ", "<<: ", "---\n"]
WORDS = [
    "true",
    "null",
    "-1",
    "1e400",
    "phase: x\n",
    "exit_signal",
    " AND ",
    "==",
    "run: {}\n",
    "guards: [x]\n",
    "replace: true",
]
PIECES = st.sampled_from([*SIGNS, *WORDS])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good file with a few slices taken out or replaced."""
    text = draw(st.sampled_from(sorted(RIGHT.values())))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 30))
        text = text[:start] + draw(PIECES | st.text(max_size=5)) + text[end:]
    return text


@given(damaged() | st.text(max_size=100) | st.binary(max_size=100))
@settings(deadline=None, max_examples=80)
def test_only_our_errors_escape(text: str | bytes) -> None:
    problem = "phase-gate.yaml:"
    try:
        apply_overlay(load_shipped_workflow("tdd"), parse(text).overlay)
    except (ConfigurationError, DocumentError) as error:
        problem = error.problem
    assert problem.startswith("phase-gate.yaml:")


# --- bounds


@pytest.mark.parametrize(
    ("section", "key", "least"),
    [
        pytest.param("", "lock_timeout", 0, id="lock_timeout"),
        pytest.param("", "run_limit", 0, id="run_limit"),
        pytest.param("", "keep_objects", 0, id="keep_objects"),
        pytest.param("exit_gate", "indicator_threshold", 1, id="indicator_threshold"),
        pytest.param("exit_gate.thresholds", "docs", 1, id="thresholds"),
        pytest.param("confidence", "threshold", 1, id="threshold"),
        pytest.param("confidence", "low", 0, id="low"),
        pytest.param("confidence", "repeated", 1, id="repeated"),
        pytest.param("evidence.documents", "minimum_words", 1, id="minimum_words"),
        pytest.param("evidence.documents", "timeout", 0, id="timeout-of-documents"),
        pytest.param("proof", "seconds", 1, id="seconds-of-a-proof"),
        pytest.param("agents", "stop_blocks", 1, id="stop_blocks"),
        pytest.param("verification.timeouts", "verify", 1, id="timeouts"),
        pytest.param("drive", "time_limit", 1, id="time_limit"),
        pytest.param("drive", "test_time_limit", 1, id="test_time_limit"),
        pytest.param("drive", "idle_limit", 1, id="idle_limit"),
        pytest.param("drive", "retry_wait", 0, id="retry_wait"),
        pytest.param("drive.budget", "iterations", 1, id="iterations"),
        pytest.param("drive.budget", "time", 1, id="time"),
        pytest.param("phases.RED.breaker", "no_progress", 0, id="no_progress"),
        pytest.param("phases.RED.breaker", "same_error", 0, id="same_error"),
        pytest.param("phases.RED.breaker", "exit_blocked", 0, id="exit_blocked"),
        pytest.param("phases.RED.breaker", "cool_down", 0, id="cool_down"),
    ],
)
def test_no_number_is_below_its_bound(section: str, key: str, least: int) -> None:
    def read(value: int) -> Configuration:
        text = f"{key}: {value}"
        for name in reversed(section.split(".") if section else []):
            text = f"{name}: {{{text}}}"
        return parse_configuration(text)

    read(60)
    with pytest.raises(ConfigurationError) as caught:
        read(least - 1)
    # A span of time has no sign.
    assert caught.value.remedy == f"write {least} or more" or key == "retry_wait"
