"""Honest steps open the gate with a proof, in sandboxes of both kinds, and nothing is said against them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping

import pytest

from tests.proof.stories import ADD, WRONG
from tests.proof.twins import INI, TEST, TWINS, Twin
from tests.support import OURS, Project, Result
from tests.warm import WITH_PROOF

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("with_proof"), pytest.mark.sampled(2)]


#: pytest in an environment of the project's own, where the warm server can't help.
START = """\
import sys
import pytest
from phase_gate.proof import sandbox
if {sandbox!r} == "copied":
    sandbox._refused.add("mounted")
sys.exit(pytest.main())
"""


def lay(project: Project, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        if text is None:
            project.remove(name)
        else:
            project.write({name: text})


def run(project: Project, twin: Twin, *words: str, sandbox: str) -> Result:
    environment = {**twin.environment, WITH_PROOF: sandbox}
    python = project.root / ".venv" / "bin" / "python"
    if python.exists():
        return project.process(str(python), "-c", START.format(sandbox=sandbox), *OURS, *words, **environment)
    return project.run_process(*words, *twin.words, plugins=twin.plugins, **environment)


def do(project: Project, commands: tuple[tuple[str, ...], ...]) -> None:
    for command in commands:
        done = project.process(*(word.replace("{python}", sys.executable) for word in command))
        assert done.code == 0, done.err


def take(project: Project, twin: Twin, sandbox: str) -> Result:
    lay(project, twin.red)
    if twin.is_in_git:
        project.commit_all()
    do(project, twin.commands)
    red = run(project, twin, "--phase=red", "--exit-signal=red", sandbox=sandbox)
    assert red.code == 0, red.out
    lay(project, twin.green)
    do(project, twin.then)
    assert run(project, twin, "--phase=green", sandbox=sandbox).code == 10
    return run(project, twin, "--phase=green", "--exit-signal=done", "--phase-report=verdict.json", sandbox=sandbox)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "sandbox"), list(itertools.product(TWINS, ["mounted", "copied"])))
def test_opens(project: Project, name: str, sandbox: str) -> None:
    twin = TWINS[name]
    ran = take(project, twin, sandbox)
    assert ran.code == 0, ran.out
    verdict = project.report()
    proof = project.gate("explain", "targets-proven").out
    advice = [each["detail"] for each in verdict["findings"]]
    if sandbox == "copied" and twin.unknown_when_copied:
        assert advice == [f"could not be tried: without the change: {twin.unknown_when_copied}"]
        return
    assert advice == [], proof
    assert "Warning" not in ran.out, ran.out
    assert verdict["metrics"]["targets_proven"] == twin.targets, proof


@pytest.mark.parametrize("sandbox", ["mounted", "copied"])
def test_a_test_that_is_corrected_with_a_waiver_is_in_the_sandboxes_as_it_is_now(
    project: Project, sandbox: str
) -> None:
    wrong = TEST.replace("== 3", "== 4")
    rules = "overrides: {allow_non_interactive: true}\n"
    twin = Twin(
        red={"pytest.ini": INI, "tests/test_calc.py": wrong, "calc.py": WRONG, "phase-gate.yaml": rules},
        green={"calc.py": ADD, "tests/test_calc.py": TEST},
    )
    assert take(project, twin, sandbox).code == 10
    assert project.gate("waive", "tests-unchanged", "--reason", "1 + 2 is 3", "--by", "dev").code == 0
    run(project, twin, "--phase=green", sandbox=sandbox)
    ran = run(project, twin, "--phase=green", "--exit-signal=done", "--phase-report=verdict.json", sandbox=sandbox)
    assert ran.code == 0, ran.out
    assert project.report()["metrics"]["targets_proven"] == 1, project.gate("explain", "targets-proven").out
