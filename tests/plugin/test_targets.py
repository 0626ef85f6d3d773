"""What a cycle is about: targets against git's HEAD and against the cycle before, and failures that were known."""

from __future__ import annotations

import pytest

from tests.plugin.looking import state_of, store_of
from tests.support import CALC, FAILING_TESTS, Ran, Sample

OLD = "def test_old():\n    assert 1 + 1 == 2\n\n\ndef test_older():\n    assert 2 + 2 == 4\n"
#: Of code that is not there yet: a constant that is wrong would be no reason to write any.
CHECK = "from feature import answer\n\n    assert answer() == 42"
NEW = f"def test_new():\n    {CHECK}\n"
FEATURE = "def answer():\n    return 42\n"


def red(sample: Sample, *arguments: str) -> Ran:
    return sample.pytest("-v", "--phase=red", "--phase-report=verdict.json", *arguments)


def numbers(sample: Sample, *names: str) -> list[object]:
    metrics = sample.report()["metrics"]
    return [metrics[name] for name in names or ("tests_total", "tests_failing", "tests_passing", "suite_total")]


def targets(sample: Sample) -> list[str]:
    store = store_of(sample)
    stored = store.look().state.aim.targets
    assert stored is not None
    found: list[str] = store.objects.load(stored)
    return found


def cycle(sample: Sample) -> Sample:
    """A first cycle, without git: RED and GREEN, exited."""
    sample.write(test_calc=FAILING_TESTS)
    assert sample.pytest("--phase=red", "--exit-signal=both fail").code == 0
    sample.write(calc=CALC)
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=both pass", "--phase-exit=dual").code == 0
    return sample


def words(ran: Ran) -> str:
    return " ".join((ran.out + ran.err).split())


# --- the first cycle


def test_without_git_all_tests_are_targets(sample: Sample) -> None:
    sample.write(test_old=OLD, test_new=NEW)
    ran = red(sample)
    assert ran.code == 10
    assert numbers(sample) == [3, 1, 2, 3]
    assert ran.has("2 tests already pass, but a new test must fail first")


def test_committed_tests_that_pass_are_not_the_step(sample: Sample) -> None:
    sample.write(test_old=OLD).commit_all()
    sample.write(test_new=NEW)
    ran = red(sample)
    assert ran.code == 0
    assert numbers(sample) == [1, 1, 0, 3]
    assert targets(sample) == ["test_new.py::test_new"]


def test_a_commit_in_a_repository_without_one_changes_nothing(sample: Sample) -> None:
    sample.write(test_old=OLD)
    sample.git("init", "-q")
    assert red(sample).code == 10
    assert numbers(sample) == [2, 0, 2, 2]


def test_committed_tests_whose_body_is_not_in_their_file_are_not_the_step(sample: Sample) -> None:
    sample.write(
        lib='def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n',
        base="class Base:\n    def test_inherited(self):\n        pass\n",
        test_sub="from base import Base\n\n\nclass TestSub(Base):\n    pass\n\n\ntest_made = lambda: None\n",
    ).commit_all()
    sample.write(test_new=NEW)
    assert red(sample, "--doctest-modules").code == 0
    assert targets(sample) == ["test_new.py::test_new"]


def test_nothing_new_is_not_a_step(sample: Sample) -> None:
    sample.write(test_old=OLD).commit_all()
    ran = red(sample)
    assert ran.code == 10
    assert numbers(sample) == [0, 0, 0, 2]
    assert ran.has("no new or changed test: write the test for this step first")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changed", "code", "expected"),
    [
        pytest.param(OLD.replace("assert 1 + 1 == 2", CHECK), 0, [1, 1, 0, 2], id="a-changed-body-that-fails"),
        pytest.param(OLD.replace("1 + 1 == 2", "1 + 2 == 3"), 10, [1, 0, 1, 2], id="a-changed-body-that-passes"),
        pytest.param(OLD + "\n\n# a comment\n", 10, [0, 0, 0, 2], id="a-comment-changes-no-body"),
        pytest.param(OLD + "\n\n" + NEW, 0, [1, 1, 0, 3], id="a-new-test-in-an-old-file"),
    ],
)
def test_bodies_are_compared_with_head(sample: Sample, changed: str, code: int, expected: list[int]) -> None:
    sample.write(test_old=OLD).commit_all()
    sample.write(test_old=changed)
    assert red(sample).code == code
    assert numbers(sample) == expected


