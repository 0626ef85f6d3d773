"""`--phase-confirm-room`: the further green run is made in the room with the frozen tests, newer tests beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.proof.cheat import INI, MENDS, RED, TEST, TEST_FILE
from tests.proof.stories import ADD
from tests.proof.test_room import has_ended
from tests.support import OURS, Ran, Sample

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]

CONFIRM = ("--phase=green", "--phase-confirm-room")
LATE = "import calc\n\n\ndef test_late():\n    assert calc.add(2, 2) == 4\n"

#: What Python does at the start of each process: no proofs, which start pytest four times and more; nothing is mounted.
UNPROVEN = """\
import sys
import types

import phase_gate.evidence.gathering as gathering

unproven = sys.modules["unproven"] = types.ModuleType("unproven")
unproven.prove = lambda *given, **named: None
gathering.PROVER = "unproven"
"""
#: Nothing is compared with its bytecode.
BLIND = """\
import phase_gate.recording.tamper.bytecode as bytecode

bytecode.BytecodeWitness.look = lambda *given, **named: iter(())
"""
COPIES = "import phase_gate.rooms.room as room\n\nroom._refused.add('mounted')\n"


def begin_with(sample: Sample, code: str) -> None:
    """Have every Python begin with this code."""
    folder = sample.root.parent / f"{sample.root.name}-start"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    sample.environment.setenv("PYTHONPATH", os.pathsep.join((str(folder), os.environ["PYTHONPATH"])))


@pytest.fixture
def unproven(sample: Sample) -> Sample:
    """A project in which no proofs are made."""
    begin_with(sample, UNPROVEN)
    return sample


def step(sample: Sample, files: Mapping[str, str] = RED, /, **green: str) -> Sample:
    """Have RED exit, and write what comes then."""
    sample.write(files)
    red = sample.pytest_process("--phase=red", "--exit-signal=red")
    assert red.code == 0, red.out
    return sample.write({"calc.py": ADD, **{name.replace("__", "/") + ".py": text for name, text in green.items()}})


def last_run(sample: Sample) -> dict[str, Any]:
    return sample.runs()[-1]


# --- honest steps


@pytest.mark.usefixtures("with_proof")
@pytest.mark.parametrize("kind", ["mounted", "copied"])
def test_an_honest_step_opens_with_newer_tests_beside_the_room(sample: Sample, kind: str) -> None:
    begin_with(sample, COPIES if kind == "copied" else "")
    step(sample, tests__test_late=LATE)
    words = ("--exit-signal=done", "--phase-report=verdict.json", TEST_FILE, "tests/test_late.py")
    ran = sample.pytest_process(*CONFIRM, *words)
    assert ran.code == 0, ran.out + ran.err
    ran.has(
        "phase gate: GREEN, in the room with the frozen tests",
        "phase gate: GREEN, beside the room: tests that it does not have",
        "Run      in the room with the frozen tests (1), beside it 1 newer",
        "Proof    1 of 1 target",
        "GREEN has exited",
    )
    verdict = sample.report()
    assert (verdict["metrics"]["tests_in_room"], verdict["metrics"]["tests_beside_room"]) == (1, 1)
    assert (verdict["metrics"]["suite_passing"], verdict["can_exit"]) == (2, True)
    assert [run["kind"] for run in sample.runs()] == ["complete"] * 3
    assert sample.gate("history").has("(in the room with the frozen tests (1), beside it 1 newer)")
    assert sample.gate("report").has("Last run: in the room with the frozen tests (1), beside it 1 newer")
    assert sample.gate("check").code == 0


@pytest.mark.sweep
def test_a_room_that_has_all_tests_needs_none_outside_and_refactor_has_one_too(unproven: Sample) -> None:
    unproven.write({"phase-gate.yaml": "run: {confirm: room}\n"})
    ran = step(unproven).pytest_process("--phase=green", "--exit-signal=done")
    assert ran.code == 0, ran.out + ran.err
    assert "beside" not in ran.out
    ran.has("Run      in the room with the frozen tests (1)", "GREEN has exited")
    unproven.write(calc="def add(a, b):\n    return sum((a, b))\n")
    unproven.pytest_process("--phase=refactor", "--phase-confirm").has("Run      in the room with the frozen tests (1)")


@pytest.mark.sweep
def test_workers_coverage_and_a_random_order_work_in_the_room(unproven: Sample) -> None:
    step(unproven, tests__test_late=LATE)
    words = ("-n2", "--cov=calc", "--cov-fail-under=90", "--junitxml=report.xml", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", *CONFIRM, *words)
    ran = unproven.process(*command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="")
    assert ran.code == 0, ran.out + ran.err
    ran.has("Run      in the room with the frozen tests (1), beside it 1 newer", "--randomly-seed")
    # Reports are those of the first run, which was whole.
    assert 'tests="2"' in (unproven.root / "report.xml").read_text(encoding="utf-8")


@pytest.mark.sweep
def test_a_file_that_frozen_tests_ask_for_is_laid_in_and_a_new_test_of_theirs_runs_beside(unproven: Sample) -> None:
    tests = "from tests.helping import one\n\nimport calc\n\n\ndef test_add():\n    assert calc.add(one(), 2) == 3\n"
    step(unproven, {**RED, TEST_FILE: tests, "tests/__init__.py": ""}, tests__helping="def one():\n    return 1\n")
    unproven.write({TEST_FILE: f"{tests}\n\ndef test_more():\n    assert calc.add(0, 1) == 1\n"})
    ran = unproven.pytest_process(*CONFIRM)
    assert ran.code == 0, ran.out + ran.err
    ran.has(
        "the tests in the room need files that came after RED: tests/helping.py",
        "Run      in the room with the frozen tests (1), beside it 1 newer",
    )


# --- what is not green


def test_a_new_file_that_mends_the_unit_is_refused_by_the_run(sample: Sample) -> None:
    step(sample).write({"calc.py": RED["calc.py"], "tests/test_also.py": f"{MENDS}\n\n{LATE}"})
    ran = sample.pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 1, ran.out + ran.err
    ran.has("1 test fails in the room, where only the frozen tests and the sources", "tests/test_calc.py::test_add")
    assert last_run(sample)["metrics"]["suite_failing"] == 1
    assert sample.gate("check").code == 10
    assert "two-outcomes" not in sample.gate("explain").out


@pytest.mark.sweep
def test_a_late_conftest_that_mends_the_unit_is_refused_by_the_run(sample: Sample) -> None:
    late = {"tests/later/conftest.py": MENDS, "tests/later/test_late.py": LATE}
    step(sample).write({"calc.py": RED["calc.py"], **late})
    ran = sample.pytest_process(*CONFIRM, "--exit-signal=done")
    refused_in_the_room(sample, ran)


@pytest.mark.sweep
def test_bytecode_of_other_code_is_refused_by_the_run_without_being_recognised(sample: Sample) -> None:
    step(sample)
    compile_unchecked(sample)
    sample.write(calc=RED["calc.py"])
    begin_with(sample, BLIND)
    words = ("-m", "pytest", *OURS, *CONFIRM, "--exit-signal=done")
    refused_in_the_room(sample, sample.process(sys.executable, *words))


def refused_in_the_room(sample: Sample, ran: Ran) -> None:
    """The run outside is green, the one in the room is not."""
    assert ran.code == 1, ran.out + ran.err
    assert [run["metrics"]["suite_failing"] for run in sample.runs()[-2:]] == [0, 1]
    ran.has("1 test fails in the room, where only the frozen tests and the sources")
    assert sample.gate("check").code == 10


def compile_unchecked(sample: Sample) -> None:
    """Have bytecode made that Python never compares with its source."""
    words = ("-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "calc.py")
    assert sample.process(sys.executable, *words).code == 0


@pytest.mark.sweep
def test_bytecode_of_the_code_itself_and_a_conftest_of_newer_tests_are_confirmed(unproven: Sample) -> None:
    gives = "import pytest\n\n\n@pytest.fixture\ndef four():\n    return 4\n"
    late = "import calc\n\n\ndef test_late(four):\n    assert calc.add(2, 2) == four\n"
    step(unproven, tests__later__conftest=gives, tests__later__test_late=late)
    compile_unchecked(unproven)
    ran = unproven.pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 0, ran.out + ran.err
    ran.has("Run      in the room with the frozen tests (1), beside it 1 newer", "GREEN has exited")


def test_a_newer_test_that_fails_closes(sample: Sample) -> None:
    counter = sample.root.parent / f"{sample.root.name}-counter"
    fails_later = (
        "import pathlib\n\n\ndef test_late():\n"
        f"    counter = pathlib.Path({str(counter)!r})\n    first = not counter.exists()\n"
        "    counter.write_text('')\n    assert first\n"
    )
    ran = step(sample, tests__test_late=fails_later).pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 1, ran.out + ran.err
    ran.has("Run      in the room with the frozen tests (1), beside it 1 newer")
    assert last_run(sample)["metrics"]["suite_failing"] == 1


def test_a_frozen_test_that_is_gone_is_not_made_up_for_by_the_room(sample: Sample) -> None:
    sample.write({**RED, "tests/test_two.py": TEST.replace("test_add", "test_two")})
    assert sample.pytest_process("--phase=red", "--exit-signal=red").code == 0
    sample.write({"calc.py": ADD, "tests/test_late.py": LATE}).remove("tests/test_two.py")
    ran = sample.pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 10, ran.out + ran.err
    ran.has("Run      in the room with the frozen tests (1), beside it 1 newer", "guard   tests-kept")


@pytest.mark.sweep
def test_an_edit_while_it_runs_makes_it_incomplete(sample: Sample) -> None:
    counter = sample.root.parent / f"{sample.root.name}-counter"
    edits_later = (
        "import pathlib\n\n\ndef test_late():\n"
        f"    counter = pathlib.Path({str(counter)!r})\n    if counter.exists():\n"
        f"        pathlib.Path({str(sample.root)!r}, 'calc.py').write_text({ADD + '# edited'!r})\n"
        "    counter.write_text('')\n"
    )
    ran = step(sample, tests__test_late=edits_later).pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 10, ran.out + ran.err
    run = last_run(sample)
    assert (run["kind"], run["why"]) == ("incomplete", "sources changed while it ran: calc.py")


# --- no room


def test_without_red_the_run_is_an_ordinary_one_and_says_why(unproven: Sample) -> None:
    sample = unproven
    sample.write({**RED, "calc.py": ADD})
    ran = sample.pytest_process(*CONFIRM)
    assert ran.code == 0, ran.out + ran.err
    ran.has("not in a room: RED was never seen in this cycle")
    assert "tests_in_room" not in last_run(sample)["metrics"]


def test_a_module_from_outside_of_the_room_makes_the_run_an_ordinary_one(unproven: Sample) -> None:
    sample = unproven
    begin_with(sample, UNPROVEN + COPIES)
    # As some editable installs do it: whatever stands on the path, the module comes from the project.
    loads = f"import sys\n\nsys.path.insert(0, {str(sample.root)!r})\nsys.modules.pop('calc', None)\n"
    sample.write({**RED, "tests/conftest.py": loads, "pytest.ini": INI.replace("pythonpath = .\n", "")})
    assert sample.pytest_process("--phase=red", "--exit-signal=red").code == 0
    ran = unproven.write(calc=ADD).pytest_process(*CONFIRM)
    assert ran.code == 0, ran.out + ran.err
    ran.has("not in a room: calc.py was imported from the project itself, not from")
    assert [run["kind"] for run in sample.runs()] == ["complete", "complete", "void", "complete"]


def test_a_required_proof_is_not_confirmed_without_a_room(sample: Sample) -> None:
    sample.write({**RED, "calc.py": ADD, "phase-gate.yaml": "proof: required\n"})
    ran = sample.pytest_process(*CONFIRM, "--exit-signal=done")
    assert ran.code == 10
    ran.has("not confirmed: a proof is required, and no room could be made: RED was never seen in this cycle")
    assert len(sample.runs()) == 1
    assert sample.gate("check").code == 10


def test_in_red_nothing_is_confirmed(sample: Sample) -> None:
    ran = sample.write(RED).pytest_process("--phase=red", "--phase-confirm-room", "--exit-signal=red")
    assert (ran.code, len(sample.runs())) == (0, 1)


# --- stopped and killed


WAITS = """\
import os
import pathlib
import time

