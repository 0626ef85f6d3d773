"""Hooks and workflows of a project's own, runs at once, and a whole session: DC of the clauses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.storage.lock import hold_lock
from tests.e2e.sessions import judge, ledger, step_tests, steps, unmet_clauses, unmet_guards
from tests.support import OURS, Project, Result

WAITS = "Gate 1 is open; Gate 2 waits for the exit signal"

# --- DC-02 -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.criterion("DC-02")
def test_six_runs_at_once_lose_nothing(project: Project) -> None:
    # On a busy machine the last of them waits long for its turn: what is shown here is not how fast they are.
    project.write({"phase-gate.yaml": "lock_timeout: 120\n"}, test_steps=step_tests(2))
    arguments = [sys.executable, "-m", "pytest", *OURS, "--phase=red", "-q"]
    started = [
        subprocess.Popen(
            [*arguments, f"--phase-report=verdict-{number}.json"],
            cwd=project.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(6)
    ]
    ended = [(process.communicate(timeout=120)[0], process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 6, ended

    history = project.gate("history", "--json").document
    assert [run["kind"] for run in history["runs"]] == ["complete"] * 6
    assert sorted(run["iteration"] for run in history["runs"]) == [1, 2, 3, 4, 5, 6]
    assert len({run["id"] for run in history["runs"]}) == 6
    verdicts = [project.report(f"verdict-{number}.json") for number in range(6)]
    assert {verdict["run"] for verdict in verdicts} == {run["id"] for run in history["runs"]}
    assert sorted(verdict["iteration"] for verdict in verdicts) == [1, 2, 3, 4, 5, 6]
    assert all(verdict["gate_1"]["satisfied"] for verdict in verdicts)

    audit = project.gate("audit", "--json")
    assert (audit.code, audit.document["intact"], audit.document["problem"]) == (0, True, None)
    kinds = [line["kind"] for line in ledger(project)]
    assert [*map(kinds.count, ("created", "cycle-began", "phase-entered"))] == [1, 1, 1]
    assert [*map(kinds.count, ("run-started", "run-ended", "evaluated"))] == [6, 6, 6]
    assert [line["seq"] for line in ledger(project)] == list(range(1, audit.document["events"] + 1))
    now = project.status()
    assert (now["iteration"], now["open_runs"], now["lost_runs"]) == (6, [], [])


@pytest.mark.criterion("DC-02")
def test_who_can_not_get_the_lock_records_nothing_and_says_so(project: Project) -> None:
    project.write({"phase-gate.yaml": "lock_timeout: 0.1\n", "test_steps.py": step_tests(2)})
    assert project.run("--phase=red").code == 0
    before = ledger(project)
    with hold_lock(project.root / ".phase-gate" / "state.json.lock", command="a test that holds it"):
        ran = project.run_process("--phase=red")
        signal = project.gate("signal", "--reason", "both fail")
    assert (ran.code, signal.code) == (11, 11)
    assert ran.has("2 failed", "nothing recorded, the gate is closed", "state.json.lock was not free within 0.1 s")
    assert ran.has(f"held by pid {os.getpid()}", "a test that holds it", "[lock-timeout]")
    assert signal.has("[lock-timeout]")
    assert ledger(project) == before
    assert project.run("--phase=red").code == 0


# --- DC-06 -------------------------------------------------------------------------------------------------------


@pytest.mark.criterion("DC-06")
def test_a_session_from_an_empty_folder_without_configuration(project: Project) -> None:
    """As `tests/docs` types the tutorial; here is what it puts into the folder."""
    assert list(project.root.iterdir()) == []
    assert project.gate("status").has("no run is recorded yet", "pytest --phase=red")
    project.write(test_steps=step_tests(2))
    red = project.run_process("--phase=red", "-v")
    assert (red.code, red.has("next    phase-gate signal")) == (0, True)
    assert project.gate("signal", "--reason", "both fail", "-v").has("RED has exited", "next    pytest --phase=green")
    project.write(steps=steps(2))
    assert [project.run_process("--phase=green").code for _ in range(2)] == [10, 0]
    assert project.gate("signal", "--reason", "both pass", "-v").has("both gates are open: GREEN has exited")
    now = project.status()
    assert (now["phase"], now["exited"], now["workflow"], now["cycle"]) == ("GREEN", True, "tdd", 1)
    assert Path(now["root"]) == project.root
    # Nothing was put into the project but the state folder, which git does not see.
    assert {path.name for path in project.root.iterdir()} == {".phase-gate", "steps.py", "test_steps.py"}
    assert (project.root / ".phase-gate" / ".gitignore").read_text(encoding="utf-8").splitlines()[-1] == "*"


# --- DC-07 -------------------------------------------------------------------------------------------------------

CONFTEST = """\
import json
from pathlib import Path


