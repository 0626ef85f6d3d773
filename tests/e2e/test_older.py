"""What RED changes of what older tests use is named until the cycle ends; what they do not use is free."""

from __future__ import annotations

import pytest

from tests.support import Project, Result

_OLD = """\
from pathlib import Path

from calc import add
{more}

TOTAL = {total}


def test_fixture(expected):
    assert add(1, 1) == expected


def test_constant():
    assert add(1, 1) == TOTAL


def test_golden():
    assert add(1, 1) == int(Path(__file__).with_name("golden.txt").read_text())
"""
_CONFTEST = """\
import pytest


@pytest.fixture
def expected():
    return {expected}
"""
_TWICE = "def twice(number):\n    return {}\n"
_NEW = {"tests/test_twice.py": "from calc import twice\n\n\ndef test_twice():\n    assert twice(3) == 6\n"}
_INI = {"pytest.ini": "[pytest]\npythonpath = .\n"}


def old(*, total: str = "2", more: str = "") -> dict[str, str]:
    return {"tests/test_old.py": _OLD.format(total=total, more=more)}


def conftest(expected: str = "2", more: str = "") -> dict[str, str]:
    return {"tests/conftest.py": _CONFTEST.format(expected=expected) + more}


def calc(answer: str, more: str = "") -> dict[str, str]:
    return {"calc.py": f"def add(a, b):\n    return {answer}\n{more}"}


FIRST = {**_INI, **old(), **conftest(), "tests/golden.txt": "2", **calc("0")}


def run(project: Project, phase: str, *words: str) -> Result:
    return project.run(f"--phase={phase}", "--phase-report=verdict.json", *words)


def named(project: Project) -> list[str]:
    """Return what the last verdict says of older tests."""
    rows = [row for row in project.report()["findings"] if row["slug"] in ("support-changed", "tests-gone")]
    assert all(row["tier"] == "advisory" for row in rows)
    return [f"{row['id'] or row['file']}:{row['line'] or ''}" for row in rows]


def finish(project: Project) -> None:
    run(project, "green")
    ran = run(project, "green", "--exit-signal=done")
    assert ran.code == 0, ran.out


def begin(project: Project) -> None:
    """Go through a first cycle."""
    project.write(FIRST)
    assert run(project, "red", "--exit-signal=red").code == 0
    project.write(calc("a + b"))
    finish(project)


def test_line_ends_that_git_converts_are_no_change(project: Project) -> None:
    project.write({**FIRST, **calc("a + b"), "tests/golden.txt": "2\n", ".gitignore": ".phase-gate\n"})
    project.commit_all()
    project.git("config", "core.autocrlf", "true")
    for name in project.git("ls-files").split():
        (project.root / name).unlink()
    project.git("checkout", "-q", "--", ".")
    assert (project.root / "tests/golden.txt").read_bytes() == b"2\r\n"
    project.write({**_NEW, **calc("a + b", f"\n\n{_TWICE.format(0)}")})
    ran = run(project, "red", "--exit-signal=red")
    assert (ran.code, named(project)) == (0, []), ran.out


def test_what_older_tests_use_is_named_to_the_end_of_the_cycle(project: Project) -> None:
    """Here a constant; a fixture and a golden file are in the corpus."""
    project.commit_all()
    begin(project)
    # A source that follows at once, so that the older test stays green.
    follows = "42 if sys._getframe(1).f_code.co_name == 'test_constant' else a + b"
    code = calc(follows, f"\n\n{_TWICE}")["calc.py"]
    project.write({**_NEW, **old(total="42"), "calc.py": f"import sys\n\n\n{code.format(0)}"})
    ran = run(project, "red", "--exit-signal=red")
    assert (ran.code, named(project)) == (0, ["tests/test_old.py:6"]), ran.out
    project.write({"calc.py": f"import sys\n\n\n{code.format('2 * number')}"})
    finish(project)
    assert named(project) == ["tests/test_old.py:6"]
    project.write({"tests/test_last.py": "def test_last():\n    assert not 'there yet'\n"})
    run(project, "red")
    assert named(project) == [], "that was the cycle before"


@pytest.mark.processes
def test_a_profile_of_hypothesis_that_a_variable_chooses_is_named(project: Project) -> None:
    profiles = """\
import os

from hypothesis import settings

settings.register_profile("dev", max_examples=20)
settings.register_profile("quick", max_examples=1)
settings.load_profile(os.environ["PROFILE"])
"""
    project.write({**_INI, "conftest.py": profiles, **_NEW, "calc.py": _TWICE.format("0")})
    assert project.run_process("--phase=red", "--exit-signal=red", PROFILE="dev").code == 0
    project.write({"calc.py": _TWICE.format("2 * number")})
    for chosen, expected in (("dev", []), ("quick", ["was 'dev', is 'quick'"])):
        ran = project.run_process("--phase=green", "--phase-report=verdict.json", PROFILE=chosen)
        rows = project.report()["findings"]
        assert [row["detail"] for row in rows if row["slug"] == "rules-unchanged"] == expected
    assert ran.code == 0, ran.out
