"""Where two spellings are one file, as on macOS and Windows: a test is known again by what it says.

The file is renamed here, which such systems show in the same way: pytest sees the new name, and git, told to ignore
case, still has the old one.
"""

from __future__ import annotations

import unicodedata

import pytest

from tests.support import CALC, FAILING_TESTS, Project

NAME = unicodedata.normalize("NFC", "test_café")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        pytest.param("test_calc", "Test_Calc", id="case"),
        pytest.param(NAME, unicodedata.normalize("NFD", NAME), id="decomposed"),
    ],
)
@pytest.mark.parametrize("is_edited", [False, True], ids=["as it was", "edited"])
def test_a_test_under_another_spelling_is_the_same_only_if_it_is_as_it_was(
    project: Project, name: str, other: str, is_edited: bool
) -> None:
    project.write({f"{name}.py": FAILING_TESTS, "pytest.ini": "[pytest]\npython_files = *est_*.py\n"})
    project.commit_all()
    project.git("config", "core.ignorecase", "true")
    project.git("config", "core.precomposeunicode", "true")
    assert project.run("--phase=red", "--exit-signal=they fail").code == 0
    project.write(calc=CALC)
    (project.root / f"{name}.py").unlink()
    project.write({f"{other}.py": FAILING_TESTS.replace("== 3", "!= 4") if is_edited else FAILING_TESTS})
    for _ in range(2):
        ran = project.run("--phase=green")
    assert ran.code == (10 if is_edited else 0)
    assert ("[tests-kept]" in ran.out) is is_edited
