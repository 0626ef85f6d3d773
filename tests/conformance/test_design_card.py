"""DC: the design card. Every test drives the real plugin or the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.storage.lock import hold_lock
from tests.conformance.stories import (
    command,
    faults,
    judge,
    leave_red,
    leave_signal,
    ledger,
    status,
    step_tests,
    steps,
    summary_counts,
    unmet_clauses,
    unmet_guards,
)
from tests.support import OURS, Ran, Sample

WAITS = "Gate 1 is open; Gate 2 waits for the exit signal"

# --- DC-01 -------------------------------------------------------------------------------------------------------

#: One test of every kind of outcome that pytest has without a plugin.
KINDS = """\
import unittest

import pytest


@pytest.fixture
def broken():
    raise RuntimeError("setup")


@pytest.fixture
def breaks_late():
    yield
    raise RuntimeError("teardown")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_passed(number):
    assert number


def test_failed():
    assert 1 == 2


def test_setup_error(broken):
    pass


def test_teardown_error(breaks_late):
    pass


def test_failed_and_teardown_error(breaks_late):
    assert 1 == 2


@pytest.mark.skip(reason="mark")
def test_skipped():
    pass


@pytest.mark.skipif(True, reason="condition")
def test_skipped_by_condition():
    pass


def test_skipped_inside():
    pytest.skip("inside")


@pytest.mark.xfail
def test_xfailed():
    assert 1 == 2


def test_xfailed_inside():
    pytest.xfail("inside")


@pytest.mark.xfail
def test_xfailed_in_setup(broken):
    pass


@pytest.mark.xfail
def test_xpassed():
    pass


@pytest.mark.xfail(strict=True)
def test_xpassed_strictly():
    pass


def test_deselected():
    pass


class Classic(unittest.TestCase):
    def test_passed(self):
        pass

    def test_failed(self):
        self.assertEqual(1, 2)

    @unittest.skip("classic")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass
"""

#: Since pytest 9; before that the name is not there.
SUBTESTS = """\