def pytest_phase_gate_metrics(phase, root):
    return {"coverage_percent": float(Path(root, "coverage.txt").read_text()), "measured_in": phase}


def pytest_phase_gate_guards():
    return {
        "well-covered": {
            "condition": "coverage_percent >= 80",
            "detail": "only {coverage_percent} percent are covered",
            "remedy": "cover the rest",
        }
    }


def pytest_phase_gate_workflows():
    return {"short": Path(__file__).parent / "short.yaml"}


def pytest_phase_gate_evaluated(evaluation):
    with open("seen.jsonl", "a") as stream:
        stream.write(json.dumps(evaluation) + "\\n")
"""

CONFIGURATION = """\
metrics: {coverage_percent: number, measured_in: text}
phases:
  RED:
    condition: coverage_percent <= 100 AND measured_in == "RED"
    guards: [well-covered]
"""

SHORT = """\
workflow: short
phases:
  SPIKE:
    tests: failing
    gate_1:
      name: Something fails
      condition: tests_failing > 0
      guards: [well-covered]
"""


#: Closed as long as nobody measures it.
COVERAGE_IS_MEASURED = "metrics: {coverage_percent: number}\nphases: {RED: {condition: coverage_percent > 0}}\n"


def extended(project: Project, coverage: str) -> Project:
    return project.write(
        {
            "conftest.py": CONFTEST,
            "phase-gate.yaml": CONFIGURATION,
            "short.yaml": SHORT,
            "coverage.txt": coverage,
            "test_steps.py": step_tests(2),
        }
    )


@pytest.mark.criterion("DC-07")
def test_hooks_of_a_conftest_measure_and_guard(project: Project) -> None:
    extended(project, "79.5")
    ran, verdict = judge(project, "--phase=red")
    assert ran.code == 10
    assert unmet_guards(verdict) == ["well-covered"]
    assert verdict["reason"] == "well-covered: only 79.5 percent are covered"
    assert verdict["next_hint"] == "cover the rest"
    assert ran.has("guard   well-covered: only 79.5 percent are covered")
    assert (verdict["metrics"]["coverage_percent"], verdict["metrics"]["measured_in"]) == (79.5, "RED")
    # A signal that comes later is judged by the same rules, though the command loads no conftest.
    signal = project.call("signal", "--reason", "both fail", "-v")
    assert signal.code == 10
    assert signal.has("well-covered: only 79.5 percent are covered")

    project.write({"coverage.txt": "80"})
    ran, verdict = judge(project, "--phase=red")
    assert (ran.code, unmet_guards(verdict), verdict["reason"]) == (0, [], WAITS)

    project.write({"coverage.txt": "101"})
    ran, verdict = judge(project, "--phase=red")
    assert (ran.code, unmet_clauses(verdict)) == (10, ["coverage_percent <= 100"])
    assert verdict["reason"] == "coverage_percent <= 100 is not met (101.0)"
    output = (project.root / "seen.jsonl").read_text(encoding="utf-8").splitlines()
    assert (len(output), json.loads(output[-1])) == (3, verdict)


@pytest.mark.criterion("DC-07")
def test_a_hook_offers_a_workflow(project: Project) -> None:
    extended(project, "90").write({"phase-gate.yaml": "metrics: {coverage_percent: number, measured_in: text}\n"})
    ran, verdict = judge(project, "--phase=spike", "--phase-workflow=short", "--exit-signal=it fails")
    assert ran.code == 0
    assert ran.has("Gate 1  Something fails", "both gates are open: SPIKE has exited, the cycle is done")
    assert (verdict["phase"], verdict["gate_1"]["condition"]) == ("SPIKE", "tests_failing > 0")
    assert project.status()["workflow"] == "short"


@pytest.mark.criterion("DC-07")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param('raise RuntimeError("no tool")', "are unknown: RuntimeError: no tool", id="raises"),
        pytest.param('return {"coverage_percent": "90"}', "'coverage_percent' of", id="wrong-type"),
        pytest.param("return {}", "", id="measures-nothing"),
        pytest.param("return 90", "", id="no-mapping"),
        pytest.param('return {"coverage_percent": float("nan")}', "", id="not-a-number"),
    ],
)
def test_what_a_hook_does_not_measure_is_unknown_and_closes_the_gate(
    project: Project, source: str, message: str
) -> None:
    project.write(
        {
            "conftest.py": f"def pytest_phase_gate_metrics():\n    {source}\n",
            "phase-gate.yaml": COVERAGE_IS_MEASURED,
            "test_steps.py": step_tests(1),
        }
    )
    ran, verdict = judge(project, "--phase=red")
    assert ran.code == 10
    assert unmet_clauses(verdict) == ["coverage_percent > 0"]
    assert verdict["reason"] == "not measured: coverage_percent"
    assert ran.has("1 failed", "not measured", message)


@pytest.mark.criterion("DC-07")
def test_two_hooks_that_disagree_make_a_metric_unknown(project: Project) -> None:
    project.write(
        {
            "conftest.py": "def pytest_phase_gate_metrics():\n    return {'coverage_percent': 90}\n",
            "other.py": "def pytest_phase_gate_metrics():\n    return {'coverage_percent': 91}\n",
            "phase-gate.yaml": COVERAGE_IS_MEASURED,
            "test_steps.py": step_tests(1),
        }
    )
    project.environment.syspath_prepend(project.root)
    ran, verdict = judge(project, "--phase=red", plugins=("other",))
    assert (ran.code, verdict["reason"]) == (10, "not measured: coverage_percent")
    assert "has two values" in " ".join(verdict["warnings"])


@pytest.mark.criterion("DC-07")
def test_a_hook_that_fails_after_the_verdict_changes_nothing(project: Project) -> None:
    project.write(
        conftest="def pytest_phase_gate_evaluated(evaluation):\n    evaluation.clear()\n    raise OSError('no net')\n",
        test_steps=step_tests(1),
    )
    ran, verdict = judge(project, "--phase=red", "--exit-signal=it fails", "--phase-exit=dual")
    assert (ran.code, verdict["can_exit"]) == (0, True)
    assert ran.has("pytest_phase_gate_evaluated of", "raised OSError: no net")
    assert project.call("check").code == 0


#: Holds in RED though every test passes.
LAX = """\
workflow: tdd
phases:
  RED:
    gate_1:
      name: Anything goes
      condition: tests_total > 0
