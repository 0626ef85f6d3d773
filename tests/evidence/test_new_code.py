"""New code that no test reaches, by what coverage.py saw of real runs: what is said, closes the gate, or is unknown."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.support import OURS, Project, Result

pytestmark = [pytest.mark.processes, pytest.mark.sampled(3)]

NOTE = "evidence:\n  new_code: true\n"
GUARD = "phases:\n  GREEN:\n    guards: [new-code-tested]\n"

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
GREEDY = """\
def add(a, b):
    if a > 100:
        return 0
    return a + b


def sub(a, b):
    return a - b
"""
MODEST = "def add(a, b):\n    return a + b\n"
EXCLUDED = """\
def sub(a, b):  # pragma: no cover
    return a - b


if __name__ == '__main__':
    print(add(1, 2))
"""
UNTESTED = "no test reaches 2 new lines: calc.py:3, calc.py:8"

COVER = ("pytest_cov.plugin", "xdist")


def begin(project: Project, rules: str, **modules: str) -> Project:
    """Begin a cycle with a failing test, and the code that it asks for not written yet."""
    project.write({"phase-gate.yaml": rules}, test_calc=TEST, **modules)
    assert project.run("--phase=red", "--exit-signal=it fails").code == 0
    return project


@pytest.fixture
def red(project: Project) -> Project:
    return begin(project, NOTE)


def with_plugin(project: Project, *words: str) -> Result:
    return project.run_process("--phase=green", "-v", "--cov-report=", *words, plugins=COVER)


def with_coverage_run(project: Project, *words: str, options: tuple[str, ...] = ()) -> Result:
    plugins = [word for name in COVER for word in ("-p", name)]
    command = ("-m", "coverage", "run", *options, "-m", "pytest", *OURS, *plugins, "--phase=green", "-v", *words)
    return project.process(sys.executable, *command)


def measured(project: Project) -> tuple[object, object]:
    metrics = project.status()["evaluation"]["metrics"]
    return metrics.get("new_lines"), metrics.get("new_lines_untested")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--cov",), id="what-is-imported"),
        pytest.param(("--cov=calc",), id="a-module"),
        pytest.param(("--cov", "--cov-branch"), id="branches"),
        pytest.param(("--cov", "--cov-context=test"), id="contexts"),
        pytest.param(("--cov", "-n", "2"), id="workers"),
    ],
)
def test_pytest_cov_tells_what_ran(red: Project, words: tuple[str, ...]) -> None:
    red.write(calc=GREEDY)
    assert with_plugin(red, *words).has(UNTESTED)
    assert measured(red) == (6, 2)


@pytest.mark.parametrize("options", [(), ("--branch",), ("--source=.",), ("--parallel-mode",)], ids=" ".join)
def test_coverage_run_tells_what_ran_and_keeps_its_own_data(red: Project, options: tuple[str, ...]) -> None:
    red.write(calc=GREEDY)
    assert with_coverage_run(red, options=options).has(UNTESTED)
    assert measured(red) == (6, 2)
    if "--parallel-mode" in options:
        red.process(sys.executable, "-m", "coverage", "combine")
    said = red.process(sys.executable, "-m", "coverage", "report", "-m", "--include=calc.py").out
    assert "3, 8" in said, said


def test_what_no_test_imports_is_untested(red: Project) -> None:
    red.write(calc=MODEST, extra="def more():\n    return 1\n")
    assert with_plugin(red, "--cov=.").has("no test reaches 2 new lines: extra.py:1, extra.py:2")
    assert with_plugin(red, "--cov").has("no test reaches 2 new lines: extra.py:1, extra.py:2")


def test_what_coverage_excludes_is_left_out_and_said(red: Project) -> None:
    red.write(
        {".coveragerc": "[report]\nexclude_also =\n    if __name__ == .__main__.:\n"},
        calc=f"{MODEST}\n\n{EXCLUDED}",
    )
    ran = with_plugin(red, "--cov")
    assert ran.has("coverage.py is configured to exclude 4 new lines")
    assert measured(red) == (2, 0)


def test_docstrings_and_older_code_are_not_new(project: Project) -> None:
    older = "def old(x):\n    if x:\n        return 1\n    return 2\n"
    begin(project, NOTE, older=older)
    project.write(calc=f'"""Sums."""\n\nfrom older import old\n\n\n{MODEST}', older=f'"""Before."""\n\n{older}')
    with_plugin(project, "--cov")
    assert measured(project) == (3, 0)


# --- what is not known


UNKNOWN = [
    pytest.param(lambda red: red.run("--phase=green", "-v"), "did not measure this run", id="no-coverage"),
    pytest.param(lambda red: with_plugin(red, "--cov", "--no-cov"), "did not measure this run", id="switched-off"),
    pytest.param(lambda red: with_plugin(red, "--cov", "--cov-append"), "leave it out", id="appended"),
    pytest.param(lambda red: with_coverage_run(red, options=("--append",)), "leave --append out", id="run-appended"),
    pytest.param(lambda red: with_coverage_run(red, "-n", "2"), "does not measure the workers", id="run-with-workers"),
    pytest.param(lambda red: with_plugin(red, "--cov=other"), "does not measure calc.py", id="another-source"),
    pytest.param(
        lambda red: with_coverage_run(red, options=("--omit=calc.py",)), "does not measure calc.py", id="omitted"
    ),
]


@pytest.mark.parametrize(("run", "why"), UNKNOWN)
def test_without_data_of_this_run_it_is_unknown_and_says_why(
    red: Project, run: Callable[[Project], Result], why: str
) -> None:
    red.write(calc=GREEDY, other="x = 1\n")
    # Data of an earlier run lies there.
    assert with_plugin(red, "--cov").has("no test reaches")
    assert (red.root / ".coverage").is_file()
    ran = run(red)
    assert ran.has("new code is unknown", why), ran.out
    assert measured(red) == (None, None)


def test_a_guard_closes_the_gate_until_a_test_asks_for_the_lines(project: Project) -> None:
    begin(project, GUARD)
    project.write(calc=GREEDY)
    with_plugin(project, "--cov")
    ran = with_plugin(project, "--cov", "--exit-signal=done")
    assert ran.code == 10
    assert ran.has("new lines that no test reaches: 2")
    assert project.gate("explain", "new-code-tested").has("calc.py:3", "calc.py:8")
    project.write(calc=MODEST)
    with_plugin(project, "--cov")
    assert with_plugin(project, "--cov", "--exit-signal=done").code == 0


def test_a_guard_stays_closed_where_nothing_was_measured(project: Project) -> None:
    begin(project, GUARD)
    project.write(calc=MODEST)
    project.run("--phase=green")
    ran = project.run("--phase=green", "--exit-signal=done")
    assert ran.code == 10
    assert ran.has("new-code-tested", "pip install 'pytest-phase-gate[coverage]'")


def test_nothing_new_needs_no_coverage(project: Project) -> None:
    switch = "import os\n\n\ndef add(a, b):\n    return a + b if os.environ.get('ON') else None\n"
    project.write({"phase-gate.yaml": NOTE}, calc=switch, test_calc=TEST)
    assert project.run_process("--phase=red", "--exit-signal=it fails").code == 0
    ran = project.run_process("--phase=green", ON="1")
    assert "new code is unknown" not in ran.out
    assert measured(project) == (0, 0)
