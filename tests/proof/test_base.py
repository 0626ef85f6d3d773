"""`phase-gate prove --base REV`: the tests of a change against an earlier revision. Real repositories, real runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from phase_gate.errors import NotAllowedError
from phase_gate.proof.base import Change, find_change, prove_change
from phase_gate.proof.proof_text import render_proof
from phase_gate.proof.sandbox import Kind
from phase_gate.proof.verdicts import Proof
from phase_gate.storage.fingerprint import take_tree
from phase_gate.storage.git_command import find_commit
from phase_gate.values import Value
from tests.proof.stories import ADD, TEST_ADD, WRONG, write
from tests.storage.repositories import git
from tests.support import Project

pytestmark = pytest.mark.processes

Files = Mapping[str, str | None]
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


# --- a row a state, honest ones first

PRICE = "def with_tax(net):\n    return net\n\n\ndef rebate(net):\n    return net / 2\n"
TAXED = "def with_tax(net):\n    return net * 2\n\n\ndef rebate(net):\n    return net / 2\n"
#: Behaves as before.
RESHAPED = "def with_tax(net):\n    return net\n\n\ndef rebate(net):\n    half = net / 2\n    return half\n"
HEAD = "import price\n\n\n"
OLD = f"{HEAD}def test_rebate():\n    assert price.rebate(4) == 2\n"
NEEDS = "\n\ndef test_tax():\n    assert price.with_tax(1) == 2\n"
GUARDS = "\n\ndef test_nothing_costs_nothing():\n    assert price.with_tax(0) == 0\n"
ALWAYS = "\n\ndef test_always():\n    assert price.with_tax(1) == 2 or True\n"
SKIPPED = "\n\ndef test_elsewhere():\n    __import__('pytest').skip('not here')\n"
VACUOUS = "\n\ndef test_new():\n    assert [price.new()]\n"
FOLLOWS = (
    "\n\nimport pytest\n\n\n@pytest.mark.parametrize('expected', [price.TAX], ids=['tax'])\n"
    "def test_tax(expected):\n    assert price.with_tax(1) == expected\n"
)
BASE = {"price.py": PRICE, "test_price.py": OLD}


class Row(Value):
    """A change, and what is to be said about it."""

    files: Files
    #: When it is refused.
    closes: Literal["never", "strict", "always"]
    #: What the answer has in it.
    message: tuple[str, ...]
    base: Mapping[str, str] = BASE
    #: Runs of pytest, where nothing has to be tried again, or alone.
    starts: int | None = None


def row(
    closes: Literal["never", "strict", "always"],
    *message: str,
    price: str = PRICE,
    tests: str = OLD,
    files: Files | None = None,
    **more: Any,
) -> Row:
    return Row(
        files={"price.py": price, "test_price.py": tests, **(files or {})}, closes=closes, message=message, **more
    )


NOTHING, ONLY = "no test is new or changed since main", "only tests changed since main"
COMPARED = f"{ONLY}: 1 passes, and there is nothing to compare it with"
REWORDED = OLD.replace("rebate(4)", "rebate(net=4)")
OTHERS = {"price.py": f"# Net.\n{PRICE}", "setup.py": "version = 2\n", ".github/workflows/ci.yml": "on: push\n"}
IN_ONE = {"test_sums.py": "def double(a):\n    return 2 * a\n\n\ndef test_double():\n    assert double(2) == 4\n"}
MARKED = f"import pytest\n{OLD}\n\n@pytest.mark.passes_already('free'){GUARDS[1:]}"
FAILS = NEEDS.replace("_tax():", "_more():").replace("2", "3")
ROWS = {
    "docs-only": row("never", NOTHING, files={"README.md": "# Prices\n"}),
    "refactoring": row("never", NOTHING, price=RESHAPED),
    "only-tests": row("never", COMPARED, tests=OLD + GUARDS),
    "only-tests-and-what-no-test-asks-for": row(
        "never", ONLY, tests=OLD + GUARDS, files=OTHERS, base={**BASE, "lib/one.py": "", "lib/README.md": ""}
    ),
    "code-beside-its-test-in-one-file": row("never", COMPARED, files=IN_ONE),
    "all-need-it": row("never", "1 of 1 test needs the change (", price=TAXED, tests=OLD + NEEDS, starts=4),
    "marked-as-guards": row("never", "_nothing: marked as passing already", price=TAXED, tests=MARKED),
    "a-guard": row(
        "strict", "1 of 2 tests needs the change; 1 passes without it (", price=TAXED, tests=OLD + NEEDS + GUARDS
    ),
    "a-rewording-in-a-refactoring": row("strict", "= test_price.py::test_rebate", price=RESHAPED, tests=REWORDED),
    "the-base-can't-be-tried": row(
        "strict",
        "? test_price.py::test_tax",
        "no module 'no_such_package'",
        "0 of 1 test needs the change; 1 is unknown",
        price=TAXED,
        tests=OLD + NEEDS,
        base={**BASE, "price.py": f"import no_such_package\n{PRICE}"},
    ),
    "a-conftest-that-needs-the-change": row(
        "strict",
        "? test_price.py::test_tax",
        "without the change: conftest.py can't be imported: ImportError: cannot import name 'TAX' from 'price'",
        price=f"{TAXED}\n\nTAX = 2\n",
        tests=OLD + NEEDS,
        files={"conftest.py": "from price import TAX\n"},
    ),
    "an-option-that-pytest-does-not-know": row(
        "strict",
        "without the change: pytest ended too early, with exit status 4: ",
        "pytest: error: unrecognized arguments: --no-such",
        price=TAXED,
        tests=OLD + NEEDS,
        base={**BASE, "pytest.ini": "[pytest]\naddopts = --no-such\n"},
    ),
    "a-check-that-holds-for-any-answer": row(
        "never",
        "! test_price.py::test_new",
        "    passes whatever the new code does: its check holds for any answer, so compare the",
        price=f"{TAXED}\n\ndef new():\n    return 1\n",
        tests=OLD + NEEDS + VACUOUS,
    ),
    "a-row-that-follows-the-change": row(
        "never",
        "1 of 1 test needs the change",
        price=f"{TAXED}\n\nTAX = 2\n",
        tests=OLD + FOLLOWS,
        base={**BASE, "price.py": f"{PRICE}\n\nTAX = 3\n"},
    ),
    "all-pass-without-but-one-that-is-skipped": row(
        "always", "1 passes without it; 1 is skipped", price=TAXED, tests=OLD + GUARDS + SKIPPED
    ),
    "all-pass-without": row(
        "always",
        "- test_price.py::test_nothing_costs_nothing",
        "0 of 1 test needs the change; 1 passes without it",
        price=TAXED,
        tests=OLD + GUARDS,
    ),
    "a-new-one-and-a-reworded-one-pass-without": row(
        "always", "0 of 2 tests need the change; 2 pass without it", price=TAXED, tests=REWORDED + GUARDS
    ),
    "fails-with": row(
        "always",
        "- test_price.py::test_more",
        "1 of 2 tests needs the change; 1 fails with it",
        price=TAXED,
        tests=OLD + NEEDS + FAILS,
    ),
    "a-check-that-can't-fail": row(
        "always",
        "- test_price.py::test_always",
        "test_price.py:13 can't fail: expecting 1000009 instead of 2 passes as well",
        "1 of 2 tests needs the change; 1 can't fail",
        "next: fix the check that can't fail: test_price.py:13",
        price=TAXED,
        tests=OLD + NEEDS + ALWAYS,
    ),
    "only-tests-and-one-can't-fail": row(
        "always", "- test_price.py::test_always", "1 passes", tests=OLD + GUARDS + ALWAYS
    ),
    "only-tests-and-one-fails": row("always", "- test_price.py::test_tax", "fails with the change", tests=OLD + NEEDS),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])
def test_what_becomes_of_a_pull_request(tmp_path: Path, row: Row) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    begin(root, row.base)
    write(root, row.files)
    change = change_of(root)
    proof = prove_change(change, seconds=240.0)
    text = render_proof(proof, change).text
    assert [message for message in row.message if message not in text] == [], text
    assert not proof.problem
    assert row.starts in (proof.starts, None), text
    refused = (row.closes == "always", row.closes != "never")
    assert (proof.closes(required=False), proof.closes(required=True)) == refused, text


# --- what a change brings, and where it can't be compared


def test_which_tests_a_change_brings(tmp_path: Path) -> None:
    begin(
        tmp_path,
        {
            "test_old.py": "def test_kept():\n    assert 1\n\n\ndef test_renamed():\n    assert 2\n\n\n"
            "def test_moved():\n    assert 3\n\n\ndef test_changed():\n    assert 4\n",
            "tests/gone.py": "",
            "pytest.ini": "[pytest]\npython_files = test_*.py tests.py\n",
        },
    )
    mark = '@pytest.mark.passes_already("guards it")'
    write(
        tmp_path,
        {
            "test_old.py": "def test_kept():\n    assert 1\n\n\ndef test_with_another_name():\n    assert 2\n\n\n"
            "def test_changed():\n    assert 44\n",
            "shop/tests.py": "def test_by_pattern():\n    assert 8\n",
            "test_new.py": "import pytest\nimport unittest\n\n\ndef test_moved():\n    assert 3\n\n\n"
            f"{mark}\ndef test_marked():\n    assert 5\n\n\n{mark}\nclass TestMarked:\n"
            "    def test_in_it(self):\n        assert 6\n\n\n"
            "class Sums(unittest.TestCase):\n    def test_unit(self):\n        self.assertTrue(7)\n",
        },
    )
    change = change_of(tmp_path)
    assert tuple(change.lines) == (
        "shop/tests.py::test_by_pattern",
        "test_new.py::Sums::test_unit",
        "test_old.py::test_changed",
    )
    assert change.marked == ("test_new.py::test_marked", "test_new.py::TestMarked::test_in_it")
    assert change.moved == ("test_new.py::test_moved", "test_old.py::test_with_another_name")


def test_what_was_merged_meanwhile_is_no_part_of_the_change(tmp_path: Path) -> None:
    begin(tmp_path, {"calc.py": WRONG})
    commit(tmp_path, {"calc.py": ADD, "test_calc.py": TEST_ADD})
    git(tmp_path, "switch", "-q", "main")
    commit(tmp_path, {"other.py": SUBTRACT, "test_other.py": "def test_other():\n    assert 1\n"})
    git(tmp_path, "switch", "-q", "topic")
    assert tuple(change_of(tmp_path).lines) == ("test_calc.py::test_add",)
    git(tmp_path, "merge", "-q", "--no-edit", "main")
    assert tuple(change_of(tmp_path).lines) == ("test_calc.py::test_add",)
    # As a forge tests it: the merge that is to be, with the base as its first parent.
    assert tuple(change_of(tmp_path, "HEAD^2").lines) == ("test_calc.py::test_add",)


@pytest.mark.sweep
def test_several_packages_from_the_top_of_their_repository(tmp_path: Path, kind: Kind) -> None:
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
    with pytest.raises(NotAllowedError, match="not know the revision 'nowhere'"):
        find_commit(full, "nowhere")


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


def test_the_command_in_a_ci_job(project: Project) -> None:
    begin(project.root, {"calc.py": WRONG})
    skips = "import calc\nimport pytest\n\n\ndef test_x():\n    if not calc.add(1, 2):\n        pytest.skip('later')\n"
    write(project.root, {"calc.py": ADD, "test_calc.py": TEST_ADD, "test_new.py": skips})
    summary = project.root.parent / "summary.md"
    ci = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    words = ("prove", "--base", "main", "--seconds", "240")
    ran = project.gate(*words, **ci)
    assert ran.code == 0
    ran.has("+ test_calc.py::test_add", "1 of 2 tests needs the change; 1 is unknown")
    (order,) = [line for line in ran.out.splitlines() if line.startswith("::")]
    assert order.startswith("::warning file=test_new.py,line=5")
    assert "it is skipped without the change" in order
    assert "- test_calc.py::test_add: fails without the change, passes" in summary.read_text(encoding="utf-8")
    strict = project.gate(*words, "--strict", **ci)
    assert (strict.code, "\n::error file=test_new.py,line=5" in f"\n{strict.out}") == (10, True)
    left = project.gate(*words, "--exclude", "test_new.py", "--json")
    assert (left.code, [each["verdict"] for each in left.document["targets"]]) == (0, ["proven"])
    nothing = project.gate(*words, "--exclude", "*.py")
    assert nothing.code == 0
    nothing.has("--exclude leaves out 2 tests, no other one is new or changed since main: nothing to prove")
