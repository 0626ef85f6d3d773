"""Every kind of run, by real runs: what it is called, why, and what it does to streak, iteration and exit status."""

from __future__ import annotations

import os

import pytest

from tests.e2e.sessions import history_of, last_run, state_of
from tests.support import CALC, FAILING_TESTS, OURS, Project

#: Five tests in two files, one of them with parameters.
SUITE = {
    "test_a.py": "import pytest\n\n\ndef test_one():\n    pass\n\n\n@pytest.mark.slow\ndef test_two():\n    pass\n",
    "test_b.py": "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_three(n):\n    pass\n",
    "pytest.ini": "[pytest]\nmarkers = slow\n",
    "other.ini": "[pytest]\npython_files = test_b.py\n",
}
WORKERS = ("-n", "2")


@pytest.fixture
def suite(project: Project) -> Project:
    """A project in GREEN after one complete green run: streak 1, iteration 1."""
    project.write(SUITE)
    assert project.run("--phase=green").code == 10
    expect(project, "complete", streak=1, iteration=1)
    return project


def expect(project: Project, kind: str, why: str = "", *, streak: int, iteration: int, runs: int | None = None) -> None:
    """Compare the last run and the state that it left."""
    run, state = last_run(project), state_of(project)
    assert (run["kind"], run["why"]) == (kind, why)
    assert (state.streak, state.iteration) == (streak, iteration)
    assert run["iteration"] == (iteration if kind == "complete" else None)
    assert not state.open_runs
    if runs is not None:
        assert len(history_of(project)) == runs


# --- void


def test_a_session_that_runs_no_test_is_not_even_recorded(suite: Project) -> None:
    before = state_of(suite)
    # pytest ends the last two with a 0 that no hook can change.
    for option, code in (("--collect-only", 10), ("--setup-plan", 10), ("--fixtures", 0), ("--fixtures-per-test", 0)):
        ran = suite.run("--phase=green", option)
        assert ran.code == code, option
        assert ran.has(f"nothing recorded: {option} runs no test", "try: pytest --phase=green")
    assert state_of(suite) == before
    assert len(history_of(suite)) == 1


def test_a_usage_error_found_during_collection_changes_nothing(suite: Project) -> None:
    before = state_of(suite)
    for arguments in (("nosuch.py",), ("test_a.py::test_nine",), ("-k", "(")):
        ran = suite.run("--phase=green", *arguments)
        assert (ran.code, ran.has("not counted: no test was meant to run")) == (4, True)
    expect(suite, "void", "no test was meant to run", streak=1, iteration=1, runs=4)
    assert state_of(suite) == before
    assert suite.run("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=2)


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(WORKERS, id="with-workers")])
def test_a_usage_error_takes_the_entry_of_a_phase_back(project: Project, workers: tuple[str, ...]) -> None:
    project.red()
    ran = project.run_process("--phase=green", "nosuch.py", *workers, plugins=("xdist",))
    assert ran.code == (5 if workers else 4), "with workers pytest itself only says that nothing was collected"
    state = state_of(project)
    assert (state.phase, state.exited, state.visited) == ("RED", True, ("RED",))
    assert (last_run(project)["kind"], last_run(project)["phase"]) == ("void", "GREEN")
    assert project.gate("check").code == 0, "RED has exited, and nothing was run since"


def test_a_test_that_exits_with_the_status_of_a_usage_error_is_none(suite: Project) -> None:
    suite.write(test_c="import pytest\n\n\ndef test_four():\n    pytest.exit('enough', returncode=4)\n")
    assert suite.run("--phase=green").code == 4
    expect(suite, "incomplete", "pytest.exit: enough", streak=1, iteration=1)


# --- nested

INNER = f"""\
import subprocess
import sys


def test_pytest_inside():
    command = [sys.executable, "-m", "pytest", *{OURS!r}, "--phase=green", "inner", "%s"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == %d, done.stdout
    assert "%s" in done.stdout
"""


def test_a_run_inside_a_run_of_the_same_task_is_nested(suite: Project) -> None:
    suite.write(
        {"inner/check_inner.py": "def test_inner():\n    assert 0\n"},
        test_outer=INNER % ("-opython_files=check_*.py", 1, "not counted: it ran inside another run of this task"),
    )
    ran = suite.run("--phase=green")
    outer, inner = history_of(suite)[-2:]
    assert (outer["kind"], outer["iteration"], ran.code) == ("complete", 2, 10)
    assert (inner["kind"], inner["why"]) == ("nested", "it ran inside another run of this task")
    assert (inner["iteration"], inner["counts"]) == (None, {"failed": 1})
    assert state_of(suite).streak == 1, "an edit before the outer run, and the nested failure did no harm"


