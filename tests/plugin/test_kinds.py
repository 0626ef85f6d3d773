"""Every kind of run, by real runs: what it is called, why, and what it does to streak, iteration and exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.plugin.looking import history_of, last_run, state_of
from tests.support import CALC, FAILING_TESTS, OURS, Ran, Sample

#: Five tests in two files, one of them with parameters.
SUITE = {
    "test_a.py": "import pytest\n\n\ndef test_one():\n    pass\n\n\n@pytest.mark.slow\ndef test_two():\n    pass\n",
    "test_b.py": "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_three(n):\n    pass\n",
    "pytest.ini": "[pytest]\nmarkers = slow\n",
    "other.ini": "[pytest]\npython_files = test_b.py\n",
}
WORKERS = ("-n", "2")


@pytest.fixture
def suite(sample: Sample) -> Sample:
    """A project in GREEN after one complete green run: streak 1, iteration 1."""
    sample.write(SUITE)
    assert sample.pytest("--phase=green").code == 10
    expect(sample, "complete", streak=1, iteration=1)
    return sample


def expect(sample: Sample, kind: str, why: str = "", *, streak: int, iteration: int, runs: int | None = None) -> None:
    """Compare the last run and the state that it left."""
    run, state = last_run(sample), state_of(sample)
    assert (run["kind"], run["why"]) == (kind, why)
    assert (state.streak.count, state.iteration) == (streak, iteration)
    assert run["iteration"] == (iteration if kind == "complete" else None)
    assert not state.open_runs
    if runs is not None:
        assert len(history_of(sample)) == runs


def words(ran: Ran) -> str:
    """The output without its line breaks: the panel wraps."""
    return " ".join(ran.out.split())


# --- void


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("option", "code"),
    [
        pytest.param("--collect-only", 10, id="collect-only"),
        pytest.param("--setup-plan", 10, id="setup-plan"),
        # pytest ends these with a 0 that no hook can change.
        pytest.param("--fixtures", 0, id="fixtures"),
        pytest.param("--fixtures-per-test", 0, id="fixtures-per-test"),
    ],
)
def test_a_session_that_runs_no_test_is_not_even_recorded(suite: Sample, option: str, code: int) -> None:
    before = state_of(suite)
    ran = suite.pytest("--phase=green", option)
    assert ran.code == code
    assert ran.has(f"nothing recorded: {option} runs no test", "try: pytest --phase=green")
    assert state_of(suite) == before
    assert len(history_of(suite)) == 1


def test_help_records_nothing(suite: Sample) -> None:
    assert suite.pytest("--phase=green", "--help").code == 0
    assert len(history_of(suite)) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("nosuch.py",), id="a-path-that-is-not-there"),
        pytest.param(("test_a.py::test_nine",), id="a-test-that-is-not-there"),
        pytest.param(("-k", "("), id="an-expression-that-is-none"),
    ],
)
def test_a_usage_error_found_during_collection_changes_nothing(suite: Sample, arguments: tuple[str, ...]) -> None:
    before = state_of(suite)
    ran = suite.pytest("--phase=green", *arguments)
    assert ran.code == 4
    assert ran.has("not counted: no test was meant to run")
    expect(suite, "void", "no test was meant to run", streak=1, iteration=1, runs=2)
    assert state_of(suite) == before
    assert suite.pytest("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=2)


def test_a_usage_error_does_not_make_the_last_run_stale(suite: Sample) -> None:
    assert suite.pytest("--phase=green").code == 0
    suite.pytest("--phase=green", "nosuch.py")
    assert suite.gate("check", "--gate1").code == 0
    assert suite.gate("signal", "--reason", "both runs were green").code == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(WORKERS, id="with-workers")])
def test_a_usage_error_takes_the_entry_of_a_phase_back(sample: Sample, workers: tuple[str, ...]) -> None:
    sample.red()
    ran = sample.pytest_process("--phase=green", "nosuch.py", *workers, plugins=("xdist",))
    assert ran.code == (5 if workers else 4), "with workers pytest itself only says that nothing was collected"
    state = state_of(sample)
    assert (state.phase, state.exited, state.visited) == ("RED", True, ("RED",))
    assert (last_run(sample)["kind"], last_run(sample)["phase"]) == ("void", "GREEN")
    assert sample.gate("check").code == 0, "RED has exited, and nothing was run since"


def test_a_usage_error_takes_the_first_cycle_back(sample: Sample) -> None:
    sample.write(SUITE)
    assert sample.pytest("--phase=red", "nosuch.py").code == 4
    state = state_of(sample)
    assert (state.phase, state.cycle) == (None, 0)


def test_a_test_that_exits_with_the_status_of_a_usage_error_is_none(suite: Sample) -> None:
    suite.write(test_c="import pytest\n\n\ndef test_four():\n    pytest.exit('enough', returncode=4)\n")
    assert suite.pytest("--phase=green").code == 4
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


def test_a_run_inside_a_run_of_the_same_task_is_nested(suite: Sample) -> None:
    suite.write(
        {"inner/check_inner.py": "def test_inner():\n    assert 0\n"},
        test_outer=INNER % ("-opython_files=check_*.py", 1, "not counted: it ran inside another run of this task"),
    )
    ran = suite.pytest("--phase=green")
    outer, inner = history_of(suite)[-2:]
    assert (outer["kind"], outer["iteration"], ran.code) == ("complete", 2, 10)
    assert (inner["kind"], inner["why"]) == ("nested", "it ran inside another run of this task")
    assert (inner["iteration"], inner["counts"]) == (None, {"failed": 1})
    assert state_of(suite).streak.count == 1, "an edit before the outer run, and the nested failure did no harm"


@pytest.mark.sweep
def test_a_run_inside_a_run_of_another_task_counts_there(suite: Sample) -> None:
    suite.write(
        {"inner/check_inner.py": "def test_inner():\n    pass\n"},
        test_outer=INNER.replace('"--phase=green"', '"--phase=green", "--phase-task=other"')
        % ("-opython_files=check_*.py", 10, "iteration 1"),
    )
    suite.pytest("--phase=green")
    assert [run["kind"] for run in history_of(suite)] == ["complete", "complete"]
    assert [run["kind"] for run in history_of(suite, "other")] == ["complete"]
    assert state_of(suite, "other").streak.count == 1


def test_the_variable_of_a_run_that_is_over_makes_nothing_nested(suite: Sample) -> None:
    suite.environment.setenv("PHASE_GATE_RUN", history_of(suite)[0]["id"])
    assert suite.pytest("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=2)


# --- lost


@pytest.mark.sweep
def test_a_killed_run_is_lost_and_the_next_one_says_so(suite: Sample) -> None:
    assert suite.pytest("--phase=green").code == 0
    sleeper = suite.root / "test_sleeper.py"
    sleeper.write_text(
        "import pathlib, time\n\n\ndef test_sleeps():\n    pathlib.Path('here').touch()\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *OURS, "--phase=green"],
        cwd=suite.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(suite.root / "here")
    going_on = suite.gate("check", "--gate1")
    assert going_on.has("a run is going on")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=120)
    sleeper.unlink()

    lost = last_run(suite)
    assert lost["kind"] == "lost", "known before any further run"
    assert suite.gate("check", "--gate1").has(f"run {lost['id'][:8]} began and never ended")
    ran = suite.pytest("--phase=green")
    assert ran.code == 10
    assert f"Warning run {lost['id'][:8]}, which began at {lost['at']}, was lost: it never ended" in words(ran)
    expect(suite, "complete", streak=1, iteration=3, runs=4)
    assert (history_of(suite)[2]["kind"], history_of(suite)[2]["why"]) == ("lost", "it began and never ended")
    assert not suite.pytest("--phase=green").out.count("was lost"), "said once"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.02)


# --- incomplete

FAILING = "def test_zero():\n    assert 0\n"


def test_ctrl_c_is_incomplete_and_stays_2(suite: Sample) -> None:
    suite.write(test_0="def test_zero():\n    raise KeyboardInterrupt\n")
    assert suite.pytest_process("--phase=green").code == 2
    expect(suite, "incomplete", "interrupted", streak=1, iteration=1)


def test_stopped_at_a_failure_that_is_the_last_test_is_complete(suite: Sample) -> None:
    suite.write(test_z=FAILING)
    assert suite.pytest("--phase=green", "-x").code == 1
    expect(suite, "complete", streak=0, iteration=2)


def test_ctrl_c_in_red_stays_2_beside_a_broken_module(sample: Sample) -> None:
    sample.write(test_a="import no_such_module\n", test_b="def test_stop():\n    raise KeyboardInterrupt\n")
    assert sample.pytest_process("--phase=red").code == 2
    expect(sample, "incomplete", "interrupted", streak=0, iteration=0)


def test_an_interrupted_run_keeps_the_chain_of_green_runs(suite: Sample) -> None:
    suite.environment.setenv("STOP", "1")
    suite.write(
        test_0="import os, pytest\n\n\ndef test_zero():\n    if os.environ['STOP'] == '1':\n        pytest.exit('no')\n"
    )
    suite.pytest("--phase=green")
    expect(suite, "incomplete", "pytest.exit: no", streak=1, iteration=1)
    suite.environment.setenv("STOP", "0")
    suite.pytest("--phase=green")
    expect(suite, "complete", streak=1, iteration=2)
    suite.environment.setenv("STOP", "1")
    suite.pytest("--phase=green")
    suite.environment.setenv("STOP", "0")
    assert suite.pytest("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=3)


# --- partial


@pytest.mark.sweep
def test_last_failed_is_partial_and_not_missing(sample: Sample) -> None:
    def run(*arguments: str) -> Ran:
        # With the cache: --lf needs it.
        return sample.process(sys.executable, "-m", "pytest", "-p", "phase_gate.plugin", *arguments)

    sample.write({"limit.txt": "2"})
    sample.write(
        test_a="import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n):\n"
        "    assert n != int(open('limit.txt').read())\n\n\ndef test_fine():\n    pass\n",
        test_b="def test_fine():\n    pass\n",
    )
    assert run("--phase=green").code == 1
    sample.write({"limit.txt": "0"})
    ran = run("--phase=green", "--lf")
    assert ran.code == 10
    expect(sample, "partial", "4 known tests did not run (--lf)", streak=0, iteration=1)
    ran.has("1 passed")


def test_a_failing_partial_run_is_0(suite: Sample) -> None:
    suite.write(test_c=FAILING)
    assert suite.pytest("--phase=green", "test_c.py").code == 1
    expect(suite, "partial", "5 known tests did not run (test_c.py)", streak=0, iteration=1)


@pytest.mark.sweep
def test_an_edit_before_a_partial_run_breaks_the_chain(suite: Sample) -> None:
    suite.write(code="VALUE = 1\n")
    suite.pytest("--phase=green", "-k", "one")
    expect(suite, "partial", "4 known tests did not run (-k 'one')", streak=1, iteration=1)
    assert suite.pytest("--phase=green").code == 10
    expect(suite, "complete", streak=1, iteration=2)


def test_a_partial_run_never_re_opens_an_exited_phase(sample: Sample) -> None:
    sample.red()
    assert sample.pytest("--phase=red", "-k", "add").code == 10
    state = state_of(sample)
    assert (state.phase, state.exited, state.iteration) == ("RED", True, 1)
    assert sample.gate("check").code == 10, "but a run came after the verdict"
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green").code == 10


def test_a_partial_run_enters_the_next_phase_and_spends_no_signal(sample: Sample) -> None:
    sample.red().write(calc=CALC)
    (sample.root / ".phase-gate" / "exit-signal.yaml").write_text("exit_signal: true\n")
    assert sample.pytest("--phase=green", "-k", "add").code == 10
    state = state_of(sample)
    assert (state.phase, state.iteration, state.streak.count, state.signals_premature) == ("GREEN", 0, 0, 0)
    assert (sample.root / ".phase-gate" / "exit-signal.yaml").exists()


def test_the_option_signal_is_dropped_by_a_partial_run(suite: Sample) -> None:
    assert suite.pytest("--phase=green").code == 0
    assert suite.pytest("--phase=green", "-k", "one", "--exit-signal=done").code == 10
    state = state_of(suite)
    assert (state.exited, state.signals_premature) == (False, 0)


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
def test_empty(sample: Sample, files: dict[str, str], why: str, code: int) -> None:
    sample.write(files)
    ran = sample.pytest("--phase=green")
    assert ran.code == code
    expect(sample, "empty", why, streak=0, iteration=0)
    assert ran.has("this run does not count (empty)")


def test_an_empty_run_ends_the_streak(suite: Sample) -> None:
    suite.write(conftest="import pytest\n\n\n@pytest.fixture(autouse=True)\ndef no():\n    pytest.skip('no')\n")
    assert suite.pytest("--phase=green").code == 10
    expect(suite, "empty", "every test was skipped", streak=0, iteration=1)


# --- complete


def test_in_red_the_known_set_follows_the_sources(sample: Sample) -> None:
    sample.write(test_calc=FAILING_TESTS)
    assert sample.pytest("--phase=red").code == 0
    sample.write(test_calc=FAILING_TESTS.replace("test_sub", "test_minus"))
    assert sample.pytest("--phase=red").code == 0
    expect(sample, "complete", streak=0, iteration=2)


def test_a_narrow_first_run_defines_what_is_known_and_says_so(sample: Sample) -> None:
    sample.write(SUITE)
    ran = sample.pytest("--phase=green", "test_b.py", "-k", "three", "-v")
    assert ran.code == 10
    assert ran.has("note    narrowed: -k 'three'; test_b.py")
    expect(sample, "complete", streak=1, iteration=1)
    assert sample.pytest("--phase=green", "-v").code == 0
    expect(sample, "complete", streak=2, iteration=2)
    sample.pytest("--phase=green", "test_b.py", "-v")
    expect(sample, "partial", "2 known tests did not run (test_b.py)", streak=2, iteration=2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(WORKERS, id="with-workers")])
def test_a_module_that_cannot_be_imported_does_not_hide_the_rest_in_red(
    sample: Sample, workers: tuple[str, ...]
) -> None:
    sample.write(
        test_a="from calc import add\n\n\ndef test_one():\n    assert add(1, 2) == 3\n\n\nclass TestIt:\n"
        "    def test_two(self):\n        assert add(0, 0) == 0\n",
        test_b="def test_three():\n    from calc import sub\n\n    assert sub(3, 2) == 1\n",
        test_c="def test_four(:\n    pass\n",
    )
    ran = sample.pytest_process("--phase=red", "--phase-report=verdict.json", *workers, plugins=("xdist",))
    assert ran.code == 10, ran.out
    assert "closed test_c.py syntax-error: " in words(ran), "a slip is not red"
    expect(sample, "complete", streak=0, iteration=1)
    metrics = sample.report()["metrics"]
    assert (metrics["tests_total"], metrics["tests_failing"], metrics["tests_uncollectable"]) == (4, 4, 3)
    assert metrics["collection_errors"] == 2, "a module that can't be parsed counts as one test"
    sample.remove("test_c.py")
    assert sample.pytest("--phase=red").code == 0


def test_tests_counted_from_source_are_kept_once_their_parameters_run(sample: Sample) -> None:
    sample.write(
        test_a="import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_add(n):\n    assert add(n, 1) == n + 1\n"
    )
    assert sample.pytest("--phase=red").code == 0
    assert sample.gate("signal", "--reason", "it fails").code == 0
    sample.write(calc=CALC)
    assert sample.pytest("--phase=green", "--phase-report=verdict.json").code == 10
    metrics = sample.report()["metrics"]
    assert (metrics["tests_missing"], metrics["tests_unselected"], metrics["tests_passing"]) == (0, 0, 2)
    assert sample.pytest("--phase=green").code == 0


# --- two outcomes on one tree

ONCE = (
    "import pathlib\n\n\ndef test_once():\n    assert pathlib.Path('fine').exists()\n\n\ndef test_last():\n    pass\n"
)


def test_two_outcomes_on_one_tree_are_shown_and_close_nothing(sample: Sample) -> None:
    sample.write(test_a=ONCE)
    assert sample.pytest("--phase=green", "-v").code == 1
    sample.write({"fine": ""})
    ran = sample.pytest("--phase=green", "-v")
    assert ran.has("advisory: test_a.py::test_once another outcome on the same tree [two-outcomes]")
    ran = sample.pytest("--phase=green", "-v")
    assert ran.code == 0
    assert "two-outcomes" not in ran.out


def test_a_test_that_did_not_run_has_no_other_outcome(sample: Sample) -> None:
    sample.write(test_a=FAILING, test_b=FAILING.replace("zero", "one"))
    sample.pytest("--phase=red")
    assert "two-outcomes" not in sample.pytest("--phase=red", "-x").out


def test_a_mended_test_has_no_two_outcomes_on_one_tree(sample: Sample) -> None:
    sample.write(test_a=FAILING, test_b="def test_fine():\n    pass\n")
    sample.pytest("--phase=green")
    sample.write(test_a=FAILING.replace("assert 0", "assert 1"))
    assert "two-outcomes" not in sample.pytest("--phase=green", "-k", "zero").out
    assert "two-outcomes" not in sample.pytest("--phase=green").out


# --- overlapping


@pytest.mark.sweep
def test_overlapping_runs_are_complete_but_do_not_extend_the_streak(suite: Sample) -> None:
    suite.write(
        test_c="import pathlib, time\n\n\ndef test_waits():\n    me = pathlib.Path('slow')\n    if me.exists():\n"
        "        pathlib.Path('here').touch()\n        while me.exists():\n            time.sleep(0.02)\n"
    )
    suite.pytest("--phase=green")
    expect(suite, "complete", streak=1, iteration=2)
    (suite.root / "slow").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *OURS, "--phase=green"],
        cwd=suite.root,
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_for(suite.root / "here")
    other = suite.pytest("--phase=green", "-k", "not waits")
    assert state_of(suite).open_runs[0].overlaps
    (suite.root / "slow").unlink()
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 10
    assert "another run of this task was open at the same time: the streak is" in output
    assert other.code == 10
    expect(suite, "partial", "1 known test did not run (-k 'not waits')", streak=1, iteration=3)
    assert history_of(suite)[2]["kind"] == "complete"
    assert suite.pytest("--phase=green").code == 0
    expect(suite, "complete", streak=2, iteration=4)


# --- going back by option


def test_a_rewind_takes_effect_when_its_first_complete_run_ends(sample: Sample) -> None:
    sample.green()
    assert sample.pytest("--phase=red", "-k", "add").code == 10
    assert (state_of(sample).phase, state_of(sample).streak.count) == ("GREEN", 2), "a partial run rewinds nothing"
    sample.write(test_calc=FAILING_TESTS.replace("== 3", "== 4"))
    ran = sample.pytest("--phase=red")
    assert ran.code == 0, "the altered test is what RED is about now, and it fails"
    state = state_of(sample)
    assert (state.phase, state.iteration, state.cycle) == ("RED", 1, 1)
    assert os.environ.get("PHASE_GATE_RUN") is None, "every run takes its variable away again"
