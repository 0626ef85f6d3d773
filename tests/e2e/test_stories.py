"""Stories of several days: a task from run to run, with what people do in between."""

from __future__ import annotations

from tests.e2e.sessions import state_of
from tests.support import CALC, FAILING_TESTS, Project, Result


def run(project: Project, phase: str, *arguments: str) -> Result:
    return project.run(f"--phase={phase}", "--phase-report=verdict.json", *arguments)


def found(project: Project, tier: str = "hard") -> list[tuple[str, str]]:
    """Slug and id of the last report's findings."""
    return [(row["slug"], row["id"]) for row in project.report()["findings"] if row["tier"] == tier]


# --- back to RED, on purpose and by mistake

WRONG = FAILING_TESTS.replace("sub(3, 2) == 1", "sub(3, 2) == 5")


def test_what_was_red_before_the_correction_may_not_be_skipped_after_it(project: Project) -> None:
    project.write(test_calc=WRONG)
    run(project, "red", "--exit-signal=both fail")
    project.write(calc=CALC.replace("    return a - b\n", "    return 0\n"))
    run(project, "green")
    project.write(test_calc=FAILING_TESTS)
    assert run(project, "red", "--exit-signal=the corrected one fails").code == 0
    skipping = FAILING_TESTS.replace("    from calc import add\n", "    import pytest\n\n    pytest.skip()\n")
    project.write(calc=CALC, test_calc=skipping)
    run(project, "green")
    assert ("no-new-skips", "test_calc.py::test_add") in found(project)


def test_a_corrected_test_that_passes_at_once_stays_where_a_person_can_waive_it(project: Project) -> None:
    project.write({"phase-gate.yaml": "overrides:\n  allow_non_interactive: true\n"}, test_calc=WRONG)
    run(project, "red", "--exit-signal=both fail", "-v")
    project.write(calc=CALC)
    run(project, "green", "-v")
    project.write(test_calc=FAILING_TESTS)
    ran = run(project, "red", "-v")
    assert ran.code == 10
    assert ran.has("no test of this step fails", "next    pytest --phase=green")
    assert (state_of(project).cycle, state_of(project).phase) == (1, "GREEN")
    run(project, "green", "-v")
    assert found(project) == [("tests-unchanged", "test_calc.py::test_sub")]
    sent_back = run(project, "red")
    assert sent_back.has("no test of this step", "tests-unchanged keeps GREEN closed"), "why, without -v"
    assert project.gate("waive", "tests-unchanged", "--reason", "we looked at it together", "--by", "ann").code == 0
    assert run(project, "red").has("next    pytest --phase=green"), "nothing keeps GREEN closed any more"
    project.write(test_calc=f"{FAILING_TESTS}\nassert (\n")
    assert run(project, "red").has("fails but by its syntax")
    assert state_of(project).phase == "GREEN", "a syntax error is no failing test"
    project.write(test_calc=FAILING_TESTS)
    run(project, "green")
    assert run(project, "green", "-v").code == 0
    assert project.report()["metrics"]["tests_altered"] == 1, "waived, and still said"


def test_a_cycle_that_begins_without_red_says_so_once(project: Project) -> None:
    project.write(test_ok="def test_ok():\n    pass\n")
    ran = project.run("--phase=green", "--phase-report=verdict.json", "--phase-report=verdict.md", "-v")
    assert found(project, "advisory") == [("red-was-seen", "")]
    page = (project.root / "verdict.md").read_text(encoding="utf-8")
    for text in (ran.out, page, project.gate("explain").out):
        assert " ".join(text.split()).count("RED was never seen in this cycle") == 1
        assert "red-was-seen]" not in text


def test_a_changed_rule_is_named_as_it_stands_in_the_file(project: Project) -> None:
    project.red().write({"phase-gate.yaml": "parameters:\n  required_green_runs: 1\ndocs: [notes/**]\n"}, calc=CALC)
    run(project, "green")
    assert {row["id"]: row["detail"] for row in project.report()["findings"]} == {
        "workflow parameters.required_green_runs": "was '2', is '1'",
        "setting docs": "was not set, is 'notes/**'",
    }


def test_a_module_that_is_skipped_as_a_whole_is_shown(project: Project) -> None:
    project.write(
        test_ok="def test_ok():\n    pass\n",
        test_later="import pytest\n\npytest.importorskip('no_such_module')\n\n\ndef test_later():\n    pass\n",
    )
    assert run(project, "green", "-v").has("note    exempt: 1 skipped module")
