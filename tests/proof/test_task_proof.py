"""A proof in the gate: when it is made, what it closes, and what is said of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import phase_gate
from phase_gate.gate.measuring import OFF, UNSHOWN
from phase_gate.proof.task_proof import kept_arguments
from phase_gate.storage.store import TaskStore
from tests.support import CALC, FAILING_TESTS, Project, Result

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("with_proof")]

#: Red only because the code is missing, and satisfied with whatever it does.
CHECKS_NOTHING = "def test_add():\n    from calc import add\n\n    assert [add(1, 2)]\n"


TEST_MUL = "def test_mul():\n    from calc import mul\n\n    assert mul(2, 3) == 6\n"


def green(project: Project, tests: str, code: str, **before: str) -> Project:
    """Have RED exit with these tests, and GREEN open Gate 1 with this code."""
    project.write(test_calc=tests, **before)
    assert project.run("--phase=red", "--exit-signal=red").code == 0
    project.write(calc=code)
    assert project.run("--phase=green").code == 10
    assert project.run("--phase=green").code == 0
    return project


def signal(project: Project) -> tuple[Result, Any]:
    ran = project.gate("signal", "--reason", "done", "--json")
    return ran, ran.document


def events(project: Project) -> list[str]:
    return [row["kind"] for row in project.gate("history", "--events", "--json").document["events"]]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        pytest.param("--phase=red tests", "", id="ours-and-files"),
        pytest.param("--phase red --exit-signal done -q", "-q", id="ours-with-values"),
        pytest.param("-p xdist -pcov", "-p xdist -pcov", id="plugins"),
        pytest.param("tests/test_a.py::test_x --two 2 tests", "--two 2", id="a-value-and-files"),
        pytest.param("--two=2 -- tests", "--two=2", id="a-value-in-the-word"),
        pytest.param("-v tests --doctest-modules", "-v tests --doctest-modules", id="what-may-be-a-value-stays"),
    ],
)
def test_what_was_typed_in_red_is_kept(typed: str, kept: str) -> None:
    assert kept_arguments(typed.split()) == tuple(kept.split())


def test_a_signal_has_the_targets_proven_and_the_ledger_keeps_it(project: Project) -> None:
    green(project, FAILING_TESTS, CALC)
    assert "proved" not in events(project)
    ran, verdict = signal(project)
    assert (ran.code, verdict["can_exit"]) == (0, True)
    assert {name: verdict["metrics"][name] for name in ("targets_proven", "functions_changed", "proof_objections")} == {
        "targets_proven": 2,
        "functions_changed": 2,
        "proof_objections": 0,
    }
    assert events(project).count("proved") == 1
    assert project.gate("check").code == 0
    explained = project.gate("explain", "targets-proven").text
    assert "test_calc.py::test_add fails without the change, passes with it; notices calc.py:1 add" in explained
    project.gate("report").has(
        "Proof: 2 of 2 targets: fail without the change, pass with it, notice 2 of 2 functions",
        "### Proof",
        "| test_calc.py::test_add | fails | passes | fails | noticed | proven |",
    )
    assert project.gate("report", "--output", "story.html").code == 0
    page = (project.root / "story.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("2 of 2 targets: fail without", "GREEN: the runs of each target"))


def test_a_run_with_a_signal_makes_it_and_shows_a_line(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red", "--exit-signal=red", "-v").code == 0
    project.write(calc=CALC)
    assert not project.run("--phase=green", "--exit-signal=early", "-v").out.count("Proof ")
    ran = project.run("--phase=green", "--exit-signal=done", "-v")
    assert ran.code == 0
    ran.has("proof   2 of 2 targets: fail without the change, pass with it, notice 2 of 2")


def test_a_test_that_failed_by_its_own_check_has_shown_that_it_can(project: Project) -> None:
    # Whatever is no list will do; the code of RED gave one, and with that in place the test fails again.
    tests = "from calc import add\n\n\ndef test_add():\n    assert str(add(1, 2))[:1] != '['\n"
    green(project, tests, "def add(a, b):\n    return a + b\n", calc="def add(a, b):\n    return [a, b]\n")
    ran, verdict = signal(project)
    assert (ran.code, verdict["metrics"]["targets_proven"]) == (0, 1)


def test_a_proof_that_is_off_is_shown_in_every_verdict(project: Project) -> None:
    project.write({"phase-gate.yaml": "proof: off\n"})
    green(project, CHECKS_NOTHING, CALC)
    ran, verdict = signal(project)
    assert ran.code == 0
    assert OFF in verdict["notes"]
    checked = project.gate("check", "--json")
    assert (checked.code, checked.document["notes"]) == (0, [OFF])
    project.gate("check").has(f"note: {OFF}")


def test_without_red_a_required_proof_closes(project: Project) -> None:
    project.write({"phase-gate.yaml": "proof: required\n"}, test_calc=FAILING_TESTS, calc=CALC)
    project.run("--phase=green")
    ran = project.run("--phase=green", "--exit-signal=done")
    assert ran.code == 10
    assert "no proof could be made: RED was never seen in this cycle" in ran.text


def test_without_red_it_says_what_is_not_shown_and_what_to_type(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS, calc=CALC)
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=done").code == 0
    message = "RED was never seen in this cycle: nothing shows that these tests can fail"
    project.gate("check").has("GREEN: open", f"note: {message}")
    ran = project.gate("prove")
    assert ran.code == 13
    ran.has("RED was never seen in this cycle", "phase-gate prove --base REV")


def test_without_sandboxes_it_says_what_is_not_shown(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    green(project, FAILING_TESTS, CALC)
    monkeypatch.delattr("os.killpg")
    ran = project.run("--phase=green", "--exit-signal=done", "-v")
    assert ran.code == 0
    message = f"no proof: there are no sandboxes on Windows: use Linux or macOS, or WSL; {UNSHOWN}"
    assert message in ran.text
    checked = project.gate("check", "--json")
    assert (checked.code, checked.document["notes"]) == (0, [message])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("mode", "is_driven", "code"), [("required", False, 10), ("on", True, 10), ("on", False, 0)])
def test_an_old_test_that_red_removed_closes_where_no_person_looks_on(
    project: Project, monkeypatch: pytest.MonkeyPatch, mode: str, is_driven: bool, code: int
) -> None:
    project.write({"phase-gate.yaml": f"proof: {mode}\noverrides: {{allow_non_interactive: true}}\n"})
    green(project, FAILING_TESTS, CALC)
    assert signal(project)[0].code == 0
    project.write(test_calc=FAILING_TESTS.partition("\n\n\ndef test_sub")[0], test_mul=TEST_MUL)
    assert project.run("--phase=red", "--exit-signal=red").code == 0
    project.write(calc=f"{CALC}\n\ndef mul(a, b):\n    return a * b\n")
    assert project.run("--phase=green").code == 10
    monkeypatch.setattr(TaskStore, "is_driven", lambda store: is_driven)
    ran = project.run("--phase=green", "--exit-signal=done", "--phase-report=verdict.json")
    assert ran.code == code, ran.out
    found = [(each["slug"], each["tier"], each["id"]) for each in project.report()["findings"]]
    assert ("tests-gone", "advisory", "test_calc.py::test_sub") in found
    assert (("targets-proven", "hard", "test_calc.py::test_sub") in found) == (code == 10)
    if code:
        assert project.gate("waive", "targets-proven", "--reason", "it is outdated", "--by", "dev").code == 0
        assert project.gate("signal", "--reason", "done").code == 0


@pytest.mark.sweep
def test_refactor_has_no_control_and_looks_at_what_it_changed(project: Project) -> None:
    green(project, FAILING_TESTS, CALC)
    assert signal(project)[0].code == 0
    project.write(calc=CALC.replace("return a + b", "return sum((a, b))"))
    assert project.run("--phase=refactor").code == 10
    assert project.gate("declare", "refactoring_complete=true", "--reason", "tidy").code == 0
    ran, verdict = signal(project)
    assert (ran.code, verdict["metrics"]["proof_has_control"]) == (0, False)
    assert verdict["metrics"]["functions_changed"] == 1


def test_it_is_remade_when_the_code_changes(project: Project) -> None:
    green(project, FAILING_TESTS, CALC)
    assert project.gate("prove").code == 0
    project.write(calc=CALC.replace("a + b", "b + a"))
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=done").code == 0
    assert events(project).count("proved") == 2


#: Python loads it at every start, if the project's folder is on its path.
TELLS = """\
import os, sys

