"""What a run of the verify command is worth: how many tests ran, what failed, what became of older tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any

import pytest
import yaml

from phase_gate.errors import MovedError
from phase_gate.tasks.verify_run import count_tests_in, first_failures
from tests.stores.in_memory import InMemoryStore, Server
from tests.support import OURS, Project
from tests.tasks.fleet import Fleet, part
from tests.tasks.verifying import NAME, RIGHT, TASK, WRONG, Gate, python


@pytest.mark.parametrize(
    ("output", "count"),
    [
        pytest.param("===== 5 passed in 0.12s =====", 5, id="pytest"),
        pytest.param("5 passed, 1 warning in 0.12s", 5, id="pytest-q"),
        pytest.param(
            "= 2 failed, 3 passed, 4 skipped, 1 xfailed, 9 deselected in 61.20s (0:01:01) =", 6, id="pytest-mix"
        ),
        pytest.param("===== 3 skipped in 0.01s =====", 0, id="pytest-skips"),
        pytest.param("===== 1 error in 0.01s =====", 0, id="pytest-error"),
        pytest.param("===== no tests ran in 0.01s =====", 0, id="pytest-none"),
        pytest.param("no tests collected (3 deselected) in 0.01s", 0, id="pytest-deselected"),
        pytest.param("\x1b[32m===== \x1b[1m5 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m =====", 5, id="pytest-colours"),
        pytest.param("1 passed in 0.1s\n2 passed in 0.2s", 3, id="two-runs"),
        pytest.param("Ran 5 tests in 0.001s\n\nOK", 5, id="unittest"),
        pytest.param("Ran 1 test in 0.001s\n\nFAILED (failures=1)", 1, id="unittest-one"),
        pytest.param("Ran 5 tests in 0.001s\n\nOK (skipped=5)", 0, id="unittest-skips"),
        pytest.param("Ran 5 tests in 0.001s\n\nFAILED (failures=1, skipped=2)", 3, id="unittest-mix"),
        pytest.param("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 0, id="unittest-none"),
        pytest.param("BUILD SUCCESSFUL in 3s", None, id="gradle-says-nothing"),
        pytest.param(f"{'9' * 5000} passed in 0.1s", 999_999_999, id="too-many-digits"),
        pytest.param("", None, id="nothing"),
        pytest.param("all 5 tests passed, I promise", None, id="talk"),
        pytest.param("we have 0 tests", None, id="talk-of-none"),
    ],
)
def test_what_a_runner_says(output: str, count: int | None) -> None:
    assert count_tests_in(output) == count
    assert count_tests_in(f"before\n{output}\nafter\n".replace("\n", "\r\n")) == count


#: By any other runner.
NONE = [
    "Tests:       0 total",
    "No tests found, exiting with code 0",
    "No test files found in src/",
    "  0 passing (1ms)",
    "0 examples, 0 failures",
    "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 7 filtered out",
    "0 tests passed, 0 failed",
    "collected 0 items / 3 deselected",
    "Total tests: 0",
    "Tests run: 0, failures 0",
    "There are no tests to run",
    "[INFO] No tests were executed",
    "@scope/web: no tests found",
    "tests=0 failures=0 errors=0",
    "3 tests skipped\n0 tests passed",
]
#: Honest outputs that come near.
SOME = [
    "0 tests failed",
    "10 tests, 0 failures",
    "no tests were skipped",
    "No test failures",
    "Found 0 errors in 12 files",
    "Tests: 0 failed, 5 passed",
    "we have 0 tests",
    "web:test: No tests found\napi:test: 12 tests passed",
    "1..12\nok 1 - adds",
    "PASS src/a.test.js\nNo tests found in src/b",
    "no tests depend on the network",
    "test a ... ok\nNo tests found in b",
    "All tests passed (0 failures)",
]


@pytest.mark.parametrize("output", NONE)
def test_any_runner_may_say_that_it_ran_none(output: str) -> None:
    assert count_tests_in(output) == 0
    assert count_tests_in(f"begin\n{output.upper()}\nend\n".replace("\n", "\r\n")) == 0


@pytest.mark.parametrize("output", SOME)
def test_what_only_sounds_like_it_is_left_alone(output: str) -> None:
    assert count_tests_in(output) != 0
    assert count_tests_in(f"begin\n{output}\nend\n".replace("\n", "\r\n")) != 0


UNITTEST = """\
F.E
======================================================================
ERROR: test_load (test_a.T.test_load)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_a.py", line 9, in test_load
    load()
