"""One project with every kind of outcome: our two tallies against pytest's own, alone and beside other plugins.

The first tally puts every test into one bucket, with the same numbers whether workers ran it or not. The second counts
reports by pytest's categories, and must equal the line that pytest prints.
"""

from __future__ import annotations

import pytest

from phase_gate.recording.document import TestIds
from tests.e2e.sessions import buckets_of, history_of, last_run, state_of, summary_of
from tests.support import Project
from tests.sweeps import IS_WHOLE

OUTCOMES = """\
import unittest

import pytest


@pytest.fixture
def broken():
    raise RuntimeError("in setup")


@pytest.fixture
def leaking():
    yield
    raise RuntimeError("in teardown")


@pytest.fixture
def skipping():
    pytest.skip("in a fixture")


def test_passes():
    pass


def test_fails():
    assert 0


def test_error_in_setup(broken):
    pass


def test_error_in_teardown(leaking):
    pass


def test_failure_and_error_in_teardown(leaking):
    assert 0


@pytest.mark.skip(reason="no")
def test_skip_mark():
    pass


@pytest.mark.skipif(True, reason="yes")
def test_skipif():
    pass


@pytest.mark.skipif(False, reason="no")
def test_skipif_that_does_not_apply():
    pass


def test_skip_in_the_body():
    pytest.skip("now")


def test_skip_in_a_fixture(skipping):
    pass


@pytest.mark.xfail
def test_xfail():
    assert 0


@pytest.mark.xfail(strict=False)
def test_xpass():
    pass


@pytest.mark.xfail(strict=True)
def test_xpass_strict():
    pass


@pytest.mark.xfail(run=False)
def test_xfail_not_run():
    assert 0


def test_xfail_in_the_body():
    pytest.xfail("now")


@pytest.mark.xfail
def test_xfail_in_setup(broken):
    pass


@pytest.mark.xfail
def test_xpass_with_an_error_in_teardown(leaking):
    pass


@pytest.mark.parametrize("number", [1, 2, 3])
def test_parameters(number):
    assert number != 2


@pytest.mark.parametrize("number", [])
def test_no_parameters(number):
    pass


class TestUnit(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.fail()

    @unittest.expectedFailure
    def test_expected_failure(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass

    @unittest.skip("no")
    def test_skip(self):
        pass

    def test_skip_in_the_body(self):
        self.skipTest("now")

    def test_subtests_pass(self):
        for number in range(3):
            with self.subTest(number=number):
                pass

    def test_subtest_fails(self):
        for number in range(3):
            with self.subTest(number=number):
                assert number != 1


class TestClass:
    def test_passes(self):
        pass

    def test_left_out(self):
        pass
"""

SUBTESTS = """\
import pytest


@pytest.fixture
def leaking():
    yield
    raise RuntimeError("in teardown")


def test_subtests_pass(subtests):
    for number in range(3):
        with subtests.test(number=number):
            pass


def test_subtest_fails(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number != 1


def test_subtest_and_test_fail(subtests):
    with subtests.test():
        assert 0
    assert 0


def test_subtest_and_teardown_fail(subtests, leaking):
    with subtests.test():
        assert 0


def test_subtests_skip_and_xfail(subtests):
    with subtests.test():
        pytest.skip("now")
    with subtests.test():
        pytest.xfail("now")
"""

DOCTESTS = '''\
def passes():
    """
    >>> 1 + 1
    2
    """


def fails():
    """
    >>> 1 + 1
    3
    """


def skips():
    """
    >>> 1 + 1  # doctest: +SKIP
    3
    """
'''

FILES = {
    "test_outcomes.py": OUTCOMES,
    "documented.py": DOCTESTS,
    "test_module_skips.py": 'import pytest\n\npytest.skip("no", allow_module_level=True)\n\n\ndef test_a():\n    pass',
    "test_import_skips.py": 'import pytest\n\npytest.importorskip("no_such_module")\n\n\ndef test_one():\n    pass\n',
    "test_broken.py": "import no_such_module\n\n\ndef test_one():\n    pass\n\n\nclass TestTwo:\n"
    "    def test_two(self):\n        pass\n",
    "test_unreadable.py": "def test_one(:\n    pass\n",
}

