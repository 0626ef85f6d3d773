"""The processes that we start: those that run no tests load nothing of the project."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import phase_gate
from tests.support import CALC, FAILING_TESTS, Sample

#: Python loads it at every start, if the project's folder is on its path.
TELLS = """\
import os, sys

with open(os.environ["TOLD"], "a", encoding="utf-8") as file:
    file.write(repr(sys.orig_argv) + "\\n")
"""


@pytest.mark.processes
@pytest.mark.usefixtures("with_proof")
def test_only_what_runs_the_tests_loads_the_projects_code(
    sample: Sample, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = tmp_path_factory.mktemp("told") / "told.txt"
    sample.write(sitecustomize=TELLS, test_calc=FAILING_TESTS)
    assert sample.pytest("--phase=red", "--exit-signal=red").code == 0
    sample.write(calc=CALC)
    sample.pytest("--phase=green")
    sample.environment.setenv("TOLD", str(told))
    sample.environment.setenv("PYTHONPATH", ".")
    ran = sample.pytest("-v", "--phase=green", "--exit-signal=done")
    assert ran.has("2 of 2 targets"), ran.out
    started = [ast.literal_eval(line) for line in told.read_text(encoding="utf-8").splitlines()]
    assert started, "the experiments run the tests"
    assert [words for words in started if words[1:3] != ["-m", "pytest"]] == []


def test_no_source_starts_a_module_of_ours() -> None:
    home = Path(phase_gate.__file__).parent
    texts = {path.relative_to(home).as_posix(): path.read_text(encoding="utf-8") for path in home.rglob("*.py")}
    calls = {name: re.findall(r"sys\.executable\b[^\]]*?\"-m\",\s*\"(\w+)\"", text) for name, text in texts.items()}
    assert {module for found in calls.values() for module in found} == {"pytest"}
    assert [name for name, text in texts.items() if re.search(r"sys\.executable[^\]]*\"-P\"", text)] == []
