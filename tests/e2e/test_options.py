"""The options of `pytest --phase`, one by one, by real runs."""

from __future__ import annotations

import sys

import pytest

from tests.e2e.sessions import buckets_of, history_of, last_run, state_of
from tests.support import CALC, FAILING_TESTS, OURS, Project, Result

PASSING = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"
#: One phase, and then it is done: the shortest way to the end of a cycle.
SHORT = """\
workflow: short
phases:
  CHECK:
    tests: passing
    gate_1:
      name: All pass
      condition: tests_total > 0 AND tests_failing == 0
      guards: [complete-run]
    next: DONE
"""


@pytest.fixture
def passing(project: Project) -> Project:
    """Two tests that pass; nothing recorded yet."""
    return project.write(test_a=PASSING)


def ledger(project: Project) -> bytes:
    return (project.root / ".phase-gate" / "ledger.jsonl").read_bytes()


# --- --phase-exit


@pytest.mark.criterion("DC-05")
@pytest.mark.parametrize(
    ("meaning", "first", "second", "with_signal"),
    [
        pytest.param("tests", 0, 0, 0, id="tests-is-pytests-own"),
        pytest.param(None, 10, 0, 0, id="without-the-option"),
        pytest.param("dual", 10, 10, 0, id="dual-wants-the-signal-too"),
    ],
)
def test_what_the_exit_status_means_in_green(
    passing: Project, meaning: str | None, first: int, second: int, with_signal: int
) -> None:
    option = () if meaning is None else (f"--phase-exit={meaning}",)
    assert passing.run("--phase=green", *option).code == first
    assert passing.run("--phase=green", *option).code == second
    assert passing.run("--phase=green", *option, "--exit-signal=both pass").code == with_signal
    assert state_of(passing).exited, "the verdict does not depend on what the status means"


def test_the_meaning_may_stand_in_the_file_and_the_option_wins(passing: Project) -> None:
    passing.write({"phase-gate.yaml": "run: {exit: tests}\n"})
    assert passing.run("--phase=green").code == 0
    assert passing.run("--phase=green", "--phase-exit=dual").code == 10


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        pytest.param("session.exitstatus = 6", 6, id="a-plugin-that-fails-the-session"),
        pytest.param("session.exitstatus = 77", 77, id="a-plugin-with-a-code-of-its-own"),
        pytest.param("session.exitstatus = 0", 10, id="a-plugin-that-says-0-does-not-open-the-gate"),
    ],
)
def test_others_have_their_say_before_us(passing: Project, hook: str, code: int) -> None:
    passing.write(
        conftest=f"import pytest\n\n\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    {hook}\n"
    )
    assert passing.run("--phase=green").code == code


# --- --phase-confirm


def test_the_signal_file_waits_for_the_last_confirming_run(passing: Project) -> None:
    passing.write({"phase-gate.yaml": "parameters: {required_green_runs: 3}\n"})
    passing.write({".phase-gate/exit-signal.yaml": "exit_signal: true\nreason: three times green\n"})
    ran = passing.run_process("--phase=green", "--phase-confirm", "-v")
    assert (ran.code, (passing.state / "exit-signal.yaml").exists()) == (0, False)
    state = state_of(passing)
    assert (state.exited, state.iteration, state.streak, state.signals_premature) == (True, 3, 3, 0)
    assert state.evaluation is not None
    assert state.evaluation.gate_2.reason == "three times green"


#: Passes as often as the file says, then does otherwise.
COUNTING = """\
import pathlib

import pytest


def test_counts():
    counter = pathlib.Path("count.txt")
    left = int(counter.read_text()) - 1
    counter.write_text(str(left))
    assert left >= 0
"""


@pytest.mark.parametrize(
    ("passes", "runs", "code", "streak"),
    [
        pytest.param(9, 3, 0, 3, id="green-until-the-streak-is-long-enough"),
        pytest.param(1, 2, 1, 0, id="it-stops-at-the-first-that-is-not-green"),
        pytest.param(0, 1, 1, 0, id="a-failing-run-is-not-run-again"),
    ],
)
def test_confirm_stops(project: Project, passes: int, runs: int, code: int, streak: int) -> None:
    project.write(
        {"phase-gate.yaml": "parameters: {required_green_runs: 3}\n", "count.txt": str(passes)}, test_a=COUNTING
    )
    signal = ("--exit-signal=done",) if passes > 1 else ("--exit-signal", "done")
    ran = project.run_process("--phase=green", "--phase-confirm", *signal, "-v")
    assert ran.code == code, "the status of the last run is the exit status"
    assert [run["kind"] for run in history_of(project)] == ["complete"] * runs
    assert ran.out.count("test session starts") == runs, "each in a fresh process, all outputs shown whole"
    assert ran.out.count("held for the last run") == (runs > 1)
    state = state_of(project)
    assert (state.streak, state.exited) == (streak, code == 0)
    assert state.signals_premature == (1 if runs == 1 else 0), "a signal is spent by the run that it goes with"