BUCKETS = {
    "documented.py::documented.fails": "failed",
    "documented.py::documented.passes": "passed",
    "documented.py::documented.skips": "skipped",
    "test_broken.py::TestTwo::test_two": "uncollectable",
    "test_broken.py::test_one": "uncollectable",
    "test_outcomes.py::TestClass::test_passes": "passed",
    "test_outcomes.py::TestUnit::test_expected_failure": "xfailed",
    "test_outcomes.py::TestUnit::test_fails": "failed",
    "test_outcomes.py::TestUnit::test_passes": "passed",
    "test_outcomes.py::TestUnit::test_skip": "skipped",
    "test_outcomes.py::TestUnit::test_skip_in_the_body": "skipped",
    "test_outcomes.py::TestUnit::test_subtest_fails": "failed",
    "test_outcomes.py::TestUnit::test_subtests_pass": "passed",
    "test_outcomes.py::TestUnit::test_unexpected_success": "failed",
    "test_outcomes.py::test_error_in_setup": "error",
    "test_outcomes.py::test_error_in_teardown": "error",
    "test_outcomes.py::test_failure_and_error_in_teardown": "error",
    "test_outcomes.py::test_fails": "failed",
    "test_outcomes.py::test_no_parameters[NOTSET]": "skipped",
    "test_outcomes.py::test_parameters[1]": "passed",
    "test_outcomes.py::test_parameters[2]": "failed",
    "test_outcomes.py::test_parameters[3]": "passed",
    "test_outcomes.py::test_passes": "passed",
    "test_outcomes.py::test_skip_in_a_fixture": "skipped",
    "test_outcomes.py::test_skip_in_the_body": "skipped",
    "test_outcomes.py::test_skip_mark": "skipped",
    "test_outcomes.py::test_skipif": "skipped-if",
    "test_outcomes.py::test_skipif_that_does_not_apply": "passed",
    "test_outcomes.py::test_xfail": "xfailed",
    "test_outcomes.py::test_xfail_in_setup": "xfailed",
    "test_outcomes.py::test_xfail_in_the_body": "xfailed",
    "test_outcomes.py::test_xfail_not_run": "xfailed",
    "test_outcomes.py::test_xpass": "xpassed",
    "test_outcomes.py::test_xpass_strict": "failed",
    "test_outcomes.py::test_xpass_with_an_error_in_teardown": "xfailed",
    "test_unreadable.py": "uncollectable",
}
#: What comes on top where a plugin, or a pytest that is new enough, can run it: files and their buckets.
ADDED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "subtests": (
        {"test_subtests.py": SUBTESTS},
        {
            "test_subtests.py::test_subtest_and_teardown_fail": "error",
            "test_subtests.py::test_subtest_and_test_fail": "failed",
            "test_subtests.py::test_subtest_fails": "failed",
            "test_subtests.py::test_subtests_pass": "passed",
            "test_subtests.py::test_subtests_skip_and_xfail": "passed",
        },
    ),
    "rerunfailures": (
        {
            "test_flaky.py": "import pytest\n\nattempts = []\n\n\ndef test_flaky():\n    attempts.append(1)\n"
            "    assert len(attempts) > 1\n\n\nset_up = []\n\n\n@pytest.fixture\ndef shaky():\n    set_up.append(1)\n"
            "    assert len(set_up) > 1\n\n\ndef test_flaky_in_setup(shaky):\n    pass\n",
        },
        {"test_flaky.py::test_flaky": "flaky", "test_flaky.py::test_flaky_in_setup": "flaky"},
    ),
    "rerunfailures with subtests": (
        {
            "test_flaky_subtest.py": "attempts = []\n\n\ndef test_flaky(subtests):\n    attempts.append(1)\n"
            "    for number in range(2):\n        with subtests.test(number=number):\n"
            "            assert number or len(attempts) > 1\n",
        },
        {"test_flaky_subtest.py::test_flaky": "flaky"},
    ),
    # Not run again: pytest-timeout gives a second attempt no time limit.
    "timeout": (
        {
            "test_slow.py": "import time\n\nimport pytest\n\n\n@pytest.mark.flaky(reruns=0)\n"
            "@pytest.mark.timeout(0.1)\ndef test_hangs():\n    time.sleep(30)\n\n\n"
            "@pytest.mark.timeout(30)\ndef test_in_time():\n    pass\n",
        },
        {"test_slow.py::test_hangs": "failed", "test_slow.py::test_in_time": "passed"},
    ),
    "asyncio": (
        {
            "test_async.py": "import asyncio\n\nimport pytest\n\n\n@pytest.mark.asyncio\nasync def test_passes():\n"
            "    await asyncio.sleep(0)\n\n\n@pytest.mark.asyncio\nasync def test_fails():\n    assert 0\n",
        },
        {"test_async.py::test_passes": "passed", "test_async.py::test_fails": "failed"},
    ),
}
HAS_SUBTESTS = pytest.version_tuple >= (9,)
WORKERS = ("-n", "2")


