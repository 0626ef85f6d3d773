"""One project with every kind of outcome: our two tallies against pytest's own, alone and beside other plugins.

The first tally puts every test into one bucket, with the same numbers whether workers ran it or not. The second counts
reports by pytest's categories, and must equal the line that pytest prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from phase_gate.recording.document import TestIds
from tests.e2e.sessions import buckets_of, last_run, state_of, summary_of
from tests.support import Project


class Row(NamedTuple):
    """A test: the bucket that it must get, or one for each of its parameters; and its source."""

    bucket: str | Mapping[str, str]
    body: str = "pass"
    arguments: str = ""
    mark: str = ""


FIXTURES = """\
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
"""

FUNCTIONS = {
    "test_passes": Row("passed"),
    "test_fails": Row("failed", "assert 0"),
    "test_error_in_setup": Row("error", arguments="broken"),
    "test_error_in_teardown": Row("error", arguments="leaking"),
    "test_failure_and_error_in_teardown": Row("error", "assert 0", "leaking"),
    "test_skip_mark": Row("skipped", mark="@pytest.mark.skip(reason='no')"),
    "test_skipif": Row("skipped-if", mark="@pytest.mark.skipif(True, reason='yes')"),
    "test_skipif_that_does_not_apply": Row("passed", mark="@pytest.mark.skipif(False, reason='no')"),
    "test_skip_in_the_body": Row("skipped", "pytest.skip('now')"),
    "test_skip_in_a_fixture": Row("skipped", arguments="skipping"),
    "test_xfail": Row("xfailed", "assert 0", mark="@pytest.mark.xfail"),
    "test_xpass": Row("xpassed", mark="@pytest.mark.xfail(strict=False)"),
    "test_xpass_strict": Row("failed", mark="@pytest.mark.xfail(strict=True)"),
    "test_xfail_not_run": Row("xfailed", "assert 0", mark="@pytest.mark.xfail(run=False)"),
    "test_xfail_in_the_body": Row("xfailed", "pytest.xfail('now')"),
    "test_xfail_in_setup": Row("xfailed", arguments="broken", mark="@pytest.mark.xfail"),
    "test_xpass_with_an_error_in_teardown": Row("xfailed", arguments="leaking", mark="@pytest.mark.xfail"),
    "test_parameters": Row(
        {"[1]": "passed", "[2]": "failed", "[3]": "passed"},
        "assert number != 2",
        "number",
        "@pytest.mark.parametrize('number', [1, 2, 3])",
    ),
    "test_no_parameters": Row(
        {"[NOTSET]": "skipped"}, arguments="number", mark="@pytest.mark.parametrize('number', [])"
    ),
}
_SUBTEST = "for number in range(3):\n    with self.subTest(number=number):\n        assert number != {}"
METHODS = {
    "test_passes": Row("passed"),
    "test_fails": Row("failed", "self.fail()"),
    "test_expected_failure": Row("xfailed", "self.fail()", mark="@unittest.expectedFailure"),
    "test_unexpected_success": Row("failed", mark="@unittest.expectedFailure"),
    "test_skip": Row("skipped", mark="@unittest.skip('no')"),
    "test_skip_in_the_body": Row("skipped", "self.skipTest('now')"),
    "test_subtests_pass": Row("passed", _SUBTEST.format(3)),
    "test_subtest_fails": Row("failed", _SUBTEST.format(1)),
}
#: Since pytest 9.
_SUBTESTS = _SUBTEST.replace("self.subTest", "subtests.test")
_ONE_FAILS = "with subtests.test():\n    assert 0\n"
SUBTESTS = {
    "test_subtests_pass": Row("passed", _SUBTESTS.format(3), "subtests"),
    "test_subtest_fails": Row("failed", _SUBTESTS.format(1), "subtests"),
    "test_subtest_and_test_fail": Row("failed", f"{_ONE_FAILS}assert 0", "subtests"),
    "test_subtest_and_teardown_fail": Row("error", _ONE_FAILS, "subtests, leaking"),
    "test_subtests_skip_and_xfail": Row(
        "passed",
        "with subtests.test():\n    pytest.skip('now')\nwith subtests.test():\n    pytest.xfail('now')",
        "subtests",
    ),
}


def write_tests(rows: Mapping[str, Row], *, more: str = "") -> str:
    """Return the source of these tests; `more` stands before their arguments."""
    return "\n".join(
        f"{row.mark}\ndef {name}({more}{row.arguments}):\n{textwrap.indent(row.body, '    ')}\n"
        for name, row in rows.items()
    )


def buckets(place: str, rows: Mapping[str, Row]) -> dict[str, str]:
    """Return the bucket of each test by its id."""
    return {
        f"{place}::{name}{suffix}": bucket
        for name, row in rows.items()
        for suffix, bucket in ({"": row.bucket} if isinstance(row.bucket, str) else row.bucket).items()
    }


_EXAMPLE = 'def {}():\n    """\n    >>> 1 + 1{}\n    {}\n    """\n\n\n'
#: A class of pytest's own, one test of which is left out by `-k`.
_CLASS = "class TestClass:\n    def test_passes(self):\n        pass\n\n    def test_left_out(self):\n        pass\n"
FILES = {
    "test_outcomes.py": "\n".join(
        (
            *(FIXTURES, write_tests(FUNCTIONS), _CLASS, "class TestUnit(unittest.TestCase):"),
            textwrap.indent(write_tests(METHODS, more="self"), "    "),
        )
    ),
    "documented.py": _EXAMPLE.format("passes", "", 2)
    + _EXAMPLE.format("fails", "", 3)
    + _EXAMPLE.format("skips", "  # doctest: +SKIP", 3),
    "test_module_skips.py": 'import pytest\n\npytest.skip("no", allow_module_level=True)\n\n\ndef test_a():\n    pass',
    "test_import_skips.py": 'import pytest\n\npytest.importorskip("no_such_module")\n\n\ndef test_one():\n    pass\n',
    "test_broken.py": "import no_such_module\n\n\ndef test_one():\n    pass\n\n\nclass TestTwo:\n"
    "    def test_two(self):\n        pass\n",
    "test_unreadable.py": "def test_one(:\n    pass\n",
}
BUCKETS = {
    **buckets("test_outcomes.py", FUNCTIONS),
    **buckets("test_outcomes.py::TestUnit", METHODS),
    "test_outcomes.py::TestClass::test_passes": "passed",
    "documented.py::documented.fails": "failed",
    "documented.py::documented.passes": "passed",
    "documented.py::documented.skips": "skipped",
    "test_broken.py::TestTwo::test_two": "uncollectable",
    "test_broken.py::test_one": "uncollectable",
    "test_unreadable.py": "uncollectable",
}
#: What comes on top where a plugin, or a pytest that is new enough, can run it: files and their buckets.
ADDED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "subtests": (
        {"test_subtests.py": f"{FIXTURES}\n\n{write_tests(SUBTESTS)}"},
        buckets("test_subtests.py", SUBTESTS),
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
@pytest.mark.parametrize(
    ("plugins", "options"),
    [
        pytest.param((), (), id="alone"),
        pytest.param(
            ("rerunfailures", "randomly", "pytest_cov", "timeout", "asyncio"),
            ("-v", "--reruns", "2", "--cov=.", "--cov-report=", "--timeout=60"),
            id="beside-others",
        ),
    ],
)
def test_both_tallies_agree_with_pytest(project: Project, plugins: tuple[str, ...], options: tuple[str, ...]) -> None:
    expected = matrix(project, *plugins)
    arguments = ("--phase=red", "--doctest-modules", "-k", "not left_out", "--tb=no", "-rN", *options)
    for number, workers in enumerate(((), WORKERS), start=1):
        ran = project.run_process(*arguments, *workers, plugins=("xdist", *plugins))
        run = last_run(project)
        assert run["counts"] == summary_of(ran.out), f"the second tally, with {workers}\n{ran.out}"
        assert buckets_of(project) == expected, f"the first tally, with {workers}"
        assert (run["kind"], run["exit_status"], run["iteration"], ran.code) == ("complete", 1, number, 10)


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
    assert state_of(project).streak == 0


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


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param("test_a.py::test_x@database_files", "test_a.py::test_x", id="two-groups"),
        pytest.param(
            "test_a.py::test_x[a@database]@database", "test_a.py::test_x[a@database]", id="a-parameter-like-it"
        ),
        pytest.param("test_a.py::test_x@other", "test_a.py::test_x@other", id="no-group-of-ours"),
        pytest.param("far/test_a.py::test_x@database", "near/test_a.py::test_x", id="a-file-that-the-worker-placed"),
    ],
)
def test_the_group_that_xdist_appends_to_an_id_is_taken_off(project: Project, node: str, expected: str) -> None:
    project.write({"pytest.ini": "[pytest]\n"})  # workers name files from pytest's rootdir
    paths, groups = {"far/test_a.py": "near/test_a.py"}, ("database", "database_files")
    assert TestIds(project.pytester.parseconfig(), project.root, paths, groups).test_id(node) == expected
