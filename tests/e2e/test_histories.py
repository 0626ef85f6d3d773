"""What real histories contain: tests that move, doctests, tests made at run time, tables with one new row."""

from __future__ import annotations

import os
import shutil
import unicodedata

import pytest

from tests.support import CALC, FAILING_TESTS, Project

SIGNAL = ("signal", "--reason", "seen")
NEW = "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"


MUL = f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"


# --- tests that move


def test_what_came_after_the_freeze_may_go(project: Project) -> None:
    project.red().write(calc=CALC, test_more="def test_more():\n    assert 1 + 1 == 2\n")
    project.run("--phase=green", "-v")
    project.remove("test_more.py")
    project.run("--phase=green", "-v")
    assert project.run("--phase=green", "-v").code == 0


# --- doctests

DOUBLE = '''\
def double(number):
    """Return twice the number.

    >>> double(2)
    4
    """
    return number
'''


def test_the_code_beside_a_doctest_may_change(project: Project) -> None:
    project.write(double=DOUBLE)
    assert project.run("--phase=red", "--doctest-modules").code == 0
    assert project.gate(*SIGNAL).code == 0
    mended = DOUBLE.replace("return number", "return number * FACTOR").replace("twice", "two times")
    project.write(double=f"import os\n\nFACTOR = 2\nos.environ['X'] = '1'\n\n\n{mended}")
    project.run("--phase=green", "--doctest-modules")
    green = project.run("--phase=green", "--doctest-modules")
    assert green.code == 0, green.out


def test_the_examples_of_a_doctest_are_frozen(project: Project) -> None:
    project.write(double=DOUBLE)
    project.run("--phase=red", "--doctest-modules")
    assert project.gate(*SIGNAL).code == 0
    project.write(double=DOUBLE.replace("    4\n", "    2\n"))
    assert project.run("--phase=green", "--doctest-modules").has("tests-unchanged", "double.py::double.double")


def test_a_doctest_that_is_not_asked_for_is_not_gone(project: Project) -> None:
    project.write(double=DOUBLE, test_mul=NEW)
    project.run("--phase=red", "--doctest-modules")
    assert project.gate(*SIGNAL).code == 0
    project.write(calc=MUL, double=DOUBLE.replace("return number", "return number * 2"))
    assert project.run("--phase=green").has("partial run")


def test_a_committed_text_with_examples_is_old(project: Project) -> None:
    project.write({"docs/spec.rst": "A sum:\n\n>>> 1 + 1\n2\n"}).commit_all()
    project.write(test_mul=NEW)
    red = project.run("--phase=red", "--doctest-glob=*.rst")
    assert red.code == 0, red.out
    assert project.status()["evaluation"]["gate_1"]["values"]["tests_total"] == 1


# --- tests that no source shows

MADE = """\
class TestMade:
    pass


for number in {numbers}:
    setattr(TestMade, f"test_{{number}}", lambda self, number=number: check(number))


def check(number):
    assert number < 3
"""


def test_tests_made_by_setattr_are_old(project: Project) -> None:
    project.write(test_made=MADE.format(numbers="(1, 2)")).commit_all()
    more = "\n\ndef test_mul():\n    from calc import mul\n\n    assert mul(2, 3) == 6\n"
    project.write(test_made=MADE.format(numbers="(1, 2, 3)") + more)
    red = project.run("--phase=red")
    assert red.code == 0, red.out


# --- tests that pass already


GUARD = "@pytest.mark.passes_already({reason})\ndef test_guard():\n    assert add(0, 0) == 0\n"
WITH_GUARD = f"import pytest\n\nfrom calc import add\n\n\n{GUARD}"


