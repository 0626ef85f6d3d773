"""Mutants in a project: what is shown, what is kept, what a gate makes of it, and what a killed call leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.mutation.as_red import add_criteria
from phase_gate.mutation.model import Baseline, Mutant, Tried
from phase_gate.mutation.show import mutation_text
from phase_gate.mutation.task import load_mutation, metrics_of, plan_mutants
from phase_gate.mutation.task import mutate as mutate_task
from phase_gate.mutation.trying import Ground
from phase_gate.project import Project
from phase_gate.task import Task
from tests.support import Sample

pytestmark = pytest.mark.processes

#: What keeps the files as they were: the proof does it for users, and is off in most tests.
NOTE = "evidence:\n  new_code: true\n"

TEST = """\
from calc import is_adult


def test_adults():
    assert is_adult(30) is True


def test_children():
    assert is_adult(8) is False
"""
#: Of five mutants no test notices three: nothing asks for what is at 18.
ADULT = "def is_adult(age):\n    return age >= 18\n"
SURVIVORS = {"age >= 18 -> age > 18", "18 -> 17", "18 -> 19"}

#: Of two mutants one never ends; it sleeps, so that others can work.
SPIN = """\
import time


def spin(goes_on):
    while goes_on:
        goes_on = False
        time.sleep(0.01)  # pragma: no mutate
    return goes_on
"""
TEST_SPIN = """\
import os

from calc import spin


def test_spin():
    if "MARK" in os.environ:
        with open(os.environ["MARK"], "a", encoding="utf-8") as file:
            file.write("x")
    assert spin(True) is False