def test_a_committed_test_that_fails_is_a_target(sample: Sample) -> None:
    sample.write(test_old=OLD, test_new=NEW).commit_all()
    assert red(sample).code == 0
    assert targets(sample) == ["test_new.py::test_new"]


def test_a_target_that_is_skipped_before_red_is_over_stays_one(sample: Sample) -> None:
    sample.write(test_old=OLD).commit_all()
    sample.write(test_new=NEW, test_more=NEW.replace("test_new", "test_more"))
    assert red(sample).code == 0
    sample.write(test_more="import pytest\n\n\n@pytest.mark.skip\n" + NEW.replace("test_new", "test_more"))
    assert red(sample).code == 10
    assert numbers(sample) == [2, 1, 0, 4]
    assert targets(sample) == ["test_more.py::test_more", "test_new.py::test_new"]


def test_a_project_in_a_folder_of_its_repository(sample: Sample) -> None:
    sample.write({"app/pytest.ini": "[pytest]\n", "app/test_old.py": OLD}).commit_all()
    sample.write({"app/test_new.py": NEW})
    sample.environment.chdir(sample.root / "app")
    assert red(sample).code == 0
    assert sample.report("app/verdict.json")["metrics"]["tests_total"] == 1


# --- the second cycle


def test_the_last_complete_run_of_a_cycle_is_the_next_ones_baseline(sample: Sample) -> None:
    cycle(sample).write(test_new=NEW)
    ran = red(sample)
    assert ran.code == 0
    assert numbers(sample) == [1, 1, 0, 3]
    assert numbers(sample, "baseline_total", "baseline_failing") == [2, 0]
    state = state_of(sample)
    assert (state.cycle, state.phase, state.iteration) == (2, "RED", 1)
    assert "cycle 2 begins; the last one did not visit REFACTOR, DOCUMENT" in words(ran)
    sample.write(feature=FEATURE)
    assert sample.pytest("--phase=red", "-v").code == 10, "the target passes now, so RED is closed again"


def test_a_changed_body_of_an_old_test_is_a_target(sample: Sample) -> None:
    cycle(sample).write(test_calc=FAILING_TESTS.replace("sub(3, 2) == 1", "sub(3, 2) == 2"))
    assert red(sample).code == 0
    assert targets(sample) == ["test_calc.py::test_sub"]
    assert numbers(sample, "baseline_failing") == [0], "it is another test now"


#: Imports at the top, as most people write them; and a file that takes its base class from another one.
AT_THE_TOP = "from calc import add\n\n\nclass TestAdd:\n    def test_add(self):\n        assert add(1, 2) == 3\n"
INHERITED = """\
from test_top import TestAdd, add


class TestMore(TestAdd):
    def test_more(self):
        assert add(0, 0) == 0
"""
MUL = "\n\ndef mul(a, b):\n    return a * b\n"


def test_old_tests_wait_for_what_a_new_one_in_their_file_imports(sample: Sample) -> None:
    cycle(sample.write(test_top=AT_THE_TOP, test_inherited=INHERITED))
    new = "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
    sample.write(test_top=AT_THE_TOP.replace("import add", "import add, mul") + new)
    assert red(sample, "--exit-signal=mul is missing").code == 0
    assert targets(sample) == ["test_top.py::test_mul"]
    assert numbers(sample, "tests_uncollectable", "baseline_failing") == [3, 0]
    assert sample.report()["findings"] == []
    sample.write(calc=CALC + MUL)
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=all pass", "--phase-exit=dual").code == 0


TABLE = """\
import pytest
from calc import add

SUMS = {"one": (1, 1, 2), "two": (2, 2, 4)}


@pytest.mark.parametrize("name", SUMS)
def test_sum(name):
    a, b, expected = SUMS[name]
    assert add(a, b) == expected
"""


def test_an_old_row_that_fails_by_another_table_is_a_target(sample: Sample) -> None:
    cycle(sample.write(test_table=TABLE)).write(test_table=TABLE.replace("(2, 2, 4)", "(2, 2, 5)"))
    assert red(sample).code == 0
    assert targets(sample) == ["test_table.py::test_sum[two]"]
    assert numbers(sample, "tests_total", "tests_failing", "baseline_failing") == [1, 1, 0]
    # The same table, and other code: it is the old test that fails.
    sample.write(test_table=TABLE, calc=CALC.replace("a + b", "a - b"))
    assert red(sample).code == 10
    assert numbers(sample, "tests_total", "baseline_failing") == [0, 3]