FileNotFoundError: no such file: x
with a second line

======================================================================
FAIL: test_f (test_a.T.test_f) (row=2)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_a.py", line 5, in test_f
    self.assertEqual(f(), 1)
AssertionError: 0 != 1

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""

NAMED = ("ERROR: test_load (test_a.T.test_load)", "FAIL: test_f (test_a.T.test_f) (row=2)")


@pytest.mark.parametrize(
    ("output", "named"),
    [
        pytest.param(UNITTEST, NAMED, id="unittest"),
        pytest.param("FAIL\tm [build failed]\n", ("FAIL\tm [build failed]",), id="go-build"),
        pytest.param(
            "FAILED a.py::test_x - assert 0\n1 failed in 0.01s\n", ("FAILED a.py::test_x - assert 0",), id="pytest"
        ),
        pytest.param("one\ntwo\nthree\nfour\n", ("two", "three", "four"), id="last-lines"),
    ],
)
def test_failures_are_named(output: str, named: tuple[str, ...]) -> None:
    assert first_failures(output) == named


@pytest.mark.processes
@pytest.mark.criterion("VG-04")
def test_we_run_the_command_and_keep_all_of_it(gate: Gate) -> None:
    gate.start(
        verify=python("""-c 'import sys; print("5 tests passed"); print("warned", file=sys.stderr); import check'""")
    )
    assert gate.work().code == 0
    verify = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]
    assert verify["command"].endswith("import check'")
    assert (verify["exit_code"], verify["how"]) == (0, "ended")
    assert "5 tests passed" in verify["output"]
    assert verify["duration_ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", verify["timestamp"])
    _, ran = (line["data"]["check"] for line in gate.ledger() if line["kind"] == "verify-ran")
    assert ran["output"], "both streams are an object of the ledger"


@pytest.mark.processes
@pytest.mark.criterion("VG-05", "VG-10")
def test_the_exit_code_counts_and_not_the_claim(gate: Gate) -> None:
    gate.project.write(planner=WRONG)
    gate.start()
    gate.executor(gate.result(evidence="all tests pass"))
    ran = gate.verify()
    assert ran.code == 10
    assert ran.has("the executor claims exit code 0; measured, it is 1")
    assert (gate.state, gate.failures) == ("FAILED", ["VERIFY_FAILURE"])


@pytest.mark.processes
@pytest.mark.sweep
@pytest.mark.criterion("VG-13", "VG-11", "VG-32")
def test_a_verify_command_that_takes_too_long_is_ended_with_its_children(gate: Gate) -> None:
    sleeps = "import time; time.sleep(60)"
    child = (
        f"import subprocess, sys\nprint('half way', flush=True)\nsubprocess.run([sys.executable, '-c', '{sleeps}'])\n"
    )
    gate.project.write({"slow.py": child})
    gate.start(verify=python("slow.py"), timeouts={"verify": 1})
    ran = gate.work()
    assert ran.code == 10
    assert (gate.state, gate.failures) == ("FAILED", ["TIMEOUT"])
    assert "half way" in gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]["output"], (
        "what it printed is kept"
    )
    assert gate.call("verify", "show").has(
        "TIMEOUT:",
        "- half way",
        "1. Retry with an extended time-out: up to 300 s for the verify step, 30 minutes for the whole gate",
        "2. Manual intervention",
        "3. Skip with a warning",
    )
    assert gate.executor().has("a time-out is retried after 30 s")
    gate.wait(31)
    assert gate.executor().code == 0, "on the same files"
    began = [line["data"] for line in gate.ledger() if line["kind"] == "attempt-began"]
    assert began[-1]["limits"]["verify"] == 2, "and with more time"


@pytest.mark.processes
@pytest.mark.criterion("VG-32")
def test_the_whole_gate_has_thirty_minutes(gate: Gate) -> None:
    gate.start(timeouts={"executor": 900})
    gate.wait(890)
    gate.executor()
    gate.wait(920)
    assert gate.verify().has("TIMEOUT: the gate's 1800 s are over")


