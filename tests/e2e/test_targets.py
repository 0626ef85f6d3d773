"""What a cycle is about: targets against git's HEAD and against the cycle before, and failures that were known."""

from __future__ import annotations

import pytest

from tests.e2e.sessions import state_of, targets_of
from tests.support import CALC, FAILING_TESTS, Project, Result

OLD = "def test_old():\n    assert 1 + 1 == 2\n\n\ndef test_older():\n    assert 2 + 2 == 4\n"
#: Of code that is not there yet: a constant that is wrong would be no reason to write any.
CHECK = "from feature import answer\n\n    assert answer() == 42"
NEW = f"def test_new():\n    {CHECK}\n"
FEATURE = "def answer():\n    return 42\n"


def red(project: Project, *arguments: str) -> Result:
    return project.run("-v", "--phase=red", "--phase-report=verdict.json", *arguments)


def numbers(project: Project, *names: str) -> list[object]:
    metrics = project.report()["metrics"]
    return [metrics[name] for name in names or ("tests_total", "tests_failing", "tests_passing", "suite_total")]


def cycle(project: Project) -> Project:
    """A first cycle, without git: RED and GREEN, exited."""
    project.write(test_calc=FAILING_TESTS)
    assert project.run("--phase=red", "--exit-signal=both fail").code == 0
    project.write(calc=CALC)
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=both pass", "--phase-exit=dual").code == 0
    return project


# --- the first cycle


def test_only_what_is_new_or_fails_is_the_step(project: Project) -> None:
    project.write(test_old=OLD).commit_all()
    ran = red(project)
    assert (ran.code, numbers(project)) == (10, [0, 0, 0, 2])
    assert ran.has("no new or changed test: write the test for this step first")
    project.write(test_new=NEW)
    assert (red(project).code, numbers(project)) == (0, [1, 1, 0, 3])
    assert targets_of(project) == ["test_new.py::test_new"]
    project.commit_all()
    assert (red(project).code, targets_of(project)) == (0, ["test_new.py::test_new"]), "committed, and failing"


def test_committed_tests_whose_body_is_not_in_their_file_are_not_the_step(project: Project) -> None:
    project.write(
        lib='def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n',
        base="class Base:\n    def test_inherited(self):\n        pass\n",
        test_sub="from base import Base\n\n\nclass TestSub(Base):\n    pass\n\n\ntest_made = lambda: None\n",
    ).commit_all()
    project.write(test_new=NEW)
    assert red(project, "--doctest-modules").code == 0
    assert targets_of(project) == ["test_new.py::test_new"]


@pytest.mark.parametrize(
    ("changed", "code", "expected"),
    [
        pytest.param(OLD.replace("assert 1 + 1 == 2", CHECK), 0, [1, 1, 0, 2], id="a-changed-body-that-fails"),
        pytest.param(OLD.replace("1 + 1 == 2", "1 + 2 == 3"), 10, [1, 0, 1, 2], id="a-changed-body-that-passes"),
        pytest.param(OLD + "\n\n# a comment\n", 10, [0, 0, 0, 2], id="a-comment-changes-no-body"),
        pytest.param(OLD + "\n\n" + NEW, 0, [1, 1, 0, 3], id="a-new-test-in-an-old-file"),
    ],
)
def test_bodies_are_compared_with_head(project: Project, changed: str, code: int, expected: list[int]) -> None:
    project.write(test_old=OLD).commit_all()
    project.write(test_old=changed)
    assert red(project).code == code
    assert numbers(project) == expected


def test_a_target_that_is_skipped_before_red_is_over_stays_one(project: Project) -> None:
    project.write(test_old=OLD).commit_all()
    project.write(test_new=NEW, test_more=NEW.replace("test_new", "test_more"))
    assert red(project).code == 0
    project.write(test_more="import pytest\n\n\n@pytest.mark.skip\n" + NEW.replace("test_new", "test_more"))
    assert red(project).code == 10
    assert numbers(project) == [2, 1, 0, 4]
    assert targets_of(project) == ["test_more.py::test_more", "test_new.py::test_new"]


def test_a_test_that_would_be_skipped_is_no_target_of_a_module_that_cant_be_imported(project: Project) -> None:
    skipped = f"@pytest.mark.skip\n{NEW.replace(CHECK, 'assert answer() == 42')}"
    project.write(test_new=f"import pytest\nfrom feature import answer\n\n\n{skipped}")
    assert (red(project).code, numbers(project, "tests_total", "tests_failing")) == (10, [0, 0])
    project.write(test_more=NEW.replace("test_new", "test_more"))
    assert (red(project).code, numbers(project, "tests_total", "tests_failing")) == (0, [1, 1])


def test_a_project_in_a_folder_of_its_repository(project: Project) -> None:
    project.write({"app/pytest.ini": "[pytest]\n", "app/test_old.py": OLD}).commit_all()
    project.write({"app/test_new.py": NEW})
    project.environment.chdir(project.root / "app")
    assert red(project).code == 0
    assert project.report("app/verdict.json")["metrics"]["tests_total"] == 1