def matrix(project: Project, *plugins: str) -> dict[str, str]:
    """Write the project and return what is expected of each of its tests."""
    expected = dict(BUCKETS)
    project.write(FILES)
    with_subtests = ("subtests", *(f"{name} with subtests" for name in plugins)) if HAS_SUBTESTS else ()
    for name in (*plugins, *with_subtests):
        files, buckets = ADDED.get(name, ({}, {}))
        project.write(files)
        expected |= buckets
    return expected


@pytest.mark.criterion("DC-01", "DC-04")
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("plugins", "options"),
    [
        pytest.param((), (), id="alone"),
        pytest.param((), ("-v",), id="alone-verbose"),
        pytest.param(("rerunfailures",), ("--reruns", "1"), id="rerunfailures"),
        pytest.param(("randomly",), (), id="randomly"),
        pytest.param(("pytest_cov",), ("--cov=.", "--cov-report="), id="cov"),
        pytest.param(("timeout",), ("--timeout=60",), id="timeout"),
        pytest.param(("asyncio",), (), id="asyncio"),
        pytest.param(
            ("rerunfailures", "randomly", "pytest_cov", "timeout", "asyncio"),
            ("-v", "--reruns", "2", "--cov=.", "--cov-report=", "--timeout=60"),
            id="all-of-them-verbose",
        ),
    ],
)
def test_both_tallies_agree_with_pytest(project: Project, plugins: tuple[str, ...], options: tuple[str, ...]) -> None:
    expected = matrix(project, *plugins)
    arguments = ("--phase=red", "--doctest-modules", "-k", "not left_out", "--tb=no", "-rN", *options)

    # What a single plugin does on workers, it does beside the others, too.
    is_on_workers = IS_WHOLE or len(plugins) != 1
    for workers in ((), WORKERS) if is_on_workers else ((),):
        ran = project.run_process(*arguments, *workers, plugins=("xdist", *plugins))
        run = last_run(project)
        assert run["counts"] == summary_of(ran.out), f"the second tally, with {workers}\n{ran.out}"
        assert buckets_of(project) == expected, f"the first tally, with {workers}"
        assert (run["kind"], run["exit_status"], ran.code) == ("complete", 1, 10)
    assert [run["iteration"] for run in history_of(project)] == ([1, 2] if is_on_workers else [1])


def test_a_status_hook_changes_no_bucket(project: Project) -> None:
    project.write(
        conftest="def pytest_report_teststatus(report):\n"
        "    if report.when == 'call':\n        return 'passed', '.', 'FINE'\n",
        test_one="def test_fails():\n    assert 0\n",
    )
    ran = project.run("--phase=green")
    assert last_run(project)["counts"] == summary_of(ran.out) == {"passed": 1}
    assert buckets_of(project) == {"test_one.py::test_fails": "failed"}
    assert ran.code == 1


def test_a_class_that_cannot_be_collected_does_not_speak_for_its_module(project: Project) -> None:
    project.write(
        test_one="import pytest\n\n\ndef test_passes():\n    pass\n\n\nclass TestBad:\n"
        "    @pytest.mark.parametrize('absent', [1])\n    def test_one(self):\n        pass\n\n"
        "    def test_two(self):\n        pass\n\n\nclass TestGood:\n    def test_three(self):\n        pass\n"
    )
    for workers in ((), WORKERS):
        arguments = ("--phase=red", "--tb=no", "--phase-report=verdict.json")
        ran = project.run_process(*arguments, *workers, plugins=("xdist",))
        assert last_run(project)["counts"] == summary_of(ran.out)
        assert buckets_of(project) == {
            "test_one.py::TestBad::test_one": "uncollectable",
            "test_one.py::TestBad::test_two": "uncollectable",
            "test_one.py::TestGood::test_three": "passed",
            "test_one.py::test_passes": "passed",
        }
        metrics = project.report()["metrics"]
        assert (metrics["tests_passing"], metrics["tests_failing"], ran.code) == (2, 2, 10)


# --- workers

# A worker that has finished a test may be sent more of them just as it dies, which ends xdist itself: so it dies first.
CRASHING = """\
import os

import pytest


def test_crashes():
    os._exit(1)


@pytest.mark.parametrize("number", range(16))
def test_fine(number):
    pass
"""