def test_old_tests_whose_import_no_new_test_waits_for_close_red(sample: Sample) -> None:
    cycle(sample.write(test_top=AT_THE_TOP))
    sample.write(test_new=NEW, calc=CALC.replace("def add", "def plus"))
    assert red(sample).code == 10
    assert numbers(sample, "tests_total", "baseline_failing") == [1, 2]


def test_an_old_test_that_breaks_closes_red_and_is_named(sample: Sample) -> None:
    cycle(sample).write(test_new=NEW, calc=CALC.replace("a - b", "b - a"))
    ran = red(sample)
    assert ran.code == 10
    assert numbers(sample, "tests_total", "tests_failing", "suite_failing", "baseline_failing") == [1, 1, 2, 1]
    assert "baseline-kept: older tests that passed before this cycle and fail now: 1 of 2 (test_calc.py::test_sub)" in (
        words(ran)
    )


def test_an_old_skip_stays_exempt_and_is_shown(sample: Sample) -> None:
    skipping = "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_later():\n    pass\n"
    sample.write(test_skipping=skipping)
    cycle(sample).write(test_new=NEW)
    ran = red(sample)
    assert ran.code == 0
    assert ran.has("note    exempt: 1 known skip")


# --- known failures

BROKEN = "def test_broken():\n    assert 0\n\n\ndef test_fine():\n    pass\n"


def take_baseline(sample: Sample, *arguments: str) -> Ran:
    """The command starts pytest, which has to find the plugin though autoload is off."""
    return sample.gate("baseline", *arguments, PYTEST_PLUGINS="phase_gate.plugin")


@pytest.fixture
def with_baseline(sample: Sample) -> Sample:
    sample.write(test_old=BROKEN)
    ran = take_baseline(sample)
    assert ran.code == 0, ran.out + ran.err
    assert ran.has("baseline: 2 tests, 1 known failure", "known failure: test_old.py::test_broken")
    return sample


def test_a_known_failure_is_exempt_and_shown(with_baseline: Sample) -> None:
    sample = with_baseline.write(test_new=NEW)
    ran = red(sample, "--exit-signal=it fails")
    assert ran.code == 0
    assert ran.has("note    exempt: 1 known failure")
    assert numbers(sample) == [1, 1, 0, 2]
    sample.write(feature=FEATURE)
    assert sample.pytest("--phase=green", "-v").code == 1, "pytest's own 1 is never hidden"
    ran = sample.pytest("--phase=green", "--phase-report=verdict.json", "-v")
    assert ran.code == 1
    assert ran.has("Gate 1 is open; Gate 2 waits")
    assert numbers(sample, "tests_failing", "tests_known_failing", "consecutive_green_runs") == [0, 1, 2]


@pytest.mark.sweep
def test_a_known_failure_that_passed_once_may_not_fail_again(with_baseline: Sample) -> None:
    sample = with_baseline
    green = ("--phase=green", "--phase-report=verdict.json")
    sample.pytest(*green)
    assert numbers(sample, "tests_failing", "tests_known_failing") == [0, 1]
    sample.write(
        {"mended": ""},
        conftest="import pathlib, pytest\n\n\n@pytest.hookimpl(wrapper=True)\n"
        "def pytest_pyfunc_call(pyfuncitem):\n    if pathlib.Path('mended').exists():\n"
        "        pyfuncitem.obj = lambda: None\n    return (yield)\n",
    )
    sample.pytest(*green)
    assert numbers(sample, "tests_failing", "tests_known_failing", "tests_passing") == [0, 0, 2]
    assert state_of(sample).aim.recovered == ("test_old.py::test_broken",)
    sample.remove("mended")
    assert sample.pytest(*green).code == 1
    assert numbers(sample, "tests_failing", "tests_known_failing") == [1, 0]


@pytest.mark.sweep
def test_a_known_failure_with_another_body_is_a_target(with_baseline: Sample) -> None:
    sample = with_baseline.write(test_old=BROKEN.replace("assert 0", CHECK))
    assert red(sample).code == 0
    assert targets(sample) == ["test_old.py::test_broken"]


def test_a_baseline_in_the_middle_of_a_cycle_is_refused(with_baseline: Sample) -> None:
    sample = with_baseline.write(test_new=NEW)
    assert red(sample).code == 0
    before = (sample.root / ".phase-gate" / "ledger.jsonl").read_bytes()
    ran = take_baseline(sample)
    assert ran.code == 13
    assert ran.has("cycle 1 has begun: its baseline is what was so before it")
    assert (sample.root / ".phase-gate" / "ledger.jsonl").read_bytes() == before