def test_a_test_that_guards_what_works_is_shown_and_not_counted(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\naddopts = --strict-markers\n"})
    project.write(calc=CALC, test_guard=WITH_GUARD.format(reason='"zero has worked all along"'), test_mul=NEW)
    red = project.run("--phase=red", "-v")
    assert red.code == 0, red.out
    assert "not counted: test_guard.py::test_guard (zero has worked all along)" in red.text
    assert project.status()["evaluation"]["gate_1"]["values"]["tests_total"] == 1


def test_marks_of_workers_count(project: Project) -> None:
    project.write(calc=CALC, test_guard=WITH_GUARD.format(reason='reason="zero"'), test_mul=NEW)
    red = project.run_process("--phase=red", "-n", "1", "-v", plugins=("xdist",))
    assert red.code == 0, red.out
    assert "test_guard.py::test_guard (zero)" in red.text


@pytest.mark.parametrize("reason", ["", "reason=None"])
def test_a_mark_without_a_reason_does_not_count(project: Project, reason: str) -> None:
    project.write(calc=CALC, test_guard=WITH_GUARD.format(reason=reason), test_mul=NEW)
    red = project.run("--phase=red")
    assert red.code == 10
    assert red.has("1 test already passes", "test_guard.py::test_guard", "the mark does not count without a reason")


def test_a_marked_test_in_a_module_that_cannot_be_imported(project: Project) -> None:
    project.write(test_guard=WITH_GUARD.format(reason='"zero"') + "\n\ndef test_new():\n    assert add(1, 1) == 2\n")
    assert project.run("--phase=red").code == 0
    assert project.status()["evaluation"]["gate_1"]["values"]["tests_total"] == 1


# --- RED and GREEN do not send each other back


@pytest.fixture
def in_green(project: Project) -> Project:
    project.write({"phase-gate.yaml": "overrides:\n  allow_non_interactive: true\n"})
    project.environment.setenv("CI", "")
    project.commit_all()
    project.red().write(calc=CALC)
    project.run("--phase=green")
    return project


@pytest.mark.parametrize("guard", ["tests-unchanged", "red-was-seen"])
def test_a_person_is_named_where_both_phases_refuse(in_green: Project, guard: str) -> None:
    if guard == "tests-unchanged":
        in_green.write(conftest="import pytest\n\n\n@pytest.fixture\ndef cart():\n    return []\n")
    else:
        shutil.rmtree(in_green.root / ".phase-gate")
    assert in_green.run("--phase=green", "-v").has(guard, "pytest --phase=red")
    assert "    : " not in in_green.gate("explain", guard).out, "a finding on no file or test has no subject"
    back = in_green.run("--phase=red", "-v")
    assert back.code == 10
    assert "git stash push -u -- FILE), then run: pytest --phase=red" in back.text, "by name: the new test stays"
    assert f'phase-gate waive {guard} --reason "..." --by NAME' in back.text
    assert in_green.gate("waive", guard, "--reason", "a fixture for later", "--by", "alice").code == 0
    in_green.run("--phase=green", "-v")
    assert in_green.run("--phase=green", "-v").code == 0


def test_red_says_what_to_do_where_the_code_is_there_already(project: Project) -> None:
    project.write(calc=CALC, test_calc=FAILING_TESTS).commit_all()
    project.run("--phase=red", "--phase-report=verdict.json")
    hint = project.report()["next_hint"]
    assert hint.startswith("write a test that fails; if its code is there already, take that back (")
    assert "git stash" in hint


# --- two spellings of one file, as on macOS and Windows
# It is renamed here, which such systems show in the same way: git, told to ignore case, still has the old one.

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


# --- a filter of git's, as git-crypt installs it

OLD_TEST = "def test_old():\n    assert 1 + 1 == 2\n"


@pytest.fixture
def crypt(project: Project) -> Project:
    """All sources are kept in another form than they have here; what was committed is no Python."""
    project.write({".gitignore": "__pycache__\n.phase-gate\n", ".gitattributes": "*.py filter=crypt\n"})
    project.write({"tests/test_old.py": OLD_TEST})
    project.git("init", "-q")
    project.git("config", "filter.crypt.clean", "printf '\\0CRYPT'; tr a-y b-z")
    project.git("config", "filter.crypt.smudge", "tail -c +7 | tr b-z a-y")
    project.git("config", "filter.crypt.required", "true")
    project.commit_all()
    return project


def test_a_cycle_with_commits_and_checkouts_in_it(crypt: Project) -> None:
    main = crypt.git("branch", "--show-current").strip()
    crypt.write({"tests/test_calc.py": FAILING_TESTS})
    # The old test passes: it is known by its last commit, encrypted or not.
    assert crypt.run("--phase=red").code == 0
    crypt.commit_all()
    assert crypt.gate("signal", "--reason", "both fail").code == 0
    crypt.write({"tests/calc.py": CALC})
    assert crypt.run("--phase=green").code == 10, "once"
    crypt.commit_all()
    crypt.git("checkout", "-q", "HEAD~1")
    crypt.git("checkout", "-q", main)
    os.utime(crypt.root / "tests/calc.py", (1, 1))
    assert crypt.gate("check", "--gate1").code == 10
    assert crypt.run("--phase=green").code == 0, "twice, on the same sources"
    crypt.git("status")
    assert crypt.gate("check", "--gate1").code == 0
    assert crypt.gate("signal", "--reason", "both pass, twice").code == 0
    crypt.write({"tests/calc.py": f"{CALC}# more\n"})
    assert crypt.gate("check").has("files have changed")


# --- line ends that git converts


def test_they_are_no_change_of_what_older_tests_use(project: Project) -> None:
    old = "from pathlib import Path\n\nFILE = Path(__file__).with_name('old.txt')\n\n\n"
    project.write({"pytest.ini": "[pytest]\npythonpath = .\n", ".gitignore": ".phase-gate\n", "calc.py": CALC})
    project.write({"tests/test_old.py": f"{old}def test_old():\n    assert FILE.read_text() == '2\\n'\n"})
    project.write({"tests/old.txt": "2\n"}).commit_all()
    project.git("config", "core.autocrlf", "true")
    for name in project.git("ls-files").split():
        (project.root / name).unlink()
    project.git("checkout", "-q", "--", ".")
    assert (project.root / "tests/old.txt").read_bytes() == b"2\r\n"
    project.write({"tests/test_mul.py": NEW})
    assert project.run("--phase=red", "--exit-signal=red", "--phase-report=verdict.json").code == 0
    assert project.report()["findings"] == []