with open(os.environ["TOLD"], "a", encoding="utf-8") as file:
    file.write(repr(sys.orig_argv) + "\\n")
"""


@pytest.mark.processes
@pytest.mark.usefixtures("with_proof")
def test_only_what_runs_the_tests_loads_the_projects_code(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    output = tmp_path_factory.mktemp("output") / "told.txt"
    project.write(sitecustomize=TELLS, test_calc=FAILING_TESTS)
    assert project.run("--phase=red", "--exit-signal=red").code == 0
    project.write(calc=CALC)
    project.run("--phase=green")
    project.environment.setenv("TOLD", str(output))
    project.environment.setenv("PYTHONPATH", ".")
    ran = project.run("-v", "--phase=green", "--exit-signal=done")
    assert ran.has("2 of 2 targets"), ran.out
    started = [ast.literal_eval(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert started, "the experiments run the tests"
    assert [words for words in started if words[1:3] != ["-m", "pytest"]] == []


def test_no_source_starts_a_module_of_ours() -> None:
    home = Path(phase_gate.__file__).parent
    texts = {path.relative_to(home).as_posix(): path.read_text(encoding="utf-8") for path in home.rglob("*.py")}
    calls = {name: re.findall(r"sys\.executable\b[^\]]*?\"-m\",\s*\"(\w+)\"", text) for name, text in texts.items()}
    assert {module for found in calls.values() for module in found} == {"pytest"}
    assert [name for name, text in texts.items() if re.search(r"sys\.executable[^\]]*\"-P\"", text)] == []