@pytest.mark.processes
@pytest.mark.criterion("VG-25")
@pytest.mark.parametrize(
    "output",
    ["Ran 0 tests in 0.000s\\n\\nOK", "no tests ran in 0.01s", "Tests:       0 total", "0 tests passed"],
    ids=["unittest", "pytest", "jest", "unknown"],
)
def test_zero_tests_with_exit_code_zero_are_refused(gate: Gate, output: str) -> None:
    gate.project.write({"run.py": f"print({output!r}.replace('\\\\n', chr(10)))\n"})
    gate.start(verify=python("run.py"))
    ran = gate.work()
    assert ran.code == 10, ran
    assert ran.has("ended with 0 and proves nothing: it ended with 0 and ran no test")
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.processes
@pytest.mark.criterion("VG-26", "VG-37")
def test_a_flaky_verify_runs_twice_only_where_declared_and_stands_in_state_md(gate: Gate) -> None:
    gate.project.write(
        {"shaky.py": "import os\nif not os.path.exists('seen'): open('seen', 'w'); exit(1)\nimport check\n"}
    )
    flaky = {"flaky": "accepted", "flaky_reason": "the clock jumps"}
    gate.reviewing(verify=python("shaky.py"), **flaky)
    ran = gate.review(gate.verdict(concerns=["3 warnings should be addressed"]))
    assert ran.has("approved by ann (weak)")
    gate.start(document=gate.task(name="Task 4: Other", files=["other.py"]))
    (block,) = re.findall(r"```yaml\n(.*?)```", gate.state_file, re.DOTALL)
    (row,) = yaml.safe_load(block)["concerns"]
    assert row["task"] == NAME
    flaky_once = "flaky: it ended with 1 first, and passed in a second run"
    assert row["because"] == ["concern: 3 warnings should be addressed", flaky_once]


@pytest.mark.processes
@pytest.mark.criterion("VG-37")
def test_a_known_test_that_was_emptied_makes_the_pass_weak(gate: Gate) -> None:
    gate.in_git(planner=WRONG)
    begin_pytest(gate)
    gate.project.write({"planner.py": WRONG, "test_planner.py": TESTS.replace("planner_id() == 42", "True")})
    ran = gate.verify()
    assert ran.code == 0, ran
    assert ran.has("Weak     changed since the task was taken: test_planner.py::test_id")
    assert gate.review().has("approved by ann (weak)")


PYTEST = "-m pytest -q " + " ".join(OURS)


TESTS = """\
from planner import planner_id


def test_id():
    assert planner_id() == 42


def test_type():
    assert isinstance(planner_id(), int)
"""


def begin_pytest(gate: Gate, tests: str = TESTS, *, arguments: str = "test_planner.py") -> None:
    gate.project.write({"test_planner.py": tests})
    files = ["planner.py", "test_planner.py", "conftest.py"]
    ran = gate.start(files=files, verify=python(f"{PYTEST} {arguments}"))
    assert ran.code == 0, ran
    gate.executor()


@pytest.mark.processes
@pytest.mark.criterion("VG-04", "VG-08")
def test_a_run_of_pytest_is_evidence_of_the_task(gate: Gate) -> None:
    begin_pytest(gate)
    assert gate.verify().code == 0
    verify = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]
    assert verify["tests"] == 2
    (run,) = gate.json("history", "--task", TASK)["runs"]
    assert verify["runs"] == [run["id"]]
    assert (run["kind"], run["counts"]) == ("complete", {"passed": 2})
    assert gate.json("history")["runs"] == [], "and of no other one"
    assert gate.review().code == 0


@pytest.mark.processes
@pytest.mark.sampled(4)
@pytest.mark.criterion("VG-25")
@pytest.mark.parametrize(
    ("tests", "said"),
    [
        pytest.param(TESTS.replace("def test", "def no_test"), "ended with 5", id="no-test"),
        pytest.param(
            "import pytest\n\npytestmark = pytest.mark.skip\n\n\ndef test_id():\n    pass\n", "no test ran", id="skips"
        ),
        pytest.param(
            TESTS.split("\n\n\ndef test_type")[0] + "\n", "1 test known when the task was taken", id="dropped"
        ),
        pytest.param(
            TESTS.replace("def test_type", "@__import__('pytest').mark.skip\ndef test_type"),
            "1 test newly skipped",
            id="newly-skipped",
        ),
    ],
)
def test_a_run_of_pytest_that_proves_less_is_refused(gate: Gate, tests: str, said: str) -> None:
    begin_pytest(gate)
    gate.project.write({"test_planner.py": tests})
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has(said)
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.processes
@pytest.mark.sweep
@pytest.mark.criterion("VG-25")
def test_outcomes_that_are_not_the_tests_own_are_refused(gate: Gate) -> None:
    begin_pytest(gate)
    gate.project.write({"planner.py": WRONG})
    gate.project.write(
        {
            "conftest.py": "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
            "    done = yield\n    done.get_result().outcome = 'passed'\n"
        }
    )
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has("proves nothing", "that an outcome is not the test's own")
    assert gate.failures == ["VERIFY_FAILURE"]