def test_confirm_repeats_no_partial_run_and_no_odd_one(passing: Project) -> None:
    """An odd one is not green, though a streak from before is still there: a signal with it is spent by it."""
    passing.run("--phase=green")
    passing.run_process("--phase=green", "--phase-confirm", "-k", "one")
    passing.write(test_a="import pytest\n\n\n" + PASSING.replace("def test_two", "@pytest.mark.xfail\ndef test_two"))
    passing.run_process("--phase=green", "--phase-confirm", "--exit-signal=done")
    state = state_of(passing)
    assert (len(history_of(passing)), last_run(passing)["green"]) == (3, "odd")
    assert (state.streak, state.signals_premature, state.exited) == (1, 1, False)


# --- --phase=auto, --phase-workflow


def test_auto_is_where_the_task_is_or_goes_next(project: Project) -> None:
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=auto", "--exit-signal=both fail").code == 0
    assert (state_of(project).phase, state_of(project).exited) == ("RED", True)
    project.write(calc=CALC)
    assert project.run("--phase=auto").code == 10
    assert project.run("--phase=AUTO").code == 0
    assert [run["phase"] for run in history_of(project)] == ["RED", "GREEN", "GREEN"]


def test_a_workflow_file_and_the_end_of_its_cycle(passing: Project) -> None:
    passing.write({"short.yaml": SHORT})
    option = "--phase-workflow=short.yaml"
    assert passing.run("--phase=check", option, "--exit-signal=they pass", "--phase-exit=dual").code == 0
    state = state_of(passing)
    assert (state.phase, state.workflow, state.cycle) == ("DONE", "short", 1)
    before = ledger(passing)
    refused = passing.run("--phase=auto", option)
    assert refused.code == 13
    assert "the cycle is done: auto does not start a new one by itself" in refused.text
    assert "pytest --phase=check # starts the next cycle" in refused.text
    assert ledger(passing) == before, "a refused command is not a run and writes nothing"
    assert passing.run("--phase=check", option).code == 0
    assert (state_of(passing).cycle, state_of(passing).phase) == (2, "CHECK")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        pytest.param("--phase-workflow=nosuch", "there is no workflow 'nosuch'", id="unknown-workflow"),
        pytest.param("--phase-workflow=nosuch.yaml", "nosuch.yaml", id="a-file-that-is-not-there"),
        pytest.param("--phase-task=", "''", id="an-empty-task"),
        pytest.param("--phase-report=out.pdf", ".pdf is unknown", id="an-unknown-report-format"),
        pytest.param("--phase-report=out", "the format, and there is none", id="a-report-without-a-suffix"),
        pytest.param("--exit-signal= ", "--exit-signal needs a reason", id="a-blank-signal"),
        pytest.param("--exit-signal=...", "--exit-signal needs a reason", id="a-signal-that-is-copied-from-a-message"),
        pytest.param("--phase-confirming=x", "--phase-confirming=x: not I/N", id="a-hidden-option-by-hand"),
    ],
)
def test_usage_errors_come_first_and_write_nothing(passing: Project, option: str, message: str) -> None:
    ran = passing.run("--phase=green", option)
    assert ran.code == 4
    assert message in ran.text
    assert "try: " in ran.text
    assert not (passing.root / ".phase-gate").exists()


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="with-workers")])
def test_phase_order_is_13_before_any_test_runs(project: Project, workers: tuple[str, ...]) -> None:
    project.write(test_calc=FAILING_TESTS)
    project.run("--phase=red")
    before = ledger(project)
    ran = project.run_process("--phase=green", "--phase-report=verdict.json", *workers, plugins=("xdist",))
    assert ran.code == 13
    assert "GREEN can't begin: RED has not exited (Gate 1 is open; Gate 2 waits for the exit signal)" in ran.text
    assert "try: phase-gate signal" in ran.text
    assert "collected" not in ran.out
    assert ledger(project) == before
    assert not (project.root / "verdict.json").exists(), "a refusal writes no report"


