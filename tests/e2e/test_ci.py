"""What a CI system is told, by real runs: summary, outputs, annotations, and properties of the JUnit report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support import CALC, Project

PASSING = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


class Runner:
    """What GitHub's runner gives a step: three names, and two files."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.summary, self.output = folder / "summary", folder / "output"
        for name in ("CI", "GITHUB_ACTIONS"):
            project.environment.setenv(name, "true")
        for name, path in (("GITHUB_STEP_SUMMARY", self.summary), ("GITHUB_OUTPUT", self.output)):
            path.touch()
            project.environment.setenv(name, str(path))

    def outputs(self) -> dict[str, str]:
        """Read the file as the runner does."""
        found: dict[str, str] = {}
        rows = iter(self.output.read_text(encoding="utf-8").splitlines())
        for row in rows:
            name, _, delimiter = row.partition("<<")
            lines: list[str] = []
            while (line := next(rows)) != delimiter:
                lines.append(line)
            found[name] = "\n".join(lines)
        return found


@pytest.fixture
def github(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    project.write({"calc.py": CALC, "test_calc.py": PASSING})
    project.environment.syspath_prepend(str(project.root))
    return Runner(project, tmp_path_factory.mktemp("runner"))


def commands(out: str) -> list[str]:
    return [row for row in out.splitlines() if row.startswith("::")]


def test_a_closed_gate_on_github(project: Project, github: Runner) -> None:
    ran = project.run("--phase=green", "--phase-report=verdict.json")
    assert ran.code == 10
    assert commands(ran.out) == [
        "::error title=Gate 1 is closed (GREEN%2C iteration 1)::not done: needs one more green run with no file changes"
        "%0Anext: pytest --phase=green"
    ]
    assert github.summary.read_text(encoding="utf-8").startswith("## Phase gate: GREEN, iteration 1\n")
    assert github.outputs() == {
        "can-exit": "false",
        "gate1": "false",
        "gate2": "false",
        "phase": "GREEN",
        "iteration": "1",
        "streak": "1",
        "run-kind": "complete",
        "reason": "needs one more green run with no file changes",
        "status": "closed",
        "next-command": "pytest --phase=green",
        "next-hint": "",
        "report-path": str(project.root / "verdict.json"),
    }
    ran = project.run("--phase=green", "--phase-exit=dual")
    assert ran.code == 10
    (message,) = commands(ran.out)
    assert message.startswith("::error title=Gate 2 is closed (GREEN%2C iteration 2)::"), "where both are asked for"


@pytest.mark.parametrize("where", ["in-a-ci-job", "at-a-desk"])
def test_a_ci_job_that_asks_for_gate_1_asks_for_no_signal(project: Project, github: Runner, where: str) -> None:
    for name in ("CI", "GITHUB_ACTIONS") if where == "at-a-desk" else ():
        project.environment.delenv(name)
    project.run("--phase=green")
    github.summary.write_text("")
    ran = project.run("--phase=green", "--phase-report=out.env")
    assert ran.code == 0
    report = (project.root / "out.env").read_text(encoding="utf-8")
    assert ("phase-gate signal" in report) is (where == "at-a-desk")
    assert ran.has(
        "next    phase-gate signal" if where == "at-a-desk" else "next    nothing: this step asks for Gate 1 only"
    )
    if where == "in-a-ci-job":
        summary = github.summary.read_text(encoding="utf-8")
        assert "**Gate 1 is open: this step asks for no more**" in summary
        assert "phase-gate signal" not in ran.out + summary + github.outputs()["next-command"]
        assert "\nNext: " not in summary, "who has all that was asked for has nothing to do"


def test_a_project_may_say_that_it_wants_none_of_it(project: Project, github: Runner) -> None:
    project.environment.delenv("GITHUB_ACTIONS")
    assert commands(project.run("--phase=green").out) == [], "nor is anything told where nobody asks"
    project.environment.setenv("GITHUB_ACTIONS", "true")
    project.write({"phase-gate.yaml": "run: {ci: off}\n"})
    ran = project.run("--phase=green")
    assert commands(ran.out) == []
    assert github.summary.read_text(encoding="utf-8") == github.output.read_text(encoding="utf-8") == ""


def test_a_file_that_can_not_be_written_changes_no_verdict(project: Project, github: Runner) -> None:
    project.environment.setenv("GITHUB_STEP_SUMMARY", str(project.root))
    project.run("--phase=green")
    ran = project.run("--phase=green")
    assert ran.code == 0
    assert "of the CI system could not be written: " in ran.text


def test_a_name_that_looks_like_a_command_is_only_shown(project: Project, github: Runner) -> None:
    project.write(
        {
            "conftest.py": "def pytest_phase_gate_evaluated(evaluation):\n"
            "    raise RuntimeError('look here:' + ' ::error::boo' * 40)\n"
        }
    )
    rows = project.run("--phase=green").out.splitlines()
    assert any(row.lstrip().startswith("\\x3a:error::boo") for row in rows), "each row of a long text is looked at"
    obeyed = [row for row in rows if row.lstrip().startswith("::") or "##[" in row]
    assert [row.partition(" title=")[0] for row in obeyed] == ["::error"], "our own"


# --- JUnit


def properties_of(path: Path) -> tuple[ElementTree.Element, dict[str, str]]:
    """Return the suite of tests, and its properties."""
    suite = ElementTree.parse(path).getroot()[0]
    found = [(each.attrib["name"], each.attrib["value"]) for each in suite.iter("property")]
    assert len(found) == len(dict(found)), "each once"
    return suite, dict(found)


def test_the_junit_report_of_the_tests_has_the_verdict(project: Project, github: Runner) -> None:
    project.write({"test_more.py": "def test_more():\n    assert 0\n"})
    ran = project.run_process("--phase=green", "--junitxml=tests.xml", "-n", "2", plugins=("xdist",))
    assert ran.code == 1
    suite, found = properties_of(project.root / "tests.xml")
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert (found["phase-gate.phase"], found["phase-gate.gate1"]) == ("GREEN", "false")
    assert found["phase-gate.reason"] == "test_more.py::test_more fails"
    project.run("--phase=green", "--phase-shard=1/2", "--junitxml=tests.xml")
    _, found = properties_of(project.root / "tests.xml")
    assert found == {"phase-gate.shard": "1/2", "phase-gate.phase": "GREEN"}
