"""`phase-gate.yaml`: what it may say, what is refused and where."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

import phase_gate
from phase_gate.codec import to_json
from phase_gate.config.configuration import apply_overlay, load_configuration, parse_configuration
from phase_gate.config.documents import MAX_BYTES, read_document
from phase_gate.config.workflow_files import load_shipped_workflow
from phase_gate.errors import ConfigurationError, DocumentError
from phase_gate.values import Value, annotation_of, fields, metadata_of
from phase_gate.workflow.condition_parser import conjoin
from phase_gate.workflow.model import Guard, Limits, Workflow, name_rules
from phase_gate.workflow.sections import SECTIONS, AgentSettings, DriveBudget, DriveSettings, Overlay, PhaseOverlay
from phase_gate.workflow.settings import (
    FILE_NAME,
    Configuration,
    DocumentRules,
    EvidenceCommand,
    QualitySettings,
    RunDefaults,
)
from tests.config.test_workflow_files import as_json

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
overrides: {allow_non_interactive: true}
agents: {until: phase, stop_blocks: 5}
drive:
  agent: [my-agent, --prompt-file, "{prompt}"]
  time_limit: 15m
  test_time_limit: 90
  budget: {iterations: 3, time: 2h}
  signal: agent
  pytest: [-q]
  goal_file: TASK.md
  until: green
  commit: true
  phases: {PLAN: claude, REVIEW: [my-agent, -r]}
  reviewers: [gemini, codex exec]
"""


def parse(text: str | bytes) -> Configuration:
    return parse_configuration(text, FILE_NAME)


# What it says


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert load_configuration(tmp_path) == Configuration()


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
    overlay = loaded.overlay
    assert overlay is not None
    assert overlay.parameters == {"required_green_runs": 3}
    assert (AgentSettings.of(loaded).until, AgentSettings.of(loaded).stop_blocks) == ("phase", 5)
    assert DriveSettings.of(loaded) == DriveSettings(
        agent=("my-agent", "--prompt-file", "{prompt}"),
        time_limit=900.0,
        test_time_limit=90.0,
        budget=DriveBudget(iterations=3, seconds=7200.0),
        signal="agent",
        pytest=("-q",),
        goal_file="TASK.md",
        until="green",
        commit=True,
        phases={"PLAN": ("claude",), "REVIEW": ("my-agent", "-r")},
        reviewers=("gemini", "codex exec"),
    )
    assert overlay.metrics == {"coverage": "number", "build_ok": "bool", "lint_ok": "bool"}
    assert overlay.guards == {
        "covered": Guard(
            name="covered",
            condition="coverage >= 90",
            remedy="cover it",
            detail="{coverage} percent",
        )
    }
    assert overlay.phases == {
        "GREEN": PhaseOverlay(condition="tests_flaky == 0", guards=("covered",)),
        "REFACTOR": PhaseOverlay(condition="tests_failing == 0", replace=True),
    }
    assert (loaded.lock_timeout, loaded.docs, loaded.freeze) == (2.5, ("doc/**",), ("fixtures/**", "*.sql"))
    assert loaded.evidence.commands == {
        "build": EvidenceCommand(name="build", run="make -s 'all of it'", timeout=2.5),
        "lint": EvidenceCommand(name="lint", run="check | tail", shell=True),
    }
    assert loaded.evidence.quality == QualitySettings(include=("src/**",), exclude=("src/generated/**",))
    assert loaded.evidence.documents == DocumentRules(
        include=("manual/**",), exclude=(), minimum_words=50, decisions=("records/**",)
    )
    assert loaded.overrides.allow_non_interactive


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("run: {criteria: criteria.yaml}", RunDefaults(criteria="criteria.yaml"), id="criteria-file"),
        pytest.param("run: {criteria: '5'}", RunDefaults(criteria="5"), id="quoted-number-is-a-path"),
        pytest.param("run: {report: ./..a/b.json}", RunDefaults(report=("./..a/b.json",)), id="dots-that-stay-inside"),
        pytest.param("run: {task: on}", RunDefaults(task="on"), id="a-task-may-be-called-on"),
    ],
)
def test_run_defaults(text: str, expected: RunDefaults) -> None:
    assert parse(text).run == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1.10", 1.1, id="float"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param("False", False, id="yaml-1.2-allows-a-capital"),
        pytest.param("on", "on", id="on-is-a-text"),
        pytest.param("2026-01-13", "2026-01-13", id="date-is-a-text"),
        pytest.param("1_000", "1_000", id="underscores-make-a-text"),
        pytest.param("١", "١", id="foreign-digits-are-a-text"),
        pytest.param("'1'", "1", id="quotes-make-a-text"),
    ],
)
def test_value_by_its_look(text: str, expected: object) -> None:
    overlay = parse(f"parameters: {{a: {text}}}").overlay
    assert overlay is not None
    value = overlay.parameters["a"]
    assert (type(value), value) == (type(expected), expected)


