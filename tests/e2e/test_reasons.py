"""RED for a reason: real failures in real runs, each with the class that it must get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from phase_gate.gate.failures import REMEDIES
from tests.e2e.failing import ACCEPTED, CRASH, PLUGINS, PROJECT, REFUSED, Case
from tests.support import Project

OPTIONS = ("--phase=red", "--doctest-glob=*.txt", "--tb=no", "--phase-report=verdict.json")


def write(project: Project, *cases: Case) -> None:
    project.write({**PROJECT, **{case.file: case.source for case in cases}})


def classes_of(project: Project) -> Any:
    """Return the class of each failure of the last run, by the test's id."""
    return json.loads((project.root / "classes.json").read_text(encoding="utf-8"))


def by_name(classes: Mapping[str, str], *cases: Case) -> dict[str, str]:
    names = {case.file: case.name for case in cases}
    return {names[test.partition("::")[0]]: reason for test, reason in classes.items()}


def test_every_failure_gets_its_class(project: Project) -> None:
    cases = (*ACCEPTED, *REFUSED)
    write(project, *cases)
    assert project.run_process(*OPTIONS, plugins=PLUGINS).code == 10
    assert by_name(classes_of(project), *cases) == {case.name: case.reason for case in cases}
    report = project.report()
    assert report["metrics"]["tests_refused"] == len(REFUSED)
    assert report["metrics"]["tests_failing"] == len(cases)
    assert not report["gate_1"]["satisfied"]


@pytest.mark.sweep
def test_accepted_failures_alone_open_the_gate(project: Project) -> None:
    write(project, *ACCEPTED)
    assert project.run(*OPTIONS, "--exit-signal=all of them are to be written", plugins=PLUGINS[1:]).code == 0
    report = project.report()
    assert (report["metrics"]["tests_refused"], report["can_exit"]) == (0, True)


# --- what people are told


def of(*names: str) -> list[Case]:
    found = [case for case in (*REFUSED, CRASH) if case.name in names]
    assert len(found) == len(names)
    return found


def told(text: str) -> str:
    """Return a panel as one line: where it wraps depends on the names in it."""
    return " ".join(text.split())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("cases", "arguments"),
    [
        pytest.param(
            of("syntax-error", "missing-fixture", "module-that-is-declared", "pytest-fail", "strict-xpass"),
            (),
            id="here",
        ),
        pytest.param(
            of("time-out", "teardown-only", "own-name-misspelt", "no-name-yet-and-a-stub", "crash"),
            ("-n", "2", "-p", "xdist.plugin"),
            id="on-workers",
        ),
    ],
)
def test_each_refused_test_is_named_with_its_class_and_a_remedy(
    project: Project, cases: list[Case], arguments: tuple[str, ...]
) -> None:
    write(project, *cases)
    ran = project.run_process(
        "--phase=red", "--phase-report=verdict.json", "--phase-report=verdict.md", *arguments, "-v", plugins=PLUGINS
    )
    assert ran.code == 10
    # A worker that a test killed is named besides.
    refusals = [finding for finding in project.report()["findings"] if finding["slug"] == "red-for-a-reason"]
    findings = {finding["id"].partition("::")[0]: finding for finding in refusals}
    explained = project.gate("explain", "red-for-a-reason")
    markdown = (project.root / "verdict.md").read_text(encoding="utf-8")
    for case in cases:
        finding = findings.pop(case.file)
        assert (finding["slug"], finding["tier"]) == ("red-for-a-reason", "hard")
        assert finding["detail"].startswith(f"{case.reason}")
        assert finding["detail"].endswith(f"; {REMEDIES[case.reason]}")
        assert f"{finding['id']} {told(finding['detail'])}" in told(ran.out)
        assert f"{finding['id']}: {finding['detail']}" in explained.out
        assert finding["id"] in markdown
    assert findings == {}
    assert "red-for-a-reason: tests that fail for a reason that code can't fix: 5" in " ".join(ran.out.split())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "file", "line", "detail"),
    [
        ("syntax-error", "tests/test_syntax_error.py", 1, "SyntaxError: "),
        ("syntax-error-in-the-code", "broken.py", 1, "SyntaxError: "),
        ("missing-fixture", "tests/test_missing_fixture.py", None, "FixtureLookupError: fixture 'nowhere' not found"),
        ("not-implemented-in-a-fixture", "conftest.py", 15, "NotImplementedError"),
        ("assert-false-after-a-call", "tests/test_assert_false_after_a_call.py", 9, "AssertionError: todo"),
        ("module-that-the-code-needs", "needy.py", 1, "ModuleNotFoundError: No module named 'left_pad_python'"),
    ],
)
def test_a_refusal_points_to_the_line(project: Project, name: str, file: str, line: int | None, detail: str) -> None:
    (case,) = of(name)
    write(project, case)
    assert project.run("--phase=red", "--phase-report=verdict.json").code == 10
    (finding,) = [each for each in project.report()["findings"] if each["slug"] == "red-for-a-reason"]
    assert (finding["file"], finding["line"]) == (file, line)
    assert f"{case.reason}: {detail}" in finding["detail"]


# --- whose code it is


def test_a_doctest_does_not_make_the_code_a_test(project: Project) -> None:
    project.write(PROJECT)
    project.write(
        {
            "price.py": 'def vat(price):\n    """\n    >>> vat(100)\n    19\n    """\n    raise NotImplementedError\n',
            "tests/test_price.py": "from price import vat\n\n\ndef test_vat():\n    assert vat(100) == 19\n",
        }
    )
    project.run("--phase=red", "--doctest-modules", "tests", "price.py")
    assert classes_of(project) == {
        "price.py::price.vat": "assertion",
        "tests/test_price.py::test_vat": "assertion",
    }


def test_code_in_an_environment_below_the_root_is_somebody_else_s(project: Project) -> None:
    project.write(
        {
            **PROJECT,
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [".", "venv/lib"]\n',
            "venv/pyvenv.cfg": "home = /usr/bin\n",
            "venv/lib/theirs.py": "def give():\n    raise OSError('theirs')\n",
            "tests/test_theirs.py": "from theirs import give\n\n\ndef test_it():\n    assert give()\n",
        }
    )
    project.run("--phase=red", "tests")
    assert classes_of(project) == {"tests/test_theirs.py::test_it": "assertion"}


def test_a_test_that_is_mended_is_read_anew(project: Project) -> None:
    project.write({**PROJECT, "tests/test_it.py": "def test_it():\n    from shop import vat\n\n    raise vat\n"})
    project.run("--phase=red")
    assert classes_of(project) == {"tests/test_it.py::test_it": "stub"}
    project.write({"tests/test_it.py": "def test_it():\n    from shop import vat\n\n    assert vat(1) == 1\n"})
    assert project.run("--phase=red").code == 0
    assert classes_of(project) == {"tests/test_it.py::test_it": "structural"}


def test_objects_that_can_not_be_looked_at_do_no_harm(project: Project) -> None:
    project.write(
        {
            **PROJECT,
            "tests/test_it.py": """\
class Proxy:
    def __getattribute__(self, name):
        raise RuntimeError("bound to nothing")


proxy = Proxy()


def test_it():
    own = proxy
    assert {}["price"] == own
""",
        }
    )
    ran = project.run("--phase=red")
    assert ran.code == 0
    assert "INTERNALERROR" not in ran.out
    assert classes_of(project) == {"tests/test_it.py::test_it": "assertion"}