"""


@pytest.mark.criterion("DC-07")
@pytest.mark.parametrize(
    ("hook", "message"),
    [
        pytest.param(
            "def pytest_phase_gate_guards():\n"
            '    return {"tests-kept": {"condition": "tests_total > 0", "remedy": "x"}}\n',
            "tests-kept",
            id="guard-of-a-shipped-name",
        ),
        pytest.param(
            'def pytest_phase_gate_workflows():\n    return {"tdd": "lax.yaml"}\n',
            "tdd",
            id="workflow-of-a-shipped-name",
        ),
        pytest.param(
            'def pytest_phase_gate_guards():\n    return {"mine": {"condition": "tests_total >", "remedy": "x"}}\n',
            "conftest.py: guard 'mine': column 14",
            id="guard-that-can-not-be-parsed",
        ),
        pytest.param(
            "def pytest_phase_gate_guards():\n    raise OSError('gone')\n", "raised OSError: gone", id="raises"
        ),
    ],
)
def test_an_offer_that_can_not_be_used_is_refused_before_any_test_runs(
    project: Project, hook: str, message: str
) -> None:
    """A name that is taken already, above all: otherwise a conftest could put its own gate in a shipped one's place."""
    project.write({"conftest.py": hook, "lax.yaml": LAX, "test_steps.py": step_tests(1), "steps.py": steps(1)})
    ran: Result = project.run("--phase=red")
    assert ran.code == 4
    assert ran.has(message, "[bad-workflow]", "try: ")
    assert not (project.root / ".phase-gate").exists()