# What it refuses

#: What a schema refuses too.
WRONG_STRUCTURE = [
    pytest.param("drive: {time_limit: soon}", "1:21", "has to be a span of time", "20m", id="no-span-of-time"),
    pytest.param("drive: {budget: {iterations: 0}}", "1:30", "can't be 0", "1 or more", id="a-budget-of-nothing"),
    pytest.param("drive: {budget: {iterations: 1.5}}", "1:30", "whole number", "digits", id="half-an-iteration"),
    pytest.param("run: {confirm: 'true'}", "1:16", "has to be a boolean", "without quotes", id="true-in-quotes"),
    pytest.param("- a", "1:1", "the file has to be a mapping", "key: value", id="a-list"),
    pytest.param("workflw: tdd", "1:1", "unknown key 'workflw'", "use one of: workflow,", id="unknown-key"),
    pytest.param("workflow:", "1:1", "workflow has no value", "take the key out", id="workflow-of-nothing"),
    pytest.param("run: fast", "1:6", "run has to be a mapping, not 'fast'", "key: value", id="run-that-is-a-text"),
    pytest.param("run:\n  phase: red", "2:3", "unknown key 'phase' in run", "use one", id="phase-in-a-file"),
    pytest.param("run: {exit_signal: x}", "1:7", "unknown key 'exit_signal'", "use one", id="signal-in-a-file"),
    pytest.param("run: {criteria: 0}", "1:17", "run.criteria can't be 0", "1 or more", id="no-criteria"),
    pytest.param("run: {criteria: ' '}", "1:17", "run.criteria is blank", "text", id="blank-criteria"),
    pytest.param("run: {criteria: }", "1:7", "not nothing", "digits", id="criteria-of-nothing"),
    pytest.param("parameters: {a: }", "1:14", "parameters.a has no value", "number", id="parameter-of-nothing"),
    pytest.param("parameters: {a: {}}", "1:17", "one value, not a mapping", "one number", id="a-mapping-for-a-value"),
    pytest.param("metrics: {a: float}", "1:14", "metrics.a can't be 'float'", "number", id="unknown-type"),
    pytest.param(
        "guards: {a: {remedy: x}}", "1:13", "the key 'condition' is missing", "", id="guard-without-condition"
    ),
    pytest.param("phases: {RED: {gate_2: x}}", "1:16", "unknown key 'gate_2' in phases.RED", "", id="other-gate-2"),
    pytest.param(
        "phases: {RED: {replace: true}}", "1:25", "no condition to replace", "add one", id="replace-by-nothing"
    ),
    pytest.param("docs:\n- a\n- [b]", "3:3", "an item of docs", "one text", id="a-list-in-a-list"),
    pytest.param("docs: '*.md'", "1:7", "docs has to be a list", "[one", id="docs-without-brackets"),
    pytest.param("evidence: {commands: {b: {}}}", "1:26", "the key 'run' is missing", "", id="a-command-without-one"),
    pytest.param("evidence: {commands: {B: {run: a}}}", "1:23", "can't be named", "lower case", id="a-command-named-B"),
    pytest.param("overrides: {allow_non_interactive: on}", "1:36", "boolean, not 'on'", "true", id="on-for-true"),
]

