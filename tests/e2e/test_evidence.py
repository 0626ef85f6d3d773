"""Evidence beside the tests, in real runs: it closes the gate, it opens it, and it is frozen with the tests."""

from __future__ import annotations

import sys

from tests.support import CALC, Project

RULES = """\
evidence:
  commands:
    build: {run: "RUN"}
phases:
  GREEN: {condition: build_ok}
"""


def rules(code: str) -> str:
    return RULES.replace("RUN", f"{sys.executable} -c '{code}'")


def test_a_build_that_fails_closes_green(project: Project) -> None:
    project.write({"phase-gate.yaml": rules("import built")}).red().write({"calc.py": CALC})
    project.run("--phase=green", "-v")
    ran = project.run("--phase=green", "-v")
    assert ran.code == 10
    assert ran.has("- build_ok")
    assert "its output is in .phase-gate/evidence/build.txt" in ran.text
    project.write({"built.py": ""})
    project.run("--phase=green", "-v")
    assert project.run("--phase=green", "-v").code == 0


def test_of_pyproject_the_values_of_our_table_are_frozen(project: Project) -> None:
    table = "[tool.phase-gate]\nfreeze = ['data/**']\n"
    project.write({"pyproject.toml": table}).red().write({"calc.py": CALC})
    project.write({"pyproject.toml": f"[tool.other]\nlines = 3\n\n{table}# the same\n"})
    project.run("--phase=green")
    assert project.run("--phase=green").code == 0
    project.write({"pyproject.toml": table.replace("data", "tables")})
    project.run("--phase=green")
    ran = project.run("--phase=green")
    assert ran.code == 10
    assert ran.has("rules-unchanged", "freeze")
