"""A test module that can't be imported is a failing attempt: counted, seen by the breaker, its error named first."""

from __future__ import annotations

import pytest

from tests.support import Project

ERROR = "test_calc.py can't be imported: ModuleNotFoundError: No module named 'no_such_module'"
BROKEN = "import no_such_module\n\n\ndef add(a, b):\n    return a + b\n"
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def step(project: Project) -> Project:
    """In GREEN, with a test module of this step and another one beside it."""
    project.write(
        test_other="def test_other():\n    pass\n",
        test_calc="import pytest\nfrom calc import add\n\n\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_add(n):\n    assert add(n, 2) == n + 2\n",
    )
    project.commit_all()
    assert project.run("--phase=red", "--exit-signal=it fails").code == 0
    return project


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "workers"])
def test_it_counts_and_its_error_is_named_first(step: Project, workers: tuple[str, ...]) -> None:
    step.write(calc=BROKEN)
    run = step.run_process if workers else step.run
    ran = run("--phase=green", "--phase-report=verdict.json", *workers, plugins=("xdist",) if workers else ())
    assert ran.code == 1, ran.out
    verdict = step.report()
    assert (verdict["run_kind"], verdict["iteration"], verdict["status"]) == ("complete", 1, "closed")
    assert verdict["reason"] == f"{ERROR}; test_calc.py::test_add fails"
    assert verdict["next_command"] == "pytest --phase=green"
    assert verdict["metrics"]["suite_passing"] == 1, "what can be run is run"
    assert step.runs()[-1]["kind"] == "complete"


def test_what_was_mended_goes_on(step: Project) -> None:
    step.write(calc=BROKEN)
    step.run("--phase=green")
    step.write(calc=RIGHT)
    assert step.run("--phase=green").code == 10
    assert step.run("--phase=green").code == 0


@pytest.mark.sweep
def test_the_same_error_opens_the_circuit(step: Project) -> None:
    for attempt in range(5):
        step.write(calc=f"{BROKEN}# {attempt}\n")
        step.run("--phase=green", "--phase-report=verdict.json")
    breaker = step.report()["breaker"]
    assert (breaker["state"], breaker["reason"]) == ("open", "the same error 5 times")
    assert step.gate("status").has("test_calc.py::test_add ModuleNotFoundError")


def test_one_that_stops_at_it_is_not_complete(step: Project) -> None:
    step.write(calc=BROKEN)
    step.run("--phase=green", "-x", "--phase-report=verdict.json")
    verdict = step.report()
    assert verdict["iteration"] is None
    assert verdict["reason"].startswith(ERROR)


def test_a_class_that_pytest_cannot_collect(step: Project) -> None:
    step.write(calc=RIGHT, test_more="import pytest\n\n\n@pytest.mark.parametrize('x', [1])\ndef test_m():\n    pass\n")
    step.run("--phase=green", "--phase-report=verdict.json")
    assert step.report()["reason"].startswith(
        "test_more.py can't be collected: In test_more.py::test_m: function uses no argument"
    )