def test_a_crashed_worker_is_replaced_and_its_test_fails(project: Project) -> None:
    project.write(test_crash=CRASHING)
    ran = project.run_process("--phase=green", *WORKERS, plugins=("xdist",))
    run = last_run(project)
    assert run["counts"] == summary_of(ran.out) == {"failed": 1, "passed": 16}
    assert (run["kind"], run["green"], ran.code) == ("complete", "not-green", 1)
    found = buckets_of(project)
    assert len(found) == 17
    assert {test_id: bucket for test_id, bucket in found.items() if bucket != "passed"} == {
        "test_crash.py::test_crashes": "error"
    }
    assert state_of(project).streak.count == 0


GROUPED = """\
import pytest


@pytest.mark.xdist_group("database")
def test_in_a_group():
    pass


@pytest.mark.xdist_group("database")
@pytest.mark.xdist_group(name="files")
@pytest.mark.parametrize("name", ["a@database", "b"])
def test_in_two_groups(name):
    pass


@pytest.mark.xdist_group
def test_in_the_default_group():
    pass


def test_in_none():
    pass
"""


def test_groups_of_workers_leave_no_trace_in_ids(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\nmarkers = xdist_group\n"}, test_groups=GROUPED)
    project.run("--phase=green")
    alone = buckets_of(project)
    assert "test_groups.py::test_in_two_groups[a@database]" in alone
    ran = project.run_process("--phase=green", *WORKERS, "--dist=loadgroup", plugins=("xdist",))
    assert buckets_of(project) == alone
    assert (last_run(project)["kind"], ran.code) == ("complete", 0), "the second green run of the same tests"


#: A worker without xdist: it keeps what it would send.
FAKE_WORKER = """\
import pathlib

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.workerinput, config.workeroutput = {}, {}
    config.option.loadgroup = True


def pytest_unconfigure(config):
    pathlib.Path("sent.json").write_text(config.workeroutput["phase_gate"])
"""


def test_a_worker_sends_what_only_it_sees_and_records_nothing(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\nmarkers = xdist_group\n"}, conftest=FAKE_WORKER, test_groups=GROUPED)
    ran = project.run("--phase=green", "-k", "not none")
    assert ran.code == 0
    assert "phase gate" not in ran.out
    assert not (project.root / ".phase-gate").exists()
    sent = project.report("sent.json")
    assert sent["deselected"] == ["test_groups.py::test_in_none"]
    assert sent["paths"] == {"test_groups.py": "test_groups.py"}
    assert sent["groups"] == ["database", "database_files", "default"]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param("test_a.py::test_x@database", "test_a.py::test_x", id="one-group"),
        pytest.param("test_a.py::test_x@database_files", "test_a.py::test_x", id="two-groups"),
        pytest.param(
            "test_a.py::test_x[a@database]@database", "test_a.py::test_x[a@database]", id="a-parameter-like-it"
        ),
        pytest.param("test_a.py::test_x[a@database]", "test_a.py::test_x[a@database]", id="only-a-parameter-like-it"),
        pytest.param("test_a.py::test_x@other", "test_a.py::test_x@other", id="no-group-of-ours"),
        pytest.param("far/test_a.py::test_x@database", "near/test_a.py::test_x", id="a-file-that-the-worker-placed"),
    ],
)
def test_the_group_that_xdist_appends_to_an_id_is_taken_off(project: Project, node: str, expected: str) -> None:
    project.write({"pytest.ini": "[pytest]\n"})  # workers name files from pytest's rootdir
    paths, groups = {"far/test_a.py": "near/test_a.py"}, ("database", "database_files")
    assert TestIds(project.pytester.parseconfig(), project.root, paths, groups).test_id(node) == expected


def test_deselected_tests_are_known_to_workers_only(project: Project) -> None:
    """pytest's own line does not count them there; the metric does."""
    project.write(test_two="def test_one():\n    pass\n\n\ndef test_two():\n    pass\n")
    project.run("--phase=green")
    ran = project.run_process("--phase=green", "-k", "one", *WORKERS, "--phase-report=verdict.json", plugins=("xdist",))
    run = last_run(project)
    assert run["counts"] == summary_of(ran.out) == {"passed": 1}
    assert project.report()["metrics"]["tests_deselected"] == 1
    assert (run["kind"], run["why"]) == ("partial", "1 known test did not run (-k 'one')")
