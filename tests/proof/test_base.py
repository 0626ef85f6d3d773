"""`phase-gate prove --base REV`: the tests of a change against an earlier revision."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.proof.base import prove_change
from phase_gate.proof.change import Change, find_change
from phase_gate.proof.experiment import closes
from phase_gate.proof.model import Proof
from phase_gate.source.pytest_settings import refuses_mark
from phase_gate.storage.tree.commits import find_commit
from phase_gate.storage.tree.fingerprint import take_tree
from tests.proof.stories import ADD, TEST_ADD, WRONG, write
from tests.storage.repositories import git
from tests.support import Sample

pytestmark = pytest.mark.processes

OLD = "def test_old():\n    assert calc.subtract(3, 2) == 1\n"
SUBTRACT = "def subtract(a, b):\n    return a - b\n"


def begin(root: Path, files: Mapping[str, str]) -> None:
    git(root, "init", "-q", "-b", "main")
    commit(root, files)
    git(root, "switch", "-q", "-c", "topic")


def commit(root: Path, files: Mapping[str, str | None]) -> None:
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "state")


def change_of(root: Path, revision: str = "main") -> Change:
    return find_change(root, revision, take_tree(root).files)


def prove(root: Path, revision: str = "main") -> Proof:
    return prove_change(change_of(root, revision), seconds=240.0)


def answers(proof: Proof) -> dict[str, tuple[str, str]]:
    assert not proof.problem
    return {each.id: (each.verdict, each.why) for each in proof.targets}


def test_which_tests_a_change_brings(tmp_path: Path) -> None:
    begin(
        tmp_path,
        {
            "test_old.py": "def test_kept():\n    assert 1\n\n\ndef test_renamed():\n    assert 2\n\n\n"
            "def test_moved():\n    assert 3\n\n\ndef test_changed():\n    assert 4\n",
            "tests/gone.py": "",
        },
    )
    mark = '@pytest.mark.passes_already("guards it")'
    write(
        tmp_path,
        {
            "test_old.py": "def test_kept():\n    assert 1\n\n\ndef test_with_another_name():\n    assert 2\n\n\n"
            "def test_changed():\n    assert 44\n",
            "test_new.py": "import pytest\nimport unittest\n\n\ndef test_moved():\n    assert 3\n\n\n"
            f"{mark}\ndef test_marked():\n    assert 5\n\n\n{mark}\nclass TestMarked:\n"
            "    def test_in_it(self):\n        assert 6\n\n\n"
            "class Sums(unittest.TestCase):\n    def test_unit(self):\n        self.assertTrue(7)\n",
        },
    )
    change = change_of(tmp_path)
    assert change.targets == ("test_new.py::Sums::test_unit", "test_old.py::test_changed")
    assert change.marked == ("test_new.py::test_marked", "test_new.py::TestMarked::test_in_it")
    assert change.moved == ("test_new.py::test_moved", "test_old.py::test_with_another_name")


def test_each_has_an_answer_also_while_nothing_is_committed(tmp_path: Path) -> None:
    begin(tmp_path, {"calc.py": f"{WRONG}\n\n{SUBTRACT}", "test_calc.py": "def test_x():\n    pass\n"})
    write(
        tmp_path,
        {
            "calc.py": f"{ADD}\n\n{SUBTRACT}",
            "test_calc.py": "import unittest\n\nimport calc\n\n\nclass Sums(unittest.TestCase):\n"
            "    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n"
            "    def test_subtract(self):\n        self.assertEqual(calc.subtract(3, 2), 1)\n",
            "test_alone.py": "def double(a):\n    return 2 * a\n\n\ndef test_double():\n    assert double(2) == 4\n",
            "test_helped.py": "import calc\n\n\ndef helper():\n    return calc.subtract(3, 2)\n\n\n"
            "def test_helped():\n    assert helper() == 1\n",
        },
    )
    assert answers(prove(tmp_path)) == {
        "test_calc.py::Sums::test_add": ("proven", ""),
        "test_calc.py::Sums::test_subtract": ("passes-without", ""),
        "test_alone.py::test_double": (
            "unknown",
            "double stands in the file of the test, so it can't be put back alone",
        ),
        "test_helped.py::test_helped": ("passes-without", ""),
    }


@pytest.mark.sweep
def test_tests_with_names_of_their_own_and_beside_the_code(tmp_path: Path) -> None:
    begin(tmp_path, {"calc.py": WRONG, "pytest.ini": "[pytest]\npython_files = check_*.py sums.py\n"})
    both = "def double(a):\n    return 2 * a\n\n\ndef test_double():\n    assert double(2) == 4\n"
    write(tmp_path, {"calc.py": ADD, "check_calc.py": TEST_ADD, "sums.py": both, "plain.py": both})
    assert answers(prove(tmp_path)) == {
        "check_calc.py::test_add": ("proven", ""),
        "sums.py::test_double": ("unknown", "double stands in the file of the test, so it can't be put back alone"),
    }


def test_a_base_that_does_not_import_says_nothing(tmp_path: Path) -> None:
    begin(
        tmp_path,
        {
            "calc.py": "import no_such_package\n",
            "sums.py": "def broken(:\n",
            "late.py": "raise OSError\n",
            "new.py": "",
        },
    )
    test = "from {0} import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    for name in ("calc", "sums", "late", "new"):
        write(tmp_path, {f"{name}.py": ADD, f"test_{name}.py": test.format(name)})
    broken = "the earlier revision does not import:"
    assert answers(prove(tmp_path)) == {
        "test_calc.py::test_add": ("unknown", f"{broken} no module 'no_such_package'"),
        "test_sums.py::test_add": ("unknown", f"{broken} sums.py"),
        "test_late.py::test_add": ("unknown", f"{broken} late.py"),
        "test_new.py::test_add": ("proven", ""),
    }


@pytest.mark.sweep
def test_a_conftest_that_needs_the_change_is_named(tmp_path: Path) -> None:
    begin(tmp_path, {"tests/test_old.py": "def test_old():\n    pass\n"})
    fixture = "import pytest\nfrom calc import add\n\n\n@pytest.fixture\ndef three():\n    return add(1, 2)\n"
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "calc.py": ADD,
            "tests/conftest.py": fixture,
            "tests/test_calc.py": "def test_add(three):\n    assert three == 3\n",
        },
    )
    assert answers(prove(tmp_path)) == {
        "tests/test_calc.py::test_add": (
            "unknown",
            "without the change: tests/conftest.py can't be imported: ModuleNotFoundError: No module named 'calc'",
        )
    }


@pytest.mark.sweep
def test_a_base_that_keeps_pytest_from_starting_is_named(tmp_path: Path) -> None:
    begin(tmp_path, {"pytest.ini": "[pytest]\naddopts = -p mine\n", "calc.py": WRONG, "mine.py": "import no_such\n"})
    write(tmp_path, {"calc.py": ADD, "test_calc.py": TEST_ADD, "mine.py": ""})
    ((verdict, why),) = answers(prove(tmp_path)).values()
    assert (verdict, why.partition(": ")[2].partition(",")[0]) == ("unknown", "pytest ended too early")
    assert "no_such" in why


def test_an_option_that_pytest_does_not_know_is_named(tmp_path: Path) -> None:
    begin(tmp_path, {"pytest.ini": "[pytest]\naddopts = --no-such\n", "calc.py": WRONG})
    write(tmp_path, {"calc.py": ADD, "test_calc.py": TEST_ADD})
    ((verdict, why),) = answers(prove(tmp_path)).values()
    assert verdict == "unknown"
    assert why.endswith("pytest: error: unrecognized arguments: --no-such"), why
    assert "pytest ended too early, with exit status 4: " in why


def test_what_was_merged_meanwhile_is_no_part_of_the_change(tmp_path: Path) -> None:
    begin(tmp_path, {"calc.py": WRONG})
    commit(tmp_path, {"calc.py": ADD, "test_calc.py": TEST_ADD})
    git(tmp_path, "switch", "-q", "main")
    commit(tmp_path, {"other.py": SUBTRACT, "test_other.py": "def test_other():\n    assert 1\n"})
    git(tmp_path, "switch", "-q", "topic")
    assert change_of(tmp_path).targets == ("test_calc.py::test_add",)
    git(tmp_path, "merge", "-q", "--no-edit", "main")
    assert change_of(tmp_path).targets == ("test_calc.py::test_add",)
    # As a forge tests it: the merge that is to be, with the base as its first parent.
    assert change_of(tmp_path, "HEAD^2").targets == ("test_calc.py::test_add",)


@pytest.mark.sweep
def test_a_project_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "one"
    begin(
        tmp_path,
        {
            "packages/one/calc.py": WRONG,
            "packages/one/pytest.ini": "[pytest]\npythonpath = . ../two\n",
            "packages/two/other.py": "def other():\n    return 0\n",
        },
    )
    uses = "from other import other\n\n\ndef test_other():\n    assert other() == 3\n"
    commit(tmp_path, {"packages/one/calc.py": ADD, "packages/one/test_calc.py": TEST_ADD})
    assert answers(prove(package)) == {"test_calc.py::test_add": ("proven", "")}
    commit(
        tmp_path,
        {"packages/two/other.py": "def other():\n    return 3\n", "packages/one/test_other.py": uses},
    )
    assert answers(prove(package))["test_other.py::test_other"] == (
        "unknown",
        "packages/two/other.py changed, too, outside of this project: it is not put back",
    )


def test_what_changed_elsewhere_excuses_no_test_that_does_not_use_it(tmp_path: Path) -> None:
    package = tmp_path / "packages" / "one"
    begin(tmp_path, {"packages/one/calc.py": ADD, "packages/two/other.py": "def other():\n    return 0\n"})
    commit(tmp_path, {"packages/one/test_calc.py": TEST_ADD, "packages/two/other.py": "def other():\n    return 3\n"})
    assert answers(prove(package)) == {"test_calc.py::test_add": ("passes-without", "")}


@pytest.mark.sweep
def test_several_packages_from_the_top_of_their_repository(tmp_path: Path) -> None:
    paths = (
        "import pathlib\nimport sys\n\n"
        "sys.path[:0] = [str(each) for each in pathlib.Path(__file__).parent.glob('*/src')]\n"
    )
    begin(tmp_path, {"conftest.py": paths, "one/src/calc.py": WRONG, "two/pyproject.toml": ""})
    commit(
        tmp_path,
        {
            "one/src/calc.py": ADD,
            "one/tests/test_calc.py": TEST_ADD,
            "two/src/sums.py": "from calc import add\n\n\ndef total(rows):\n    return add(*rows)\n",
            "two/tests/test_sums.py": "from sums import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
        },
    )
    proof = prove(tmp_path)
    assert answers(proof) == {
        "one/tests/test_calc.py::test_add": ("proven", ""),
        "two/tests/test_sums.py::test_total": ("proven", ""),
    }
    assert proof.unnoticed == ()


def test_a_base_that_is_not_there_names_the_way(tmp_path: Path) -> None:
    full, shallow = tmp_path / "full", tmp_path / "shallow"
    full.mkdir()
    with pytest.raises(NotAllowedError) as no_repository:
        find_commit(full, "main")
    assert no_repository.value.remedy.startswith("git init")
    begin(full, {"calc.py": WRONG})
    commit(full, {"calc.py": ADD})
    git(full, "switch", "-q", "main")
    commit(full, {"other.py": ADD})
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=topic", full.as_uri(), "shallow")
    with pytest.raises(NotAllowedError) as unknown:
        find_commit(shallow, "origin/main")
    fetch = unknown.value.remedy
    assert fetch == "git fetch origin main:refs/remotes/origin/main"
    git(shallow, "fetch", "-q", "--depth=1", *fetch.split()[2:])
    with pytest.raises(NotAllowedError) as cut_off:
        find_commit(shallow, "origin/main")
    assert cut_off.value.remedy == "git fetch --unshallow"
    git(shallow, *cut_off.value.remedy.split()[1:], "-q")
    assert find_commit(shallow, "origin/main") == git(full, "rev-parse", "main~1").strip()
    with pytest.raises(NotAllowedError, match="no revision 'nowhere'"):
        find_commit(full, "nowhere")


def test_the_command(sample: Sample) -> None:
    begin(sample.root, {"calc.py": WRONG})
    write(sample.root, {"calc.py": ADD, "test_calc.py": TEST_ADD, "test_more.py": "def test_more():\n    assert 1\n"})
    ran = sample.gate("prove", "--base", "main", "--seconds", "240")
    assert ran.code == 0
    ran.has(
        "+ test_calc.py::test_add", "= test_more.py::test_more", "1 of 2 tests needs the change; 1 passes without it"
    )
    strict = sample.gate("prove", "--base", "main", "--seconds", "240", "--strict")
    assert strict.code == 10
    strict.has("- test_more.py::test_more", "next: let it fail without the change, or mark")
    left = sample.gate("prove", "--base", "main", "--seconds", "240", "--exclude", "test_more.py", "--json")
    assert (left.code, [each["verdict"] for each in left.document["targets"]]) == (0, ["proven"])
    nothing = sample.gate("prove", "--base", "main", "--exclude", "*.py")
    assert nothing.code == 0
    nothing.has("nothing to prove")


def test_a_project_that_is_not_installed_is_to_be_installed_first(tmp_path: Path) -> None:
    begin(tmp_path, {"src/calc/__init__.py": WRONG, "pyproject.toml": "[project]\nname = 'calc'\nversion = '1'\n"})
    write(tmp_path, {"src/calc/__init__.py": ADD, "tests/test_calc.py": TEST_ADD})
    write(tmp_path, {"tests/test_more.py": TEST_ADD.replace("test_add", "test_more")})
    problem = prove(tmp_path).problem
    assert problem.startswith("no module named 'calc': install the project first (pip install -e .), or name")
    # So it is where a conftest.py already keeps pytest from starting.
    write(tmp_path, {"tests/conftest.py": "import calc\n"})
    assert prove(tmp_path).problem == problem
    write(tmp_path, {"tests/conftest.py": None})
    # Another module of the project is missing: that is the change's own fault.
    write(
        tmp_path, {"tests/test_calc.py": TEST_ADD.replace("calc", "json.calc"), "tests/test_more.py": "import calx\n"}
    )
    assert [each.verdict for each in prove(tmp_path).targets] == ["fails-with"]


@pytest.mark.sweep
def test_what_took_too_long_is_unknown_and_never_refused(tmp_path: Path) -> None:
    begin(tmp_path, {"calc.py": WRONG})
    write(tmp_path, {"calc.py": ADD, "test_calc.py": f"import time\n{TEST_ADD}    time.sleep(60)\n"})
    proof = prove_change(change_of(tmp_path), seconds=4.0)
    assert [each.verdict for each in proof.targets] == ["unknown"]
    assert (closes(proof, required=False), closes(proof, required=True)) == (False, True)


def test_the_advice_works_where_marks_are_strict_and_the_plugin_is_not_there(sample: Sample) -> None:
    settings = "[pytest]\naddopts = --strict-markers\n"
    begin(sample.root, {"calc.py": WRONG, "pytest.ini": settings})
    test = "import pytest\nimport calc\n\n\n{}def test_zero():\n    assert calc.add(0, 0) == 0\n"
    write(sample.root, {"calc.py": ADD, "test_calc.py": test.format("")})
    ran = sample.gate("prove", "--base", "main", "--seconds", "240")
    assert ran.code == 10
    mark, line = re.findall(r"(@pytest.mark.*?\(.*?\))|(markers = .*)", ran.out)
    write(sample.root, {"test_calc.py": test.format(f"{mark[0]}\n")})
    plain = (sys.executable, "-m", "pytest", "-q", "-p", "no:phase_gate")
    assert sample.process(*plain).code == 2
    write(sample.root, {"pytest.ini": f"{settings}{line[1]}\n"})
    assert sample.process(*plain).code == 0
    assert sample.gate("prove", "--base", "main").code == 0


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("pytest.ini", "[pytest]\n", False, id="lenient"),
        pytest.param("pytest.ini", "[pytest]\naddopts = -q --strict-markers\n", True, id="an-option"),
        pytest.param("pyproject.toml", "[tool.pytest.ini_options]\nstrict_markers = true\n", True, id="a-setting"),
        pytest.param("pyproject.toml", "[tool.pytest]\nstrict = true\n", True, id="strict-in-all"),
        pytest.param("tox.ini", "[pytest]\nfilterwarnings = error\n", True, id="warnings-are-errors"),
        pytest.param(
            "pytest.ini", "[pytest]\nstrict = yes\nmarkers =\n  passes_already: fine\n", False, id="registered"
        ),
        pytest.param("pyproject.toml", "[tool.ruff]\nstrict = true\n", False, id="settings-of-others"),
        pytest.param("pyproject.toml", "", False, id="no-file"),
    ],
)
def test_where_a_mark_has_to_be_registered(name: str, text: str, expected: bool) -> None:
    assert refuses_mark(name, text, "passes_already") is expected


def test_what_a_ci_job_gets(sample: Sample) -> None:
    begin(sample.root, {"calc.py": f"{WRONG}\n\n{SUBTRACT}", "test_old.py": "import calc\n\n\n" + OLD})
    write(
        sample.root,
        {"calc.py": f"{ADD}\n\n{SUBTRACT}", "test_calc.py": TEST_ADD, "test_new.py": "def test_x():\n    assert 1\n"},
    )
    write(sample.root, {"test_old.py": "import calc\n\n\n" + OLD.replace("3, 2", "3, b=2")})
    summary = sample.root.parent / "summary.md"
    told = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    ran = sample.gate("prove", "--base", "main", "--seconds", "240", **told)
    assert ran.code == 0
    orders = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert [order.partition("::test")[0].partition(",title")[0] for order in orders] == [
        "::warning file=test_old.py,line=4"
    ]
    assert "changed without need" in orders[0]
    assert "| `test_calc.py::test_add` | fails | passes |" in summary.read_text(encoding="utf-8")
    ran = sample.gate("prove", "--base", "main", "--seconds", "240", "--strict", **told)
    orders = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert [order.partition(" ")[0] for order in orders] == ["::error", "::error"]
    plain = sample.gate("prove", "--base", "main", "--seconds", "240", "--markdown", **told)
    assert "::" not in plain.out.replace("py::", "")