# --- --phase-report


def test_reports_by_suffix(passing: Project) -> None:
    ran = passing.run("--phase=green", "--phase-report=out/gate.json", "--phase-report=gate.MD")
    assert ran.code == 10
    document = passing.report("out/gate.json")
    assert (document["phase"], document["iteration"], document["can_exit"]) == ("GREEN", 1, False)
    assert (document["root"], document["run_kind"]) == (str(passing.root), "complete")
    text = (passing.root / "gate.MD").read_text(encoding="utf-8")
    assert text.startswith("## Phase gate: GREEN, iteration 1\n")


def test_a_run_that_does_not_count_is_reported_without_an_iteration(passing: Project) -> None:
    passing.write({"pytest.ini": "[pytest]\n"})  # what is deselected is named from pytest's rootdir
    passing.run("--phase=green")
    for arguments, kind in ((("--setup-only",), "incomplete"), (("--deselect=test_a.py",), "partial")):
        passing.run("--phase=green", "--phase-report=verdict.json", *arguments)
        document = passing.report()
        assert (document["iteration"], document["run_kind"], document["can_exit"]) == (None, kind, False)
        assert document["gate_1"]["satisfied"] is False
        assert document["run_note"] == last_run(passing)["why"]


def test_a_report_that_cannot_be_written_is_11_and_the_verdict_is_shown(passing: Project) -> None:
    passing.write({"taken": "a file"})
    ran = passing.run("--phase=green", "--phase-report=taken/gate.json", "-v")
    assert ran.code == 11
    assert "the report gate.json could not be written" in ran.text
    assert ran.has("verdict not done: needs one more green run"), "the run itself is recorded and judged"
    assert "nothing recorded" not in ran.out
    assert (last_run(passing)["kind"], state_of(passing).streak) == ("complete", 1)


# --- tasks and folders


def test_the_option_for_the_state_folder_wins_over_the_variable_and_that_over_the_file(passing: Project) -> None:
    passing.write({"phase-gate.yaml": "run: {dir: build/file}\n"})
    ways = [("file", ()), ("variable", ()), ("option", ("--phase-dir=build/option", "--phase-task=chosen"))]
    for number, (place, option) in enumerate(ways, start=1):
        if place == "variable":
            passing.environment.setenv("PHASE_GATE_DIR", "build/variable")
            passing.environment.setenv("PHASE_GATE_TASK", "variable")
        passing.run("--phase=green", *option)
        assert len(list((passing.root / "build" / place).rglob("ledger.jsonl"))) == 1
        assert len(list((passing.root / "build").iterdir())) == number
    assert (passing.root / "build/option/tasks/chosen/ledger.jsonl").exists()
    assert not (passing.root / ".phase-gate").exists()


# --- root