@pytest.mark.sweep
def test_a_baseline_between_two_cycles_is_for_the_next_one(sample: Sample) -> None:
    cycle(sample).write(test_merged=BROKEN)
    assert take_baseline(sample).code == 0
    sample.write(test_new=NEW)
    assert red(sample).code == 0
    assert numbers(sample, "tests_total", "tests_known_failing", "baseline_total") == [1, 1, 4]


@pytest.mark.sweep
def test_a_baseline_between_two_phases_excuses_nothing_in_this_cycle(sample: Sample) -> None:
    cycle(sample)
    sample.write(
        test_calc="import pytest\n\n\n" + FAILING_TESTS.replace("def test_add", "@pytest.mark.skip\ndef test_add")
    )
    assert take_baseline(sample).code == 0
    assert state_of(sample).snapshots.baseline is None
    ran = sample.pytest("--phase=refactor", "--phase-report=verdict.json")
    assert ran.code == 10
    assert numbers(sample, "tests_newly_skipped") == [1]
    sample.write(test_calc=FAILING_TESTS.split("\n\n\n")[0] + "\n")
    sample.pytest("--phase=refactor", "--phase-report=verdict.json")
    assert numbers(sample, "tests_missing") == [1]


@pytest.mark.sweep
def test_a_baseline_of_a_revision(sample: Sample) -> None:
    sample.write(test_old=BROKEN).commit_all()
    sample.write(test_old=BROKEN.replace("assert 0", CHECK), test_new=NEW).commit_all()
    ran = take_baseline(sample, "--rev", "HEAD~1", "--json")
    assert ran.code == 0, ran.err
    assert ran.document == {"total": 2, "known_failures": ["test_old.py::test_broken"], "revision": "HEAD~1"}
    assert sample.git("worktree", "list").count("\n") == 1, "the work tree that it took is gone again"
    assert sample.git("status", "--porcelain") == ""
    assert red(sample).code == 0
    assert targets(sample) == ["test_new.py::test_new", "test_old.py::test_broken"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("files", "arguments", "said"),
    [
        pytest.param({}, (), "no test was collected", id="nothing-collected"),
        pytest.param({"test_old.py": OLD}, ("--", "-k", "nothing"), "no test was collected", id="nothing-selected"),
        pytest.param({"test_old.py": BROKEN}, ("--", "-x"), "1 tests did not run", id="stopped-early"),
        pytest.param({"test_old.py": OLD}, ("--rev", "nosuch"), "git worktree: ", id="an-unknown-revision"),
    ],
)
def test_what_is_no_baseline(sample: Sample, files: dict[str, str], arguments: tuple[str, ...], said: str) -> None:
    sample.write(files).commit_all()
    ran = take_baseline(sample, *arguments)
    assert ran.code == 13
    assert said in words(ran)
    assert not (sample.root / ".phase-gate" / "ledger.jsonl").exists()


@pytest.mark.sweep
def test_a_module_that_cannot_be_imported_is_a_known_failure(sample: Sample) -> None:
    sample.write(test_old="import no_such_module\n\n\ndef test_one():\n    pass\n", test_fine=OLD)
    assert take_baseline(sample).has("known failure: test_old.py::test_one")
    sample.write(test_new=NEW)
    assert red(sample).code == 0
    assert numbers(sample) == [1, 1, 0, 3]


# --- ids that no two runs share


SEEDED = """\
import pytest

from calc import size


@pytest.mark.parametrize("names", [frozenset({"ab", "cd", "ef", "gh", "ij"})], ids=repr)
def test_size(names):
    assert size(names) == len(names)
"""


@pytest.mark.processes
def test_ids_that_follow_the_hash_seed_are_told_so(sample: Sample) -> None:
    sample.write(test_size=SEEDED, calc="def size(names):\n    return None\n")
    assert sample.pytest_process("--phase=red", "--exit-signal=it fails", "-v", PYTHONHASHSEED="1").code == 0
    sample.write(calc="def size(names):\n    return len(names)\n")
    ran = sample.pytest_process("--phase=green", "-v", PYTHONHASHSEED="2")
    assert ran.code == 10
    assert "its id is another one in every run: it has a set, a hash or an address in it" in words(ran)
    assert "give the rows ids that stay" in words(ran)
    assert "put the tests back" not in words(ran)