"""


def begin(sample: Sample, *, tests: str = TEST, code: str = ADULT, configuration: str = NOTE, **more: str) -> Sample:
    """Have RED exit, and write the code; GREEN has run once."""
    sample.write({"phase-gate.yaml": configuration, **more}, test_calc=tests)
    assert sample.pytest("--phase=red", "--exit-signal=it fails").code == 0
    sample.write(calc=code)
    assert sample.pytest("--phase=green").code == 10
    return sample


def mutate(sample: Sample, *words: str) -> Any:
    return sample.gate("mutate", "--json", *words).document


def by_verdict(document: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in document["tried"]:
        found.setdefault(each["verdict"], set()).add(f"{each['mutant']['was']} -> {each['mutant']['text']}")
    return found


def test_survivors_are_shown_counted_kept_and_close_nothing(sample: Sample) -> None:
    begin(sample)
    before = {path: path.read_bytes() for path in sample.root.glob("*.py")}
    assert len(mutate(sample, "--dry-run")["mutants"]) == 5
    ran = sample.gate("mutate", "--seconds", "400")
    assert ran.code == 10
    assert ran.has(
        "- calc.py:2  no test notices `age > 18` in place of `age >= 18`",
        "    -    return age >= 18\n    +    return age > 18\n",
        "    passed: test_calc.py::test_adults, test_calc.py::test_children\n",
        "5 mutants: 3 survived, 0 timed out, 2 killed",
        "next: phase-gate mutate --as-red",
    )
    assert {path: path.read_bytes() for path in sample.root.glob("*.py")} == before
    # Nothing is tried twice.
    again = mutate(sample)
    assert (again["starts"], again["left"]) == (0, 0)
    assert by_verdict(again)["survived"] == SURVIVORS
    assert all(each["by"].startswith("test_calc.py::") for each in again["tried"] if each["verdict"] == "killed")
    # The next verdict knows the counts; survivors are advisories: they may be equivalent to the code.
    assert sample.pytest("--phase=green", "--exit-signal=done").code == 0
    verdict = sample.status()["evaluation"]
    assert verdict["metrics"]["mutants_total"] == 5
    assert verdict["metrics"]["mutants_survived"] == 3
    found = [each for each in verdict["findings"] if each["slug"] == "mutant-survived"]
    assert [(each["tier"], each["file"], each["line"]) for each in found] == [("advisory", "calc.py", 2)] * 3


def test_a_guard_of_ones_own_closes_until_every_mutant_was_noticed(sample: Sample) -> None:
    guard = "guards:\n  noticed:\n    condition: mutants_survived == 0\n    remedy: phase-gate mutate\n"
    phases = "phases:\n  GREEN:\n    guards: [noticed]\n"
    begin(sample, configuration=NOTE + guard + phases)
    assert sample.pytest("--phase=green").code == 10  # unknown is never true
    some = mutate(sample, "--mutants", "1")
    assert (len(some["tried"]), some["metrics"]) == (1, {})
    assert some["left"] > 0
    assert sample.gate("mutate", "--seconds", "400").code == 10
    assert sample.pytest("--phase=green").code == 10
    assert sample.status()["evaluation"]["metrics"]["mutants_survived"] > 0
    # What was tried speaks of these files only.
    sample.write(calc=ADULT.replace("18", "21"))
    assert sample.pytest("--phase=green").code == 10
    assert "mutants_survived" not in sample.status()["evaluation"]["metrics"]


def test_a_loop_without_an_end_is_a_timeout_and_the_budget_is_kept(sample: Sample) -> None:
    begin(sample, tests=TEST_SPIN, code=SPIN)
    first = mutate(sample, "--mutants", "1")
    assert (len(first["tried"]), first["starts"], first["metrics"]) == (1, 2, {})
    rest = mutate(sample, "--seconds", "500")
    assert rest["excused"] == 1
    assert rest["starts"] == 1, "neither the baseline nor a mutant runs twice"
    assert by_verdict(rest) == {"timeout": {"False -> True"}, "killed": {"return goes_on -> return None"}}
    assert rest["metrics"] == {"mutants_total": 2, "mutants_killed": 1, "mutants_survived": 0, "mutants_timeout": 1}


def test_a_baseline_that_fails_counts_nothing(sample: Sample) -> None:
    begin(sample)
    sample.write(calc=ADULT.replace("18", "31"))
    ran = sample.gate("mutate")
    assert ran.code == 11
    assert ran.has("no mutant was tried: test_calc.py::test_adults fails in a room without any mutant")
    assert "experimented" not in sample.gate("history", "--events").out


MOVED = "def is_adult(age):\n    return age >= 18\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"old": MOVED}, {"old": "", "calc": MOVED}, id="moved"),
        pytest.param(
            {"calc": MOVED}, {"calc": f"# Ages.\n\n\n{MOVED.replace('age >= 18', '(age >=  18)')}"}, id="laid-out"
        ),
        pytest.param(
            {"calc": MOVED},
            {"calc": f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    LIMIT = 18\n\n\n{MOVED}"},
            id="for-a-type-checker",
        ),
        pytest.param({"calc": MOVED}, {"calc": f"{MOVED}\n\nLIMIT = 18  # pragma: no cover\n"}, id="excused"),
        pytest.param(
            {"calc": MOVED}, {"calc": MOVED, "test_more": "def test_more():\n    assert 1 + 1 == 2\n"}, id="a-test"
        ),
    ],
)
def test_what_is_not_new_has_no_mutants(sample: Sample, before: dict[str, str], after: dict[str, str]) -> None:
    sample.write(
        {"phase-gate.yaml": NOTE}, test_calc="import os\n\n\ndef test_it():\n    assert os.path.exists('x')\n", **before
    )
    assert sample.pytest("--phase=red", "--exit-signal=it fails").code == 0
    sample.write({"x": ""}, **after)
    sample.pytest("--phase=green")
    assert plan_mutants(opened(sample)).mutants == ()
    assert metrics_of(mutate_task(opened(sample)))["mutants_total"] == 0


def test_what_a_proof_keeps_says_what_is_new_too(sample: Sample) -> None:
    # It keeps the tests as well: what stands in one of them is new all the same where the code has it.
    sample.write(test_calc=TEST.replace("    assert is_adult(8)", "    limit = 18\n    assert is_adult(limit - 10)"))
    assert sample.pytest("--phase=red", "--exit-signal=it fails").code == 0
    sample.write(calc="def is_adult(age):\n    limit = 18\n    return age >= limit\n")
    assert sample.pytest("--phase=green").code == 10
    plan = plan_mutants(opened(sample))
    assert {each.line for each in plan.mutants} == {2, 3}
    assert plan.since == "RED ended"


def opened(sample: Sample) -> Task:
    return Task.open(Project.find(sample.root, environment=os.environ))


def test_files_that_change_meanwhile_count_nothing(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(sample)

    def try_one(ground: Ground, *_: Any, **__: Any) -> Iterator[Tried]:
        sample.write(calc=ADULT.replace("18", "21"))
        yield Tried(mutant=plan_mutants(opened(sample)).mutants[0], verdict="killed")

    monkeypatch.setattr("phase_gate.mutation.task.make_baseline", lambda ground, seconds: Baseline())
    monkeypatch.setattr("phase_gate.mutation.task.try_mutants", try_one)
    with pytest.raises(NotAllowedError, match="files were changed while mutants were tried"):
        mutate_task(opened(sample))
    assert opened(sample).state.experiments == {}


def test_what_was_tried_before_an_interrupt_is_kept(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(sample)
    first = plan_mutants(opened(sample)).mutants[0]

    def try_one(*_: Any, **__: Any) -> Iterator[Tried]:
        yield Tried(mutant=first, verdict="survived")
        raise KeyboardInterrupt

    monkeypatch.setattr("phase_gate.mutation.task.make_baseline", lambda ground, seconds: Baseline())
    monkeypatch.setattr("phase_gate.mutation.task.try_mutants", try_one)
    ended = mutate_task(opened(sample))
    assert (ended.is_interrupted, metrics_of(ended)) == (True, {})
    assert "interrupted: 1 mutant: 1 survived, 0 timed out, 0 killed; 4 not tried yet" in mutation_text(ended)
    kept = load_mutation(opened(sample))
    assert kept is not None
    assert ([each.mutant for each in kept.tried], kept.left) == ([first], 4)
    record = opened(sample).state.experiments["mutation"]
    assert (record.metrics, len(record.findings)) == ({}, 1)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("criteria.md", "- [ ] AC-1 Adults pay ten\n", "- [ ] MUT-1 ", id="boxes"),
        pytest.param("criteria.md", "# Fares\n\n- AC-1 Adults pay ten", "- MUT-1 ", id="items"),
        pytest.param("criteria.yaml", "AC-1: Adults pay ten\n", 'MUT-1: "', id="a-mapping"),
        pytest.param("criteria.yaml", "criteria:\n  - AC-1: Adults pay ten\n", '  - MUT-1: "', id="a-list"),
        pytest.param("criteria.json", '{"AC-1": "Adults pay ten"}', "", id="by-hand"),
    ],
)
def test_criteria_of_survivors_are_added_in_the_form_of_the_file(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    place = {"line": 2, "column": 0, "end_line": 2, "end_column": 1, "first": 2, "last": 2}
    survivors = [
        Tried(mutant=Mutant(file="calc.py", was="a < 18", text="a <= 18", **place), verdict="survived"),
        Tried(mutant=Mutant(file="calc.py", was='"x: #"', text="'XXx: #XX'", **place), verdict="survived"),
    ]
    added = add_criteria(tmp_path, name, survivors)
    assert list(added.criteria) == ["MUT-1", "MUT-2"]
    assert added.is_written == bool(expected)
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert written.startswith(text)
    if expected:
        assert f"\n{expected}a test fails with `a <= 18` in place of `a < 18` (calc.py:2)" in written
        assert add_criteria(tmp_path, name, survivors).criteria == {}, "each stands there once"
    else:
        assert written == text


def test_the_next_red_has_to_show_a_survivor(sample: Sample) -> None:
    criteria = "- [ ] AC-1 Adults pay ten\n"
    marked = TEST.replace("def test_adults", '@pytest.mark.criterion("AC-1")\ndef test_adults')
    configuration = NOTE + "run:\n  criteria: fares.md\n"
    begin(sample, tests=f"import pytest\n\n{marked}", configuration=configuration, **{"fares.md": criteria})
    ran = sample.gate("mutate", "--seconds", "400", "--as-red")
    assert ran.has("added to fares.md:", "- [ ] MUT-1 a test fails with ", "next: pytest --phase=red")
    assert (sample.root / "fares.md").read_text(encoding="utf-8").count("- [ ] MUT-") == 3
    ran = sample.pytest("--phase=red")
    assert ran.code == 10
    assert ran.has("MUT-1 no test is marked with it")


def test_there_is_nothing_to_try_in_red(sample: Sample) -> None:
    sample.write({"phase-gate.yaml": NOTE}, test_calc=TEST)
    assert sample.pytest("--phase=red").code == 0
    ran = sample.gate("mutate")
    assert ran.code == 13
    assert ran.has("RED has no new code yet", "try: pytest --phase=green")
    assert sample.gate("mutate", "--mutants", "0").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_killed_call_leaves_no_room_and_the_next_one_goes_on(sample: Sample, tmp_path: Path) -> None:
    begin(sample, tests=TEST_SPIN, code=SPIN)
    rooms, mark = tmp_path / "rooms", tmp_path / "mark"
    rooms.mkdir()
    environment = {**os.environ, "TMPDIR": str(rooms), "MARK": str(mark)}
    words = [sys.executable, "-m", "phase_gate.cli", "mutate", "--seconds", "500", "--workers", "1"]
    process = subprocess.Popen(words, cwd=sample.root, env=environment, start_new_session=True)
    # The second time that the test runs, a mutant is there.
    while not mark.exists() or mark.stat().st_size < 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert mutate_in(sample, rooms, "--mutants", "1")["starts"] == 2
    assert [path.name for path in rooms.iterdir()] == []


def mutate_in(sample: Sample, rooms: Path, *words: str) -> Any:
    return sample.gate("mutate", "--json", *words, TMPDIR=str(rooms)).document