#: Names and conditions: what only the loader knows.
WRONG_MEANING = [
    pytest.param(
        "exit_gate: {patterns: [ok, '(a+)+$']}", "1:28", "patterns can't be '(a+)+$'", "`.*` for", id="a-group"
    ),
    pytest.param("confidence: {threshold: 101}", "1:25", "threshold can't be 101", "100 or less", id="sure-of-101"),
    pytest.param("confidence: {low: 80}", "1:19", "it is above the threshold, 70", "70 or less", id="low-is-high"),
    pytest.param(
        "metrics: {tests_total: int}", "1:11", "is a measured metric already", "", id="metric-that-is-measured"
    ),
    pytest.param(
        "phases:\n  RED: {}\n  red: {}", "3:3", "phase RED is defined twice", "keep one", id="phase-in-two-cases"
    ),
    pytest.param("phases: {RED: {condition: a >}}", "1:27", "phases.RED.condition: ", "", id="condition-cut-short"),
    pytest.param("lock_timeout: 010", "1:15", "leading zero", "quotes", id="octal-or-decimal"),
    pytest.param(f"lock_timeout: {'9' * 5000}", "1:15", "too big", "shorter", id="5000-digits"),
    pytest.param("lock_timeout: 1e999", "1:15", "too big", "shorter", id="infinity"),
    pytest.param("run: {dir: ../x}", "1:12", "is not a path below the root", "PHASE_GATE_DIR", id="a-folder-above"),
    pytest.param("run: {dir: 'C:/x'}", "1:12", "is not a path below the root", "`/`", id="a-folder-on-a-drive"),
    pytest.param("run: {dir: '..\\x'}", "1:12", "is not a path below the root", "`/`", id="a-folder-above-on-windows"),
    pytest.param(
        "run: {report: [a.md, /b.md]}", "1:22", "'/b.md' is not a path", "--phase-report", id="an-absolute-report"
    ),
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
    ("text", "place", "problem"),
    [
        pytest.param("parameters:\n  requird: 1", "2:3", "has no parameter 'requird'", id="unknown-parameter"),
        pytest.param("parameters:\n  required_green_runs: '2'", "2:3", "type int, not text", id="text-for-number"),
        pytest.param("phases:\n  grene: {}", "2:3", "has no phase 'GRENE'", id="unknown-phase"),
        pytest.param("phases:\n  red: {condition: nope > 0}", "2:20", "unknown name 'nope'", id="unknown-metric"),
        pytest.param("phases:\n  red:\n    guards: [nope]", "3:14", "unknown guard 'nope'", id="unknown-guard"),
        pytest.param("metrics:\n  refactoring_complete: bool", "2:3", "exists already", id="metric-that-is-a-fact"),
        pytest.param("phases:\n  red: {condition: iteration == true}", "2:20", "int with bool", id="mixed-types"),
        pytest.param(
            "phases:\n  red: {condition: 'true', replace: true}", "2:20", "measures nothing", id="always-open"
        ),
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


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"#" * 10_000_000)
    with pytest.raises(DocumentError, match=rf"^phase-gate\.yaml:1:1: bigger than {MAX_BYTES} bytes"):
        load_configuration(tmp_path)


# Schema


RIGHT = {
    "full": FULL,
    "nothing": "{}",
    "criteria-file": "run: {criteria: criteria.yaml}",
    "one-report": "run: {report: out.json}",
    "task-that-looks-like-a-number": "run: {task: 1.10}",
    "condition-without-replace": "phases: {RED: {condition: iteration > 0, replace: false}}",
    "documents": "evidence: {documents: {include: [a.md], exclude: [], minimum_words: 1}}",
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
    document = as_json(read_document(text, name=FILE_NAME))
    assert jsonschema.Draft7Validator(schema).is_valid(document) is is_accepted
    if is_accepted:
        parse(text)
    else:
        with pytest.raises(ConfigurationError):
            parse(text)


def bounded(kind: type[Value], path: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Yield the settings that have a least value, by their keys in the file."""
    for name in fields(kind):
        annotation, module = annotation_of(kind, name)
        inner, metadata = vars(sys.modules[module]).get(annotation), metadata_of(kind, name)
        place = (*path, *filter(None, (metadata.get("key", name),)))
        if isinstance(inner, type) and issubclass(inner, Value):
            yield from bounded(inner, place)
        elif "minimum" in metadata and not annotation.startswith("Mapping"):
            yield ".".join(place), metadata["minimum"]


@pytest.mark.parametrize(
    ("key", "least"),
    [
        *bounded(Configuration),
        *(row for key, kind in SECTIONS.items() for row in bounded(kind, (key,))),
        *bounded(Limits, ("phases", "RED", "breaker")),
        ("exit_gate.thresholds.docs", 1),
    ],
)
def test_no_number_is_below_its_bound(key: str, least: float) -> None:
    def read(value: float) -> Configuration:
        *sections, name = key.split(".")
        text = f"{name}: {value}"
        for section in reversed(sections):
            text = f"{section}: {{{text}}}"
        return parse_configuration(text)

    read(60)
    with pytest.raises(ConfigurationError) as caught:
        read(least - 1)
    assert caught.value.remedy == f"write {least} or more"


# --- what a project says otherwise than its workflow


def overlaid(**parts: object) -> Workflow:
    return apply_overlay(load_shipped_workflow("tdd"), Overlay(**parts))  # type: ignore[arg-type]


def test_a_condition_is_added_to_the_workflows() -> None:
    tdd = load_shipped_workflow("tdd")
    laid = overlaid(phases={"green": PhaseOverlay(condition="tests_flaky == 0", guards=("baseline-kept",))})
    green = laid.phases[1].gate_1
    assert green.condition == conjoin(tdd.phases[1].gate_1.condition, "tests_flaky == 0")
    assert green.guards == (*tdd.phases[1].gate_1.guards, "baseline-kept")
    assert not green.replaced
    assert [laid.phases[index] for index in (0, 2, 3)] == [tdd.phases[index] for index in (0, 2, 3)]
    assert name_rules(to_json(laid)) != name_rules(to_json(tdd))


def test_a_replaced_condition_is_marked_and_keeps_the_guards() -> None:
    tdd = load_shipped_workflow("tdd")
    laid = overlaid(phases={"GREEN": PhaseOverlay(condition="tests_failing == 0", replace=True)})
    assert laid.phases[1].gate_1.condition == "tests_failing == 0"
    assert laid.phases[1].gate_1.replaced
    assert laid.phases[1].gate_1.guards == tdd.phases[1].gate_1.guards


def laid(text: str, name: str = "pipeline") -> Workflow:
    return apply_overlay(load_shipped_workflow(name), parse_configuration(text).overlay)


def test_a_project_moves_artifacts_and_names_its_constitution() -> None:
    workflow = laid("artifacts:\n  master-plan: {path: ./plans/*.md, min_words: 7}\nconstitution: [a.md, b.md]\n")
    assert workflow.pipeline is not None
    plan = workflow.pipeline.artifacts["master-plan"]
    assert (plan.path, plan.min_words) == ("plans/*.md", 7)
    assert workflow.pipeline.artifacts["intake-brief"].path == "docs/pipeline/intake-brief.md"
    assert workflow.pipeline.constitution == ("a.md", "b.md")
    usual = name_rules(to_json(laid("lock_timeout: 9")))
    assert (
        name_rules(to_json(workflow))
        != usual
        == name_rules(to_json(apply_overlay(load_shipped_workflow("pipeline"), Overlay())))
    )


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (
            "artifacts: {plan: {path: a.md}}",
            "pipeline",
            "phase-gate.yaml:1:13: workflow pipeline has no artifact 'plan'",
        ),
        ("artifacts: {plan: {path: a.md}}", "tdd", "workflow tdd has no artifact 'plan'"),
        ("artifacts: {master-plan: {path: ../a.md}}", "pipeline", "is not a path below the root"),
        ("artifacts: {master-plan: {schema: audit}}", "pipeline", "unknown key 'schema'"),
        ("constitution: [a.md]", "tdd", "phase-gate.yaml:1:16: workflow tdd is not a pipeline"),
        ("constitution: [/etc/passwd]", "pipeline", "is not a path below the root"),
        (
            "parameters: {consensus_threshold: 0}",
            "pipeline",
            "phase-gate.yaml:1:14: parameters.consensus_threshold can't be 0",
        ),
        ("parameters: {required_voters: 0}", "pipeline", "parameters.required_voters can't be 0"),
    ],
)
def test_what_a_project_may_not_say(text: str, name: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        laid(text, name)
    assert words in caught.value.problem


# --- settings in `[tool.phase-gate]` of pyproject.toml: the same keys

IN_YAML = """\
workflow: rules/own.yaml
run: {task: login, exit: dual, confirm: true, criteria: 5}
parameters: {required_green_runs: 3}
docs: ["*.md", "manual/**"]
lock_timeout: 2.5
guards:
  quiet: {condition: tests_skipped == 0, remedy: run them}
phases:
  GREEN: {condition: "tests_flaky == 0\\nAND tests_total > 0\\n", guards: [quiet]}
evidence: {commands: {build: {run: make all, timeout: 60}}, new_code: true}
drive: {agent: claude, budget: {time: 2h}, phases: {PLAN: claude}, reviewers: [gemini]}
"""
IN_TOML = '''\
[build-system]
requires = ["hatchling"]

[tool.phase-gate]
workflow = "rules/own.yaml"
docs = [
    "*.md",
    "manual/**",
]
lock_timeout = 2.5
run = {task = "login", exit = "dual", confirm = true, criteria = 5}
parameters.required_green_runs = 3

[tool.phase-gate.guards.quiet]
condition = "tests_skipped == 0"
remedy = "run them"

[tool.phase-gate.phases.GREEN]
condition = """
tests_flaky == 0
AND tests_total > 0
"""
guards = ["quiet"]

[tool.phase-gate.evidence]
new_code = true
commands.build = {run = "make all", timeout = 60}

[tool.phase-gate.drive]
agent = "claude"
budget = {time = "2h"}
phases = {PLAN = "claude"}
reviewers = ["gemini"]
'''


def load(folder: Path, text: str) -> Configuration:
    (folder / "pyproject.toml").write_text(text)
    return load_configuration(folder)


def test_both_files_say_the_same(tmp_path: Path) -> None:
    assert load(tmp_path, IN_TOML) == parse_configuration(IN_YAML)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[project]\nname = 'a'\ndependencies = ['pytest-phase-gate']\n", id="a-dependency"),
        pytest.param("[tool.phase-gate]\n", id="an-empty-table"),
    ],
)
def test_nothing_said_means_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Configuration()


def test_both_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "phase-gate.yaml").write_text("lock_timeout: 3\n")
    with pytest.raises(ConfigurationError, match=r"^pyproject.toml has a table \[tool.phase-gate\], and there is a"):
        load(tmp_path, "[tool.phase-gate]\nlock_timeout = 4\n")
    assert load(tmp_path, "[project]\nname = 'a'\n").lock_timeout == 3


@pytest.mark.processes
def test_without_the_table_no_parser_is_imported(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'a'\ndependencies = ['pytest-phase-gate']\n# not in phase-gate.yaml\n"
    )
    code = (
        "import sys, pathlib; from phase_gate.project import Project;"
        "Project.find(pathlib.Path.cwd(), environment={});"
        "print([name for name in ('tomllib', 'yaml', 'phase_gate.config.configuration') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