def test_subtests(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1


def test_subtests_that_pass(subtests):
    with subtests.test():
        pass
"""

RERUN = """\
import pytest

seen = []


@pytest.mark.flaky(reruns=2)
def test_flaky():
    seen.append(1)
    assert len(seen) == 2


@pytest.mark.flaky(reruns=1)
def test_fails_again():
    assert 1 == 2
"""

SKIPPED_MODULE = (
    'import pytest\n\npytest.skip("whole module", allow_module_level=True)\n\n\ndef test_never():\n    pass\n'
)
BROKEN_MODULE = "import no_such_module\n\n\ndef test_one():\n    assert no_such_module\n\n\ndef test_two():\n    pass\n"


def write_kinds(sample: Sample, *, with_broken_module: bool = True) -> None:
    kinds = KINDS + (SUBTESTS if hasattr(pytest, "Subtests") else "")
    sample.write(test_kinds=kinds, test_rerun=RERUN, test_skipped_module=SKIPPED_MODULE)
    if with_broken_module:
        sample.write(test_broken=BROKEN_MODULE)


DESELECT = ("--deselect", "test_kinds.py::test_deselected")
RERUNS = ("pytest_rerunfailures",)


@pytest.mark.sampled(4)
@pytest.mark.criterion("DC-01")
@pytest.mark.parametrize("phase", ["red", "green", "refactor", "document"])
@pytest.mark.parametrize("verbosity", ["--verbosity=0", "--verbosity=1"])
def test_the_second_tally_is_pytest_s_own_summary(sample: Sample, phase: str, verbosity: str) -> None:
    write_kinds(sample, with_broken_module=phase == "red")
    ran, verdict = judge(sample, f"--phase={phase}", verbosity, *DESELECT, plugins=RERUNS)
    # Failing tests are pytest's 1; in RED, where they are wanted, the closed gate's 10.
    assert ran.code == (10 if phase == "red" else 1)
    run = command(sample, "history", "--json").document["runs"][-1]
    assert (run["phase"], run["kind"], run["iteration"], run["exit_status"]) == (phase.upper(), "complete", 1, 1)
    assert run["counts"] == summary_counts(ran.out)
    kinds = {"failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "errors", "rerun"}
    assert kinds <= set(run["counts"])
    assert ("subtests passed" in run["counts"]) is (verbosity[-1] == "1" and hasattr(pytest, "Subtests"))
    assert verdict["gate_1"]["satisfied"] is False
    assert verdict["status"] == "closed"


@pytest.mark.criterion("DC-01")
def test_the_totals_of_a_run_are_recorded_test_by_test(sample: Sample) -> None:
    """The first tally counts tests, not reports: each one in exactly one place, the worst of its stages."""
    write_kinds(sample)
    _, verdict = judge(sample, "--phase=red", *DESELECT, plugins=RERUNS)
    has_subtests = int(hasattr(pytest, "Subtests"))
    expected = {
        # 3 parameters, flaky, classic; the subtests that pass.
        "suite_passing": 5 + has_subtests,
        # failed, setup, teardown, both, strict xpass, 2 classic, fails again, 2 of the broken module; subtests.
        "suite_failing": 10 + has_subtests,
        "tests_skipped": 4,
        "tests_xfailed": 4,
        "tests_xpassed": 1,
        "tests_errors": 3,
        "tests_flaky": 1,
        "tests_deselected": 1,
        "tests_uncollectable": 2,
        "collection_errors": 1,
        "tests_not_run": 0,
        "tests_newly_skipped": 0,
    }
    assert {name: verdict["metrics"][name] for name in expected} == expected
    assert verdict["metrics"]["suite_total"] == expected["suite_passing"] + expected["suite_failing"]


@pytest.mark.criterion("DC-01")
@pytest.mark.parametrize(
    ("arguments", "files", "kind", "code"),
    [
        pytest.param([], {"test_broken.py": BROKEN_MODULE}, "complete", 1, id="a-module-that-cannot-be-imported"),
        pytest.param([], {"test_skipped.py": SKIPPED_MODULE}, "empty", 5, id="only-a-skipped-module"),
        pytest.param(["--maxfail=1"], {"test_kinds.py": KINDS}, "incomplete", 1, id="stopped-at-the-first-failure"),
        pytest.param(["-k", "passed"], {"test_kinds.py": KINDS}, "complete", 1, id="narrowed-first-run"),
    ],
)
def test_the_tally_of_a_run_that_ends_early_is_pytest_s_too(
    sample: Sample, arguments: list[str], files: dict[str, str], kind: str, code: int
) -> None:
    sample.write(files)
    ran = sample.pytest("--phase=green", *arguments)
    assert ran.code == code
    run = command(sample, "history", "--json").document["runs"][-1]
    assert (run["kind"], run["exit_status"]) == (kind, code)
    assert run["counts"] == summary_counts(ran.out)


@pytest.mark.criterion("DC-01")
def test_without_the_option_nothing_is_recorded(sample: Sample) -> None:
    sample.write(test_steps=step_tests(1))
    ran = sample.pytest()
    assert ran.code == 1
    assert "phase gate" not in ran.out
    assert not (sample.root / ".phase-gate").exists()


# --- DC-02 -------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.criterion("DC-02")
def test_six_runs_at_once_lose_nothing(sample: Sample) -> None:
    # On a busy machine the last of them waits long for its turn: what is shown here is not how fast they are.
    sample.write({"phase-gate.yaml": "lock_timeout: 120\n"}, test_steps=step_tests(2))
    arguments = [sys.executable, "-m", "pytest", *OURS, "--phase=red", "-q"]
    started = [
        subprocess.Popen(
            [*arguments, f"--phase-report=verdict-{number}.json"],
            cwd=sample.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(6)
    ]
    ended = [(process.communicate(timeout=120)[0], process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 6, ended

    history = sample.gate("history", "--json").document
    assert faults("history", history) == []
    assert [run["kind"] for run in history["runs"]] == ["complete"] * 6
    assert sorted(run["iteration"] for run in history["runs"]) == [1, 2, 3, 4, 5, 6]
    assert len({run["id"] for run in history["runs"]}) == 6
    verdicts = [sample.report(f"verdict-{number}.json") for number in range(6)]
    assert {verdict["run"] for verdict in verdicts} == {run["id"] for run in history["runs"]}
    assert sorted(verdict["iteration"] for verdict in verdicts) == [1, 2, 3, 4, 5, 6]
    assert all(verdict["gate_1"]["satisfied"] for verdict in verdicts)

    audit = sample.gate("audit", "--json")
    assert (audit.code, audit.document["intact"], audit.document["problem"]) == (0, True, None)
    kinds = audit.document["kinds"]
    assert (kinds["created"], kinds["cycle-began"], kinds["phase-entered"]) == (1, 1, 1)
    assert (kinds["run-started"], kinds["run-ended"], kinds["evaluated"]) == (6, 6, 6)
    assert [line["seq"] for line in ledger(sample)] == list(range(1, audit.document["events"] + 1))
    now = status(sample)
    assert (now["iteration"], now["open_runs"], now["lost_runs"]) == (6, [], [])


@pytest.mark.criterion("DC-02")
def test_a_run_that_overlaps_another_does_not_extend_the_streak(sample: Sample) -> None:
    """Two green runs at once are not two in a row: the second one waits inside a test until the first has ended."""
    leave_red(sample, 1)
    sample.write(steps="import os, time\n\n\ndef step_1():\n    WAIT\n    return 1\n".replace("WAIT", WAIT))
    slow = subprocess.Popen(
        [sys.executable, "-m", "pytest", *OURS, "--phase=green", "-v"],
        cwd=sample.root,
        env={**os.environ, "SLOW": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while not (sample.root / "slow.txt").exists():
            assert slow.poll() is None, slow.communicate()
            time.sleep(0.02)
        fast = sample.pytest_process("--phase=green", "-v")
    finally:
        (sample.root / "go.txt").touch()
        out = slow.communicate(timeout=120)[0]
    assert (fast.code, slow.returncode) == (10, 10)
    assert fast.has("another run of this task was open at the same time")
    assert "another run of this task was open at the same time" in out
    assert status(sample)["streak"] == 0
    assert [run["kind"] for run in sample.runs()] == ["complete"] * 3


WAIT = """\
if os.environ.get("SLOW"):
        open("slow.txt", "w").close()
        while not os.path.exists("go.txt"):
            time.sleep(0.01)"""


@pytest.mark.criterion("DC-02")
def test_who_can_not_get_the_lock_records_nothing_and_says_so(sample: Sample) -> None:
    sample.write({"phase-gate.yaml": "lock_timeout: 0.1\n", "test_steps.py": step_tests(2)})
    assert sample.pytest("--phase=red").code == 0
    before = ledger(sample)
    with hold_lock(sample.root / ".phase-gate" / "state.json.lock", command="a test that holds it"):
        ran = sample.pytest_process("--phase=red")
        signal = sample.gate("signal", "--reason", "both fail")
    assert (ran.code, signal.code) == (11, 11)
    assert ran.has("2 failed", "nothing recorded, the gate is closed", "state.json.lock was not free within 0.1 s")
    assert ran.has(f"held by pid {os.getpid()}", "a test that holds it", "[lock-timeout]")
    assert signal.has("[lock-timeout]")
    assert ledger(sample) == before
    assert sample.pytest("--phase=red").code == 0


# --- DC-03 -------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.criterion("DC-03")
@pytest.mark.parametrize("done", [pytest.param(0, id="gate-1-holds"), pytest.param(1, id="gate-1-closed")])
@pytest.mark.parametrize(
    ("text", "answer", "shown"),
    [
        pytest.param(None, "absent", "absent", id="no-file"),
        pytest.param("exit_signal: true\nreason: all fail\nby: alice\n", "done", "given", id="true"),
        pytest.param("exit_signal: false\nreason: one more\n", "not-done", "not done", id="false"),
        pytest.param("exit_signal: blocked\nreason: no key\n", "blocked", "blocked", id="blocked"),
        pytest.param("exit_signal: perhaps\n", "malformed", "malformed", id="malformed"),
        pytest.param("exit_signal: true\niteration: 7\n", "stale", "stale", id="stale"),
    ],
)
def test_gate_1_is_reported_next_to_the_signal_file(
    sample: Sample, done: int, text: str | None, answer: str, shown: str
) -> None:
    sample.write(test_steps=step_tests(2), steps=steps(done))
    if text is not None:
        leave_signal(sample, text)
    ran, verdict = judge(sample, "--phase=red", "--phase-exit=dual", "--phase-report=verdict.md")
    assert ran.code == (0 if (done, answer) == (0, "done") else 10)
    gate_1 = "closed" if done else "open"
    lines = ran.out.splitlines()
    first = next(line for line in lines if line.startswith("Gate 1  "))
    second = next(line for line in lines if line.startswith("Gate 2  "))
    assert first.split("failing")[1].strip() == gate_1
    assert second.split("signal")[1].strip() == shown
    assert lines.index(first) < lines.index(second)
    assert (verdict["gate_1"]["satisfied"], verdict["gate_2"]["answer"]) == (not done, answer)
    if text is not None and "reason" in text:
        assert verdict["gate_2"]["reason"] in ran.out
        assert verdict["gate_2"]["reason"]
    markdown = (sample.root / "verdict.md").read_text(encoding="utf-8")
    assert f"| Gate 1: Tests generated and failing | | {gate_1} |" in markdown
    assert f"Gate 2, explicit exit signal: **{shown}**" in markdown


# --- DC-04 -------------------------------------------------------------------------------------------------------


def comparable(verdict: Any) -> Any:
    """Return a verdict without what differs between any two runs."""
    left_out = ("run", "task", "next_command", "timestamp")
    named = json.loads(json.dumps(verdict).replace(f"--task {verdict['task']}", "--task NAME"))
    rest = {name: value for name, value in named.items() if name not in left_out}
    rest["metrics"] = {name: value for name, value in rest["metrics"].items() if name != "duration_s"}
    return rest


@pytest.mark.sweep
@pytest.mark.sampled(3)
@pytest.mark.criterion("DC-04")
@pytest.mark.parametrize(
    ("phase", "distribution"),
    [
        pytest.param("red", (), id="red"),
        pytest.param("green", (), id="green"),
        pytest.param("document", ("--dist=loadgroup",), id="document-by-group"),
    ],
)
def test_workers_give_the_same_numbers(sample: Sample, phase: str, distribution: tuple[str, ...]) -> None:
    write_kinds(sample, with_broken_module=phase == "red")
    sample.write(test_group='import pytest\n\n\n@pytest.mark.xdist_group("one")\ndef test_grouped():\n    pass\n')
    verdicts, counts, codes = [], [], []
    for task, workers in (("alone", ()), ("workers", ("-n", "2", *distribution))):
        arguments = (f"--phase={phase}", f"--phase-task={task}", f"--phase-report={task}.json", "-q", *DESELECT)
        ran = sample.pytest_process(*arguments, *workers, plugins=(*RERUNS, "xdist"))
        codes.append(ran.code)
        verdicts.append(comparable(sample.report(f"{task}.json")))
        counts.append(command(sample, "history", "--json", "--task", task).document["runs"][-1]["counts"])
        assert counts[-1] == summary_counts(ran.out)
    assert codes[0] == codes[1] == (10 if phase == "red" else 1)
    # With workers pytest's own summary does not know what they deselected; the metric does.
    assert counts[0] == {"deselected": 1, **counts[1]}
    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["metrics"]["tests_deselected"] == 1
    assert verdicts[0]["metrics"]["tests_flaky"] == 1


@pytest.mark.criterion("DC-04")
def test_a_streak_goes_on_with_workers_and_without(sample: Sample) -> None:
    leave_red(sample, 2).write(steps=steps(2))
    first = sample.pytest_process("--phase=green", "-n", "2", "-v", plugins=("xdist",))
    assert first.code == 10
    assert first.has("1 >= 2", "needs one more green run with no file changes")
    second = sample.pytest("--phase=green", "-v")
    assert second.code == 0
    assert second.has("2 >= 2", WAITS)


@pytest.mark.criterion("DC-04")
def test_a_refusal_reaches_the_exit_code_with_workers_too(sample: Sample) -> None:
    sample.write(test_steps=step_tests(2))
    sample.pytest("--phase=red")
    refused = sample.pytest_process("--phase=green", "-n", "2", plugins=("xdist",))
    assert refused.code == 13
    assert refused.has("GREEN can't begin: RED has not exited")
    assert len(sample.runs()) == 1


# --- DC-05 -------------------------------------------------------------------------------------------------------


def nothing(sample: Sample) -> None:
    pass


def all_written(sample: Sample) -> None:
    sample.write(steps=steps(2))


def one_missing(sample: Sample) -> None:
    sample.write(steps=steps(1))


def green_once(sample: Sample) -> None:
    sample.write(steps=steps(2))
    sample.pytest("--phase=green")


def tampered(sample: Sample) -> None:
    sample.write(steps=steps(2))
    sample.pytest("--phase=green")
    path = sample.root / ".phase-gate" / "ledger.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"can_exit":false', '"can_exit":true'), encoding="utf-8")


@pytest.mark.sampled(4)
@pytest.mark.criterion("DC-05")
@pytest.mark.parametrize(
    ("story", "arguments", "code", "said"),
    [
        pytest.param(all_written, ["--phase=green"], 10, "one more green run", id="gate-1-closed"),
        pytest.param(green_once, ["--phase=green"], 0, WAITS, id="gate-1-holds"),
        pytest.param(green_once, ["--phase=green", "--phase-exit=dual"], 10, WAITS, id="dual-without-a-signal"),
        pytest.param(
            green_once,
            ["--phase=green", "--phase-exit=dual", "--exit-signal=done"],
            0,
            "both gates are open: GREEN has exited",
            id="dual-with-a-signal",
        ),
        pytest.param(
            all_written, ["--phase=green", "--phase-exit=tests"], 0, "one more green run", id="tests-only-observes"
        ),
        pytest.param(one_missing, ["--phase=green"], 1, "1 of 2 tests fails", id="failing-tests-stay-1"),
        pytest.param(one_missing, ["--phase=green", "--phase-exit=tests"], 1, "1 of 2 tests fails", id="tests-failing"),
        pytest.param(all_written, ["--phase=green", "--phase-confirm"], 0, WAITS, id="confirmed-in-one-step"),
        pytest.param(all_written, ["--phase=refactor"], 13, "REFACTOR does not follow RED", id="phase-order"),
        pytest.param(all_written, ["--phase=blue"], 4, "unknown phase 'blue'", id="usage"),
        pytest.param(tampered, ["--phase=green"], 11, "its hash is wrong", id="tampered"),
        pytest.param(nothing, ["--phase=red"], 0, WAITS, id="failing-tests-are-what-red-wants"),
        pytest.param(nothing, ["--phase=red", "--phase-exit=tests"], 1, WAITS, id="red-only-observed"),
    ],
)
def test_the_exit_code_of_a_run_means_the_gate(
    sample: Sample, story: Callable[[Sample], None], arguments: list[str], code: int, said: str
) -> None:
    sample.environment.setenv("CI", "true")
    leave_red(sample, 2)
    story(sample)
    ran = sample.pytest_process(*arguments, "-v")
    assert ran.code == code
    assert ran.has(said)


@pytest.mark.sampled(3)
@pytest.mark.criterion("DC-05")
@pytest.mark.parametrize(
    ("story", "arguments", "code", "said"),
    [
        pytest.param([], [], 10, "no run is recorded yet", id="nothing-ran"),
        pytest.param(["--phase=red"], [], 10, WAITS, id="signal-missing"),
        pytest.param(["--phase=red"], ["--gate1"], 0, "RED: open", id="gate-1-alone"),
        pytest.param(["--phase=red", "--exit-signal=done"], [], 0, "both gates are open", id="both-gates"),
        pytest.param(
            ["--phase=red", "--phase-criteria=3"], ["--gate1"], 10, "2 tests for 3 criteria", id="gate-1-closed"
        ),
        pytest.param(
            ["--phase=red", "-k", "no_such_step"], ["--gate1"], 10, "no complete run in RED", id="no-test-ran"
        ),
    ],
)
def test_the_exit_code_of_check_means_the_gate(
    sample: Sample, story: list[str], arguments: list[str], code: int, said: str
) -> None:
    sample.environment.setenv("CI", "true")
    sample.write(test_steps=step_tests(2))
    if story:
        sample.pytest(*story)
    before = (sample.root / ".phase-gate" / "ledger.jsonl").read_bytes() if story else b""
    check = sample.gate("check", *arguments)
    assert check.code == code
    assert check.has(said, "next: ")
    # It only looks.
    assert not story or (sample.root / ".phase-gate" / "ledger.jsonl").read_bytes() == before


# --- DC-06 -------------------------------------------------------------------------------------------------------


@pytest.mark.criterion("DC-06")
def test_a_session_from_an_empty_folder_without_configuration(sample: Sample) -> None:
    assert list(sample.root.iterdir()) == []
    assert sample.gate("status").has("no run is recorded yet", "pytest --phase=red")

    sample.write(test_steps=step_tests(2))
    red = sample.pytest_process("--phase=red", "-v")
    assert red.code == 0
    assert red.has("Gate 1  Tests generated and failing", "open", 'next    phase-gate signal --reason "..."')
    signal = sample.gate("signal", "--reason", "two steps, two failing tests", "-v")
    assert signal.code == 0
    assert signal.has("both gates are open: RED has exited", "next    pytest --phase=green")

    sample.write(steps=steps(2))
    first = sample.pytest_process("--phase=green", "-v")
    assert first.code == 10
    assert first.has("verdict go on: needs one more green run with no file changes", "1 >= 2")
    second = sample.pytest_process("--phase=green", "-v")
    assert second.code == 0
    assert second.has(WAITS, "2 >= 2")
    assert sample.gate("signal", "--reason", "both pass", "-v").has("both gates are open: GREEN has exited")

    sample.write(steps=f'"""Tidy steps."""\n\n{steps(2)}')
    refactor = sample.pytest_process("--phase=refactor", "-v")
    assert refactor.code == 10
    assert refactor.has('next    phase-gate declare refactoring_complete=true --reason "..."')
    assert sample.gate("declare", "refactoring_complete=true", "--reason", "read it again").code == 0
    done = sample.gate("signal", "--reason", "tidy", "-v")
    assert done.code == 0
    assert done.has("both gates are open: REFACTOR has exited", "or pytest --phase=red for the next cycle")

    now = status(sample)
    assert (now["phase"], now["exited"], now["workflow"], now["cycle"]) == ("REFACTOR", True, "tdd", 1)
    assert Path(now["root"]) == sample.root
    # Nothing was put into the project but the state folder, which git does not see.
    assert {path.name for path in sample.root.iterdir()} == {".phase-gate", "steps.py", "test_steps.py"}
    assert (sample.root / ".phase-gate" / ".gitignore").read_text(encoding="utf-8").splitlines()[-1] == "*"
    exits = [line["data"]["phase"] for line in ledger(sample) if line["kind"] == "phase-exited"]
    assert exits == ["RED", "GREEN", "REFACTOR"]


@pytest.mark.criterion("DC-06")
def test_the_next_cycle_asks_for_a_new_failing_test(sample: Sample) -> None:
    leave_red(sample, 1).write(steps=steps(1))
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=passes", "--phase-exit=dual").code == 0
    ran, verdict = judge(sample, "--phase=red")
    assert (ran.code, verdict["cycle"]) == (10, 2)
    assert verdict["reason"] == "no new or changed test: write the test for this step first"
    sample.write(test_steps=step_tests(2))
    ran, verdict = judge(sample, "--phase=red")
    assert (ran.code, verdict["metrics"]["tests_total"], verdict["metrics"]["suite_total"]) == (0, 1, 2)


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


def extended(sample: Sample, coverage: str) -> Sample:
    return sample.write(
        {
            "conftest.py": CONFTEST,
            "phase-gate.yaml": CONFIGURATION,
            "short.yaml": SHORT,
            "coverage.txt": coverage,
            "test_steps.py": step_tests(2),
        }
    )


@pytest.mark.criterion("DC-07")
def test_hooks_of_a_conftest_measure_and_guard(sample: Sample) -> None:
    extended(sample, "79.5")
    ran, verdict = judge(sample, "--phase=red")
    assert ran.code == 10
    assert unmet_guards(verdict) == ["well-covered"]
    assert verdict["reason"] == "well-covered: only 79.5 percent are covered"
    assert verdict["next_hint"] == "cover the rest"
    assert ran.has("guard   well-covered: only 79.5 percent are covered")
    assert (verdict["metrics"]["coverage_percent"], verdict["metrics"]["measured_in"]) == (79.5, "RED")
    # A signal that comes later is judged by the same rules, though the command loads no conftest.
    signal = command(sample, "signal", "--reason", "both fail", "-v")
    assert signal.code == 10
    assert signal.has("well-covered: only 79.5 percent are covered")

    sample.write({"coverage.txt": "80"})
    ran, verdict = judge(sample, "--phase=red")
    assert (ran.code, unmet_guards(verdict), verdict["reason"]) == (0, [], WAITS)

    sample.write({"coverage.txt": "101"})
    ran, verdict = judge(sample, "--phase=red")
    assert (ran.code, unmet_clauses(verdict)) == (10, ["coverage_percent <= 100"])
    assert verdict["reason"] == "coverage_percent <= 100 is not met (101.0)"


@pytest.mark.sweep
@pytest.mark.criterion("DC-07")
def test_a_hook_is_told_each_verdict(sample: Sample) -> None:
    extended(sample, "90")
    given = [judge(sample, "--phase=red", *more)[1] for more in ((), ("-k", "step_1"), ("--exit-signal=both fail",))]
    seen = [json.loads(line) for line in (sample.root / "seen.jsonl").read_text(encoding="utf-8").splitlines()]
    assert seen == given
    assert [verdict["can_exit"] for verdict in seen] == [False, False, True]


@pytest.mark.criterion("DC-07")
def test_a_hook_offers_a_workflow(sample: Sample) -> None:
    extended(sample, "90").write({"phase-gate.yaml": "metrics: {coverage_percent: number, measured_in: text}\n"})
    ran, verdict = judge(sample, "--phase=spike", "--phase-workflow=short", "--exit-signal=it fails")
    assert ran.code == 0
    assert ran.has("Gate 1  Something fails", "both gates are open: SPIKE has exited, the cycle is done")
    assert (verdict["phase"], verdict["gate_1"]["condition"]) == ("SPIKE", "tests_failing > 0")
    assert status(sample)["workflow"] == "short"


@pytest.mark.sampled(3)
@pytest.mark.criterion("DC-07")
@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param('raise RuntimeError("no tool")', "are unknown: RuntimeError: no tool", id="raises"),
        pytest.param('return {"coverage_percent": "90"}', "'coverage_percent' of", id="wrong-type"),
        pytest.param("return {}", "", id="measures-nothing"),
        pytest.param("return None", "", id="gives-nothing"),
        pytest.param("return 90", "", id="no-mapping"),
        pytest.param('return {"coverage_percent": float("nan")}', "", id="not-a-number"),
    ],
)
def test_what_a_hook_does_not_measure_is_unknown_and_closes_the_gate(sample: Sample, source: str, said: str) -> None:
    sample.write(
        {
            "conftest.py": f"def pytest_phase_gate_metrics():\n    {source}\n",
            "phase-gate.yaml": COVERAGE_IS_MEASURED,
            "test_steps.py": step_tests(1),
        }
    )
    ran, verdict = judge(sample, "--phase=red")
    assert ran.code == 10
    assert unmet_clauses(verdict) == ["coverage_percent > 0"]
    assert verdict["reason"] == "not measured: coverage_percent"
    assert ran.has("1 failed", "not measured", said)


@pytest.mark.criterion("DC-07")
def test_a_guard_of_what_nobody_declares_is_refused(sample: Sample) -> None:
    guard = '{"mine": {"condition": "no_such_name > 0", "remedy": "measure it"}}'
    sample.write(
        {
            "conftest.py": f"def pytest_phase_gate_guards():\n    return {guard}\n",
            "phase-gate.yaml": "phases: {RED: {guards: [mine]}}\n",
            "test_steps.py": step_tests(1),
        }
    )
    ran = sample.pytest("--phase=red")
    assert ran.code == 4
    assert ran.has("guard 'mine' of a plugin: unknown name 'no_such_name'", "[bad-workflow]", "try: ")
    assert not (sample.root / ".phase-gate").exists()


@pytest.mark.criterion("DC-07")
def test_two_hooks_that_disagree_make_a_metric_unknown(sample: Sample) -> None:
    sample.write(
        {
            "conftest.py": "def pytest_phase_gate_metrics():\n    return {'coverage_percent': 90}\n",
            "other.py": "def pytest_phase_gate_metrics():\n    return {'coverage_percent': 91}\n",
            "phase-gate.yaml": COVERAGE_IS_MEASURED,
            "test_steps.py": step_tests(1),
        }
    )
    sample.environment.syspath_prepend(sample.root)
    ran, verdict = judge(sample, "--phase=red", plugins=("other",))
    assert (ran.code, verdict["reason"]) == (10, "not measured: coverage_percent")
    assert "has two values" in " ".join(verdict["warnings"])


@pytest.mark.criterion("DC-07")
def test_a_hook_that_fails_after_the_verdict_changes_nothing(sample: Sample) -> None:
    sample.write(
        conftest="def pytest_phase_gate_evaluated(evaluation):\n    evaluation.clear()\n    raise OSError('no net')\n",
        test_steps=step_tests(1),
    )
    ran, verdict = judge(sample, "--phase=red", "--exit-signal=it fails", "--phase-exit=dual")
    assert (ran.code, verdict["can_exit"]) == (0, True)
    assert ran.has("pytest_phase_gate_evaluated of", "raised OSError: no net")
    assert command(sample, "check").code == 0


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
    ("hook", "said"),
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
            'def pytest_phase_gate_guards():\n    return {"mine": {"condition": "tests_total > 0"}}\n',
            "guard 'mine' has no",
            id="guard-without-a-remedy",
        ),
        pytest.param(
            'def pytest_phase_gate_guards():\n    return {"mine": {"condition": "tests_total >", "remedy": "x"}}\n',
            "conftest.py: guard 'mine': column 14",
            id="guard-that-can-not-be-parsed",
        ),
        pytest.param(
            "def pytest_phase_gate_guards():\n    raise OSError('gone')\n", "raised OSError: gone", id="raises"
        ),
        pytest.param(
            "def pytest_phase_gate_guards():\n    return [1]\n", "list is no mapping of names", id="no-mapping"
        ),
    ],
)
def test_an_offer_that_can_not_be_used_is_refused_before_any_test_runs(sample: Sample, hook: str, said: str) -> None:
    """A name that is taken already, above all: otherwise a conftest could put its own gate in a shipped one's place."""
    sample.write({"conftest.py": hook, "lax.yaml": LAX, "test_steps.py": step_tests(1), "steps.py": steps(1)})
    ran: Ran = sample.pytest("--phase=red")
    assert ran.code == 4
    assert ran.has(said, "[bad-workflow]", "try: ")
    assert not (sample.root / ".phase-gate").exists()