# --- the second cycle


def test_the_last_complete_run_of_a_cycle_is_the_next_ones_baseline(project: Project) -> None:
    cycle(project).write(test_new=NEW)
    ran = red(project)
    assert ran.code == 0
    assert numbers(project) == [1, 1, 0, 3]
    assert numbers(project, "baseline_total", "baseline_failing") == [2, 0]
    state = state_of(project)
    assert (state.cycle, state.phase, state.iteration) == (2, "RED", 1)
    assert "cycle 2 begins; the last one did not visit REFACTOR, DOCUMENT" in ran.text
    project.write(feature=FEATURE)
    assert project.run("--phase=red", "-v").code == 10, "the target passes now, so RED is closed again"


#: Imports at the top, as most people write them; and a file that takes its base class from another one.
AT_THE_TOP = "from calc import add\n\n\nclass TestAdd:\n    def test_add(self):\n        assert add(1, 2) == 3\n"
INHERITED = """\
from test_top import TestAdd, add


class TestMore(TestAdd):
    def test_more(self):
        assert add(0, 0) == 0
"""
MUL = "\n\ndef mul(a, b):\n    return a * b\n"


def test_old_tests_wait_for_what_a_new_one_in_their_file_imports(project: Project) -> None:
    cycle(project.write(test_top=AT_THE_TOP, test_inherited=INHERITED))
    new = "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
    project.write(test_top=AT_THE_TOP.replace("import add", "import add, mul") + new)
    assert red(project, "--exit-signal=mul is missing").code == 0
    assert targets_of(project) == ["test_top.py::test_mul"]
    assert numbers(project, "tests_uncollectable", "baseline_failing") == [3, 0]
    assert project.report()["findings"] == []
    project.write(calc=CALC + MUL)
    project.run("--phase=green")
    assert project.run("--phase=green", "--exit-signal=all pass", "--phase-exit=dual").code == 0


TABLE = """\
import pytest
from calc import add

SUMS = {"one": (1, 1, 2), "two": (2, 2, 4)}


@pytest.mark.parametrize("name", SUMS)
def test_sum(name):
    a, b, expected = SUMS[name]
    assert add(a, b) == expected
"""


def test_an_old_row_that_fails_by_another_table_is_a_target(project: Project) -> None:
    cycle(project.write(test_table=TABLE)).write(test_table=TABLE.replace("(2, 2, 4)", "(2, 2, 5)"))
    assert red(project).code == 0
    assert targets_of(project) == ["test_table.py::test_sum[two]"]
    assert numbers(project, "tests_total", "tests_failing", "baseline_failing") == [1, 1, 0]
    # The same table, and other code: it is the old test that fails.
    project.write(test_table=TABLE, calc=CALC.replace("a + b", "a - b"))
    assert red(project).code == 10
    assert numbers(project, "tests_total", "baseline_failing") == [0, 3]


def test_an_old_test_that_breaks_closes_red_and_is_named(project: Project) -> None:
    cycle(project).write(test_new=NEW, calc=CALC.replace("a - b", "b - a"))
    ran = red(project)
    assert ran.code == 10
    assert numbers(project, "tests_total", "tests_failing", "suite_failing", "baseline_failing") == [1, 1, 2, 1]
    assert "baseline-kept: older tests that passed before this cycle and fail now: 1 of 2 (test_calc.py::test_sub)" in (
        ran.text
    )


# --- known failures

BROKEN = "def test_broken():\n    assert 0\n\n\ndef test_fine():\n    pass\n"


def test_a_known_failure_is_exempt_and_shown(project: Project) -> None:
    # The command starts pytest, which has to find the plugin though autoload is off.
    ran = project.write(test_old=BROKEN).gate("baseline", PYTEST_PLUGINS="phase_gate.plugin")
    assert ran.code == 0, ran.out + ran.err
    assert ran.has("baseline: 2 tests, 1 known failure", "known failure: test_old.py::test_broken")
    ran = red(project.write(test_new=NEW), "--exit-signal=it fails")
    assert ran.code == 0
    assert ran.has("note    exempt: 1 known failure")
    assert numbers(project) == [1, 1, 0, 2]
    project.write(feature=FEATURE)
    assert project.run("--phase=green", "-v").code == 1, "pytest's own 1 is never hidden"
    ran = project.run("--phase=green", "--phase-report=verdict.json", "-v")
    assert ran.code == 1
    assert ran.has("Gate 1 is open; Gate 2 waits")
    assert numbers(project, "tests_failing", "tests_known_failing", "consecutive_green_runs") == [0, 1, 2]


def test_quick_targets_count_as_just_not_slow(project: Project) -> None:
    """How long targets took decides how long a sandbox may take: many quick ones must not count as nothing."""
    project.green()
    ledger = (project.state / "ledger.jsonl").read_text(encoding="utf-8")
    assert '"targets_s":0.2' in ledger
