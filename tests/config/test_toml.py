"""Settings in `[tool.phase-gate]` of pyproject.toml: the same keys, the same faults, with places."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.config.configuration import load_configuration, parse_configuration
from phase_gate.errors import ConfigurationError, PhaseGateError
from phase_gate.workflow.settings import Configuration

YAML = """\
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
TOML = '''\
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


def load(folder: Path, text: str | bytes) -> Configuration:
    (folder / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_configuration(folder)


def refusal(folder: Path, text: str | bytes) -> PhaseGateError:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    assert caught.value.remedy
    return caught.value


def test_both_files_say_the_same(tmp_path: Path) -> None:
    assert load(tmp_path, TOML) == parse_configuration(YAML)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[project]\nname = 'a'\ndependencies = ['pytest-phase-gate']\n", id="a-dependency"),
        pytest.param("[tool.phase-gate]\n", id="an-empty-table"),
    ],
)
def test_nothing_said_means_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == Configuration()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[tool]\nphase-gate.lock_timeout = 3\n", id="dotted-key"),
        pytest.param("[ tool . 'phase-gate' ]\r\nlock_timeout = 3\r\n", id="spaces-and-quotes"),
        pytest.param(b"\xef\xbb\xbf[tool.phase-gate]\nlock_timeout = 3\n", id="byte-order-mark"),
    ],
)
def test_the_table_is_found_however_it_is_written(tmp_path: Path, text: str | bytes) -> None:
    assert load(tmp_path, text).lock_timeout == 3


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        pytest.param("[tool.phase-gate]\nlock_timout = 3\n", "2:1", "unknown key 'lock_timout'", id="unknown-key"),
        pytest.param("[tool.phase-gate]\nrun.exit = 'maybe'\n", "2:1", "run.exit can't be 'maybe'", id="dotted-key"),
        pytest.param("[tool.phase-gate]\nworkflow = ''\n", "2:1", "workflow is blank", id="blank"),
        pytest.param("[[tool.phase-gate]]\nrun = 3\n", "1:3", "has to be a mapping, not a list", id="array-of-tables"),
        pytest.param("[tool.phase-gate]\nlock_timeout = inf\n", "2:1", "has to be a number", id="infinity"),
        pytest.param(
            "[tool.phase-gate.phases.RED]\nguards = []\ncondition = '''\nlock_timeout = 3\n'''\n",
            "3:1",
            "phases.RED.condition: column 14: = is not an operator",
            id="a-condition-of-several-lines",
        ),
        pytest.param("[tool.phase-gate]\nrun = {\n", "2:8", "not TOML: ", id="syntax"),
        pytest.param("[tool.phase-gate]\na = 1\na = 2\n", "3:", "not TOML: ", id="a-key-twice"),
        pytest.param(b"# phase-gate =\n\xff\n", "2:1", "not UTF-8 text", id="bytes"),
    ],
)
def test_a_fault_has_its_place(tmp_path: Path, text: str | bytes, place: str, problem: str) -> None:
    error = refusal(tmp_path, text)
    assert error.problem.startswith(f"pyproject.toml:{place}")
    assert problem in error.problem


def test_both_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "phase-gate.yaml").write_text("lock_timeout: 3\n")
    error = refusal(tmp_path, "[tool.phase-gate]\nlock_timeout = 4\n")
    assert error.problem == "pyproject.toml has a table [tool.phase-gate], and there is a phase-gate.yaml"
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