def test_the_variable_of_a_run_that_is_over_makes_nothing_nested(suite: Project) -> None:
    suite.environment.setenv("PHASE_GATE_RUN", history_of(suite)[0]["id"])
    assert suite.run("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=2)


# --- incomplete

FAILING = "def test_zero():\n    assert 0\n"


def test_stopped_at_a_failure_that_is_the_last_test_is_complete(suite: Project) -> None:
    suite.write(test_z=FAILING)
    assert suite.run("--phase=green", "-x").code == 1
    expect(suite, "complete", streak=0, iteration=2)


# --- partial


def test_a_partial_run_never_re_opens_an_exited_phase(project: Project) -> None:
    project.red()
    assert project.run("--phase=red", "-k", "add").code == 10
    state = state_of(project)
    assert (state.phase, state.exited, state.iteration) == ("RED", True, 1)
    assert project.gate("check").code == 10, "but a run came after the verdict"
    project.write(calc=CALC)
    assert project.run("--phase=green").code == 10


def test_a_partial_run_enters_the_next_phase_and_spends_no_signal(project: Project) -> None:
    project.red().write(calc=CALC)
    (project.root / ".phase-gate" / "exit-signal.yaml").write_text("exit_signal: true\n")
    assert project.run("--phase=green", "-k", "add").code == 10
    state = state_of(project)
    assert (state.phase, state.iteration, state.streak, state.signals_premature) == ("GREEN", 0, 0, 0)
    assert (project.root / ".phase-gate" / "exit-signal.yaml").exists()


# --- empty


@pytest.mark.parametrize(
    ("files", "why", "code"),
    [
        pytest.param({"code.py": "VALUE = 1\n"}, "no test was collected", 5, id="no-test-at-all"),
        pytest.param(
            {"test_a.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_one():\n    pass\n"},
            "every test was skipped",
            10,
            id="only-skips",
        ),
    ],
)
def test_empty(project: Project, files: dict[str, str], why: str, code: int) -> None:
    project.write(files)
    ran = project.run("--phase=green")
    assert ran.code == code
    expect(project, "empty", why, streak=0, iteration=0)
    assert ran.has("this run does not count (empty)")


# --- complete


def test_in_red_the_known_set_follows_the_sources(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red").code == 0
    project.write(test_calc=FAILING_TESTS.replace("test_sub", "test_minus"))
    assert project.run("--phase=red").code == 0
    expect(project, "complete", streak=0, iteration=2)


def test_a_narrow_first_run_defines_what_is_known_and_says_so(project: Project) -> None:
    project.write(SUITE)
    ran = project.run("--phase=green", "test_b.py", "-k", "three", "-v")
    assert ran.code == 10
    assert ran.has("note    narrowed: -k 'three'; test_b.py")
    expect(project, "complete", streak=1, iteration=1)
    assert project.run("--phase=green", "-v").code == 0
    expect(project, "complete", streak=2, iteration=2)
    project.run("--phase=green", "test_b.py", "-v")
    expect(project, "partial", "2 known tests did not run (test_b.py)", streak=2, iteration=2)


def test_what_was_changed_comes_before_another_run(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red", "--exit-signal=x").code == 0
    hides = "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
    project.write(calc=CALC, conftest=hides)
    ran = project.run("--phase=green")
    assert ran.has("(partial)", "undo the change: conftest.py", "then run: pytest --phase=green")


def test_ids_that_differ_in_each_run_are_called_so(project: Project) -> None:
    rows = "import pytest, time\n\n\n@pytest.mark.parametrize('n', [time.time_ns(), 2])\n"
    project.write(test_calc=f"{rows}def test_twice(n):\n    from calc import twice\n    assert twice(n) == 2 * n\n")
    assert project.run("--phase=red", "--exit-signal=x").code == 0
    project.write(calc="def twice(n):\n    return 2 * n\n")
    assert project.run("--phase=green").code == 10
    explained = project.gate("explain", "tests-kept")
    assert explained.has("its function ran with other parameters: their ids must be the same in each run")


def test_a_module_that_cannot_be_imported_does_not_hide_the_rest_in_red(project: Project) -> None:
    project.write(
        test_a="from calc import add\n\n\ndef test_one():\n    assert add(1, 2) == 3\n\n\nclass TestIt:\n"
        "    def test_two(self):\n        assert add(0, 0) == 0\n",
        test_b="def test_three():\n    from calc import sub\n\n    assert sub(3, 2) == 1\n",
        test_c="def test_four(:\n    pass\n",
    )
    ran = project.run_process("--phase=red", "--phase-report=verdict.json", *WORKERS, plugins=("xdist",))
    assert ran.code == 10, ran.out
    assert "closed test_c.py is refused as syntax-error: " in ran.text, "a slip is not red"
    expect(project, "complete", streak=0, iteration=1)
    metrics = project.report()["metrics"]
    assert (metrics["tests_total"], metrics["tests_failing"], metrics["tests_uncollectable"]) == (4, 4, 3)
    assert metrics["collection_errors"] == 2, "a module that can't be parsed counts as one test"
    project.remove("test_c.py")
    assert project.run("--phase=red").code == 0


def test_tests_counted_from_source_are_kept_once_their_parameters_run(project: Project) -> None:
    project.write(
        test_a="import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_add(n):\n    assert add(n, 1) == n + 1\n"
    )
    assert project.run("--phase=red").code == 0
    assert project.gate("signal", "--reason", "it fails").code == 0
    project.write(calc=CALC)
    assert project.run("--phase=green", "--phase-report=verdict.json").code == 10
    metrics = project.report()["metrics"]
    assert (metrics["tests_missing"], metrics["tests_unselected"], metrics["tests_passing"]) == (0, 0, 2)
    assert project.run("--phase=green").code == 0


# --- two outcomes on one tree

ONCE = (
    "import pathlib\n\n\ndef test_once():\n    assert pathlib.Path('fine').exists()\n\n\ndef test_last():\n    pass\n"
)


def test_two_outcomes_on_one_tree_are_shown_and_close_nothing(project: Project) -> None:
    project.write(test_a=ONCE)
    assert project.run("--phase=green", "-v").code == 1
    project.write({"fine": ""})
    ran = project.run("--phase=green", "-v")
    assert ran.has("advisory: test_a.py::test_once ended differently on the same files [two-outcomes]")
    ran = project.run("--phase=green", "-v")
    assert ran.code == 0
    assert "two-outcomes" not in ran.out
    project.write(test_a=ONCE.replace("exists()", "is_dir()"))
    assert project.run("--phase=green", "-v").code == 1
    assert "two-outcomes" not in project.run("--phase=green", "-v", "-k", "last").out, "what did not run has none"
    project.write(test_a=ONCE)
    assert "two-outcomes" not in project.run("--phase=green", "-v").out, "a test that was mended has none"


# --- going back by option


def test_a_rewind_takes_effect_when_its_first_complete_run_ends(project: Project) -> None:
    project.green()
    assert project.run("--phase=red", "-k", "add").code == 10
    assert (state_of(project).phase, state_of(project).streak) == ("GREEN", 2), "a partial run rewinds nothing"
    project.write(test_calc=FAILING_TESTS.replace("== 3", "== 4"))
    ran = project.run("--phase=red")
    assert ran.code == 0, "the altered test is what RED is about now, and it fails"
    state = state_of(project)
    assert (state.phase, state.iteration, state.cycle) == ("RED", 1, 1)
    assert os.environ.get("PHASE_GATE_RUN") is None, "every run takes its variable away again"


# --- a test module that can't be imported is a failing attempt

ERROR = "test_calc.py can't be imported: ModuleNotFoundError: No module named 'no_such_module'"
BROKEN = "import no_such_module\n\n\ndef add(a, b):\n    return a + b\n"
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def step(project: Project) -> Project:
    """In GREEN, with a test module of this step and another one beside it."""
    project.write(
        test_other="def test_other():\n    pass\n",
        test_calc="import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_add(n):\n    assert add(n, 2) == n + 2\n",
    )
    project.commit_all()
    assert project.run("--phase=red", "--exit-signal=it fails").code == 0
    return project


def test_it_counts_and_its_error_is_named_first(step: Project) -> None:
    step.write(calc=BROKEN)
    ran = step.run_process("--phase=green", "--phase-report=verdict.json", "-n1", plugins=("xdist",))
    assert ran.code == 1, ran.out
    verdict = step.report()
    assert (verdict["run_kind"], verdict["iteration"], verdict["status"]) == ("complete", 1, "closed")
    assert verdict["reason"] == f"{ERROR}; test_calc.py::test_add fails"
    assert verdict["next_command"] == "pytest --phase=green"
    assert verdict["metrics"]["suite_passing"] == 1, "what can be run is run"
    assert last_run(step)["kind"] == "complete"
    step.write(calc=RIGHT)
    assert step.run("--phase=green").code == 10
    assert step.run("--phase=green").code == 0


def test_one_that_stops_at_it_is_not_complete(step: Project) -> None:
    step.write(calc=BROKEN)
    step.run("--phase=green", "-x", "--phase-report=verdict.json")
    verdict = step.report()
    assert verdict["iteration"] is None
    assert verdict["reason"].startswith(ERROR)


def test_a_class_that_pytest_cannot_collect(step: Project) -> None:
    step.write(calc=RIGHT, test_more="import pytest\n\n\n@pytest.mark.parametrize('x', [1])\ndef test_m():\n    pass\n")
    step.run("--phase=green", "--phase-report=verdict.json")
    reason = step.report()["reason"]
    assert reason.startswith("test_more.py can't be collected: In ")
    assert "function uses no argument" in reason, "how a test is named differs between versions of pytest"