import calc


def test_late():
    assert calc.add(0, 1) == 1
    counter = pathlib.Path({counter!r})
    if counter.exists():
        pathlib.Path({waits!r}).write_text(str(os.getpid()))
        time.sleep(600)
    counter.write_text("")
"""


@pytest.fixture
def waiting(sample: Sample) -> tuple[Sample, subprocess.Popen[bytes], int]:
    """A run in a room that waits, and the process that it waits in."""
    outside = sample.root.parent
    counter, waits = outside / f"{sample.root.name}-counter", outside / f"{sample.root.name}-waits"
    text = WAITS.format(counter=str(counter), waits=str(waits))
    sample.write({**RED, TEST_FILE: f"{TEST}\n\n{text}"})
    assert sample.pytest_process("--phase=red", "--exit-signal=red").code == 0
    sample.write(calc=ADD)
    counter.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *OURS, *CONFIRM]
    process = subprocess.Popen(command, cwd=sample.root, start_new_session=True, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 240
    while not waits.exists() or not waits.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    return sample, process, int(waits.read_text())


def test_nothing_stays_when_the_first_run_is_killed(waiting: tuple[Sample, subprocess.Popen[bytes], int]) -> None:
    sample, process, inner = waiting
    process.kill()
    process.wait()
    assert has_ended(inner)
    assert last_run(sample)["kind"] == "lost"
    assert sample.gate("status").has("began and never ended")


@pytest.mark.sweep
def test_an_interrupt_ends_all_and_is_written_down(waiting: tuple[Sample, subprocess.Popen[bytes], int]) -> None:
    sample, process, inner = waiting
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(240) == 2
    assert has_ended(inner)
    assert (last_run(sample)["kind"], last_run(sample)["why"]) == ("incomplete", "interrupted")


# --- the command line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--phase=green", "--phase-shard=1/2", "--phase-confirm-room"), "--phase-confirm-room speaks of a verdict"),
        (("--phase=green", "--phase-shard=piece"), "only --phase-confirm-room says so, to runs of its own"),
    ],
)
def test_what_can_not_be_asked_for(sample: Sample, words: tuple[str, ...], said: str) -> None:
    ran = sample.write(RED).pytest(*words)
    assert ran.code == 4
    ran.has(said)


def test_a_wrong_word_in_the_file_is_named(sample: Sample) -> None:
    ran = sample.write({**RED, "phase-gate.yaml": "run: {confirm: rooms}\n"}).pytest("--phase=red")
    assert ran.code == 4
    ran.has("run.confirm can't be 'rooms'", "use one of: room")