def test_root_and_ids_do_not_depend_on_where_pytest_is_started(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\n", "tests/test_a.py": PASSING, "tests/deep/test_b.py": PASSING})
    assert project.run("--phase=green").has(f"root {project.root}")
    expected = buckets_of(project)
    assert set(expected) == {
        f"tests/{file}::{name}" for file in ("test_a.py", "deep/test_b.py") for name in ("test_one", "test_two")
    }
    ways: list[tuple[str, tuple[str, ...]]] = [
        (".", ("tests",)),
        (".", ("--rootdir=tests",)),
        (".", ("--rootdir=tests/deep", "tests")),
        (".", ("tests/test_a.py", "tests/deep/test_b.py")),
        ("tests", ()),
        ("tests/deep", ("..",)),
        ("tests/deep", ("--rootdir=..", "..")),
    ]
    for number, (folder, arguments) in enumerate(ways, start=2):
        project.environment.chdir(project.root / folder)
        ran = project.run("--phase=green", *arguments)
        assert ran.has(f"root {project.root}")
        assert buckets_of(project) == expected, (folder, arguments)
        assert (last_run(project)["kind"], state_of(project).streak) == ("complete", number), (folder, arguments)
    project.environment.chdir(project.root / "tests" / "deep")
    project.run("--phase=green")
    why = "2 known tests did not run (in tests/deep only: run it in the root)"
    assert (last_run(project)["kind"], last_run(project)["why"]) == ("partial", why)
    project.run("--phase=green", "-k", "test_b")
    assert last_run(project)["why"] == "2 known tests did not run (-k 'test_b')"


# --- what is shown


def panel(ran: Result) -> list[str]:
    lines = ran.out.splitlines()
    start = next(number for number, line in enumerate(lines) if "= phase gate" in line)
    return lines[start:]


def test_without_a_terminal_it_records_and_judges(passing: Project) -> None:
    ran = passing.run_process("--phase=green", "-p", "no:terminal", "--phase-report=verdict.json")
    assert (ran.code, ran.out) == (10, "")
    assert passing.report()["iteration"] == 1
    assert passing.run_process("--phase=green", "-p", "no:terminal").code == 0


def test_the_panel_is_the_last_thing_on_the_screen(passing: Project) -> None:
    passing.write(test_b="def test_bad():\n    assert 0\n")
    ran = passing.run("--phase=green", "-v")
    assert ran.out.index("FAILURES") < ran.out.index("1 failed, 2 passed") < ran.out.index("phase gate: GREEN ·")
    assert panel(ran)[-1].strip() == "then run: pytest --phase=green"


def test_a_process_that_leaves_early_has_said_its_verdict(passing: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    passing.write(conftest="import os\n\n\ndef pytest_unconfigure():\n    os._exit(0)\n")
    assert "Gate 1  closed" in passing.run_process("--phase=green", "-q").out


# --- without --phase

IMPORTS = """\
import sys


def test_nothing_is_imported():
    ours = {name for name in sys.modules if name.split(".")[0] == "phase_gate"}
    light = ("", "._version", ".plugin")
    assert ours <= {f"phase_gate{name}" for name in light}
    assert not {"yaml", "filelock"} & set(sys.modules)
"""


def test_without_phase_nothing_is_recorded_said_or_imported(project: Project) -> None:
    project.write(test_a=IMPORTS)
    ran = project.process(sys.executable, "-m", "pytest", *OURS, "-v")  # one that has imported nothing yet
    assert ran.code == 0, ran.out
    assert "phase gate" not in ran.out
    assert not (project.root / ".phase-gate").exists()
    on_worker = project.process(sys.executable, "-m", "pytest", *OURS, "-p", "xdist", "-n", "1")
    assert on_worker.code == 0, on_worker.out


STRICT_INI = "[pytest]\naddopts = --strict-markers --strict-config\nxfail_strict = true\nfilterwarnings = error\n"
STRICT_INI_9 = "[pytest]\nstrict = true\nfilterwarnings = error\n"


@pytest.mark.parametrize(
    "ini",
    [
        pytest.param(STRICT_INI, id="strict-markers-and-config"),
        pytest.param(
            STRICT_INI_9,
            id="strict-altogether",
            marks=pytest.mark.skipif(pytest.version_tuple < (9,), reason="`strict` came with pytest 9"),
        ),
    ],
)
def test_a_strict_project_works(project: Project, ini: str) -> None:
    project.write(
        {"pytest.ini": ini},
        test_a="import pytest\n\n\n@pytest.mark.criterion('AC-1', 'AC-2')\ndef test_one():\n    pass\n",
    )
    assert project.run("-W", "error").code == 0
    ran = project.run_process("--phase=green")
    assert ran.code == 10, ran.out + ran.err


@pytest.mark.parametrize("option", ["--exit-signal=done", "--phase-confirm", "--phase-report=verdict.json"])
def test_an_option_that_needs_a_phase_says_so(passing: Project, option: str) -> None:
    ran = passing.run(option)
    assert (ran.code, ran.has(f"{option.partition('=')[0]} without --phase records nothing")) == (4, True)
    passing.write({"pytest.ini": f"[pytest]\naddopts = {option}\n"})
    assert passing.run().code == 0, "in a file it is for runs with a phase"


def test_a_file_that_a_tool_writes_may_be_ignored(passing: Project) -> None:
    """A run that is piped into a file of the project changes it, each time."""
    passing.commit_all()
    passing.run("--phase=green")
    passing.write({"output.txt": "1 passed\n"})
    ran = passing.run("--phase=green")
    hint = "next if a tool writes output.txt, name it in .gitignore, then run: pytest --phase=green"
    assert ran.text.endswith(hint), ran.text
    passing.write({".gitignore": "output.txt\n"})
    ran = passing.run("--phase=green")
    assert "because these files changed: .gitignore, output.txt" in ran.text
    assert ran.text.endswith("next pytest --phase=green"), ran.text
