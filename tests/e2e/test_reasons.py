"""RED for a reason: real failures in real runs, each with the class that it must get."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from phase_gate.gate.outcomes import REMEDIES
from tests.e2e.failing import ACCEPTED, CRASH, PLUGINS, PROJECT, REFUSED, Case
from tests.support import Project

OPTIONS = ("--phase=red", "--doctest-glob=*.txt", "--doctest-modules", "--tb=no", "--phase-report=verdict.json")


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
    assert project.run_process(*OPTIONS, "tests", plugins=PLUGINS).code == 10
    assert by_name(classes_of(project), *cases) == {case.name: case.reason for case in cases}
    report = project.report()
    assert report["metrics"]["tests_refused"] == len(REFUSED)
    assert report["metrics"]["tests_failing"] == len(cases)
    assert not report["gate_1"]["satisfied"]


# --- what people are told


#: Of some refusals the place that they point to, and the error.
PLACES = {
    "syntax-error": ("tests/test_syntax_error.py", 1, "SyntaxError: "),
    "syntax-error-in-the-code": ("broken.py", 1, "SyntaxError: "),
    "missing-fixture": ("tests/test_missing_fixture.py", None, "FixtureLookupError: fixture 'nowhere' not found"),
    "assert-false-after-a-call": ("tests/test_assert_false_after_a_call.py", 9, "AssertionError: todo"),
    "module-that-the-code-needs": ("needy.py", 1, "ModuleNotFoundError: No module named 'left_pad_python'"),
}


def test_each_refused_test_is_named_with_its_class_place_and_remedy(project: Project) -> None:
    """On workers, one of which a test kills."""
    one_of_each = {case.reason: case for case in (*REFUSED, CRASH)}.values()
    cases = {*one_of_each, *(case for case in REFUSED if case.name in PLACES)}
    write(project, *cases)
    reports = ("--phase-report=verdict.json", "--phase-report=verdict.md")
    ran = project.run_process("--phase=red", *reports, "-n", "2", "-v", plugins=(*PLUGINS, "xdist.plugin"))
    assert ran.code == 10
    refusals = [finding for finding in project.report()["findings"] if finding["slug"] == "red-for-a-reason"]
    findings = {finding["id"].partition("::")[0]: finding for finding in refusals}
    explained = project.call("explain", "red-for-a-reason")
    markdown = (project.root / "verdict.md").read_text(encoding="utf-8")
    in_panel = 0
    for case in cases:
        finding = findings.pop(case.file)
        assert finding["tier"] == "hard"
        assert finding["detail"].startswith(f"is refused as {case.reason}")
        assert finding["detail"].endswith(f"; {REMEDIES[case.reason]}")
        if case.name in PLACES:
            file, line, detail = PLACES[case.name]
            assert (finding["file"], finding["line"]) == (file, line)
            assert f"{case.reason}: {detail}" in finding["detail"]
        in_panel += " ".join(f"{finding['id']} {finding['detail']}".split()) in ran.text
        assert f"{finding['id']}: {finding['detail']}" in explained.out
        assert finding["id"] in markdown
    assert findings == {}
    assert in_panel >= 5, "it names the first ones"
    count = f"red-for-a-reason: tests that fail for a reason that code can't fix: {len(cases)}"
    assert count in ran.text


def test_a_test_that_is_mended_is_read_anew(project: Project) -> None:
    project.write({**PROJECT, "tests/test_it.py": "def test_it():\n    from shop import vat\n\n    raise vat\n"})
    project.run("--phase=red")
    assert classes_of(project) == {"tests/test_it.py::test_it": "stub"}
    project.write({"tests/test_it.py": "def test_it():\n    from shop import vat\n\n    assert vat(1) == 1\n"})
    assert project.run("--phase=red").code == 0
    assert classes_of(project) == {"tests/test_it.py::test_it": "structural"}