@pytest.mark.processes
@pytest.mark.sweep
@pytest.mark.criterion("VG-25")
def test_a_pytest_that_hides_from_us_proves_nothing(gate: Gate) -> None:
    begin_pytest(gate)
    gate.project.write({"conftest.py": "import os\n\nos._exit(print('2 passed in 0.01s', flush=True) or 0)\n"})
    ran = gate.verify()
    assert ran.code == 10, ran
    assert ran.has("this run was not recorded")


@pytest.mark.processes
@pytest.mark.criterion("VG-04")
def test_an_interrupted_verify_run_is_recorded_and_may_be_run_again(gate: Gate) -> None:
    gate.project.write({"slow.py": "import os, sys, time\nos.kill(int(sys.argv[1]), 15)\ntime.sleep(30)\n"})
    gate.start(verify=python("slow.py $PPID"), files=["planner.py", "slow.py"])
    gate.executor()
    ran = gate.project.gate("verify", "run", "--task", TASK)
    assert ran.code != 0
    assert ran.has("interrupted")
    assert gate.status()["verify_status"] == "interrupted"
    assert gate.state == "VERIFYING"
    gate.project.write({"slow.py": "import check\n"})
    assert gate.project.gate("verify", "run").code == 0


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_verify_run_that_is_killed_is_recorded_as_interrupted_by_the_next_command(gate: Gate) -> None:
    gate.project.write({"slow.py": "import time\nprint('it runs', flush=True)\ntime.sleep(60)\n"})
    gate.start(verify=python("slow.py"), files=["planner.py", "slow.py"])
    gate.executor()
    process = subprocess.Popen(
        [sys.executable, "-m", "phase_gate.cli", "verify", "run"], cwd=gate.root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "it runs\n"
    second = gate.verify()
    assert second.code == 13
    assert second.has("is running since")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert gate.call("verify", "status", "--task", TASK).has("the verify run was killed")
    gate.project.write({"slow.py": "import check\n"})
    assert gate.verify().code == 0
    ends = [line["data"]["check"]["how"] for line in gate.ledger() if line["kind"] == "verify-ran"]
    assert ends == ["running", "interrupted", "running", "ended"]
    assert gate.review().code == 0


@pytest.mark.processes
def test_the_steps_of_a_list_are_run_one_by_one(gate: Gate) -> None:
    gate.project.write({"first.py": "print('first', flush=True)\n", "planner.py": WRONG})
    gate.start(verify=" && ".join(map(python, ("first.py", "check.py", '-c \'open("last", "w")\''))))
    ran = gate.work()
    assert ran.code == 10
    assert ran.has("ended with 1: FAILED test_planner.py::test_id")
    assert not (gate.root / "last").exists()
    assert gate.work(planner=RIGHT).code == 0
    output = gate.json("verify", "status", "--task", TASK)["gate_result"]["verify"]["output"]
    assert output.splitlines() == ["first", "5 tests passed"]
    assert (gate.root / "last").exists()


@pytest.mark.processes
def test_an_end_that_came_second_is_recorded_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(project, monkeypatch, Server())
    project.write({"write.py": "open('part_1.py', 'a').write('# more\\n')\nprint('1 tests passed')\n"})
    machine = fleet.machine()
    machine.take_list(part(1, verify=python("write.py")))
    machine.next("ann")
    machine.report("part-1", "ann")
    append = InMemoryStore.append
    losses: list[str] = []

    def lose_once(store: InMemoryStore, *given: Any) -> None:
        if b'"how":"ended"' in given[3] and not losses:
            losses.append(given[0])
            raise MovedError("another machine was first", remedy="try again")
        append(store, *given)

    monkeypatch.setattr(InMemoryStore, "append", lose_once)
    assert machine.verify("part-1").code == 0
    assert losses == ["part-1"]
    flags = machine.status("part-1")["weak_because"]
    assert [each for each in flags if "while it ran" in each] == ["files changed while it ran: part_1.py"]
