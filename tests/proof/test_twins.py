"""Honest steps of every kind of suite open the gate in sandboxes of both kinds, and nothing is said against them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from phase_gate.values import Value, field
from tests.proof.stories import ADD, TEST_ADD, WRONG
from tests.support import OURS, Project, Result
from tests.warm import WITH_PROOF

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("with_proof"), pytest.mark.sampled(2)]

Commands = tuple[tuple[str, ...], ...]
INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"
FILE = "tests/test_calc.py"


class Twin(Value):
    """A step: what was there in RED, and what came then."""

    red: Mapping[str, str]
    green: Mapping[str, str]
    #: What makes the project when RED begins, and what is done between RED and GREEN; `{python}` is the interpreter.
    commands: Commands = ()
    then: Commands = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    targets: int = 1
    #: In a copied sandbox it can't be tried, and says this.
    unknown_when_copied: str = ""
    is_in_git: bool = False


_UNITTEST = """\
import unittest

from calc import add


class Base(unittest.TestCase):
    def setUp(self):
        self.expected = 3


class CalcCase(Base):
    def test_add(self):
        self.assertEqual(add(1, 2), self.expected)

    def test_rows(self):
        for a in (1, 2):
            with self.subTest(a=a):
                self.assertEqual(add(a, 1), a + 1)


class WaitingCase(unittest.IsolatedAsyncioTestCase):
    async def test_add(self):
        self.assertEqual(add(2, 2), 4)
"""
_FEATURE = """\
Feature: Sums
  Scenario: Two numbers
    Given the numbers 1 and 2
    Then their sum is 3
"""
_BDD = """\
from pytest_bdd import given, parsers, scenarios, then

from calc import add

scenarios("sums.feature")


@given(parsers.parse("the numbers {a:d} and {b:d}"), target_fixture="total")
def total(a, b):
    return add(a, b)


@then(parsers.parse("their sum is {expected:d}"))
def check(total, expected):
    assert total == expected
"""
_ASYNC = """\
import asyncio

import pytest

from calc import add


@pytest.mark.asyncio
async def test_add():
    await asyncio.sleep(0)
    assert add(1, 2) == 3
"""
_DOCTEST = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return 0\n'
_TEXT = "Adding::\n\n    >>> from calc import add\n    >>> add(1, 2)\n    3\n"
_INHERITED = """\
from calc import add


class Common:
    first = 0

    def test_add(self):
        assert add(self.first, 2) == self.first + 2


class TestOne(Common):
    first = 1


class TestTwo(Common):
    first = 2
"""
_NEEDS = """\
import os
import pathlib

from calc import add


def test_files():
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/sum.txt").write_text(str(add(1, 2)))
    assert pathlib.Path("out/sum.txt").read_text() == "3"


def test_variable():
    assert add(1, int(os.environ["TWO"])) == 3


def test_dotenv():
    name, _, value = pathlib.Path(__file__).parent.parent.joinpath(".env").read_text().strip().partition("=")
    assert (name, add(1, int(value))) == ("TWO", 3)


def test_option(pytestconfig):
    assert add(1, int(pytestconfig.getoption("two"))) == 3
"""
_SNAPSHOT = """\
import pathlib

from calc import add


def test_add():
    path = pathlib.Path(__file__).parent / "snapshots" / "add.txt"
    path.parent.mkdir(exist_ok=True)
    said = str([add(1, 2), add(3, 4)])
    assert said != "[0, 0]"
    if not path.exists():
        path.write_text(said)
    assert said == path.read_text()
"""
_RATE = """\
import json
import pathlib


def rate():
    return json.loads((pathlib.Path(__file__).parent / "rates.json").read_text())["rate"]
"""
_VENV = "import venv; venv.create('.venv')"
_SITE = (
    "import glob, pathlib, site; folder = pathlib.Path(glob.glob('.venv/lib/python*/site-packages')[0]);"
    "known = [each for each in site.getsitepackages()];"
    "(folder / 'known.pth').write_text(''.join(f'import site; site.addsitedir({each!r})\\n' for each in known));"
)
_PTH = _SITE + "(folder / 'calc.pth').write_text(str(pathlib.Path('lib').resolve()) + '\\n')"
_FINDER = (
    _SITE + "(folder / '__editable___calc_finder.py').write_text('''import sys\n"
    "from importlib.machinery import ModuleSpec\nfrom importlib.util import spec_from_file_location\n"
    "class Finder:\n    @classmethod\n    def find_spec(cls, name, path=None, target=None):\n"
    "        if name == 'calc':\n            return spec_from_file_location(name, %r)\n"
    "def install():\n    sys.meta_path.append(Finder)\n''' % str(pathlib.Path('lib/calc.py').resolve()));"
    "(folder / '__editable__.calc.pth').write_text("
    "'import __editable___calc_finder; __editable___calc_finder.install()\\n')"
)
_INSTALLED = {FILE: TEST_ADD, "lib/calc.py": WRONG, "pytest.ini": "[pytest]\ntestpaths = tests\n"}

TWINS: Mapping[str, Twin] = {
    "tests of all kinds": Twin(
        red={
            "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests calc.py\naddopts = --doctest-modules\n",
            "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--two')\n",
            "tests/test_unittest.py": _UNITTEST,
            "tests/sums.feature": _FEATURE,
            "tests/test_bdd.py": _BDD,
            "tests/test_async.py": _ASYNC,
            "tests/test_text.txt": _TEXT,
            "tests/test_inherited.py": _INHERITED,
            "tests/test_needs.py": _NEEDS,
            "calc.py": _DOCTEST,
            ".env": "TWO=2\n",
            ".gitignore": ".env\nout/\n",
        },
        green={"calc.py": _DOCTEST.replace("return 0", "return a + b")},
        then=(("chmod", "-R", "a-w", "tests", "calc.py"),),
        environment={"TWO": "2"},
        plugins=("pytest_bdd.plugin", "pytest_asyncio.plugin", "xdist"),
        words=("-n", "2", "--two", "2"),
        is_in_git=True,
        targets=13,
    ),
    "a source that git ignores": Twin(
        red={"pytest.ini": INI, FILE: TEST_ADD, "calc.py": WRONG, ".gitignore": "calc.py\n"},
        green={"calc.py": ADD},
        is_in_git=True,
    ),
    "an editable install by a path file": Twin(
        red=_INSTALLED,
        green={"lib/calc.py": ADD},
        commands=(("{python}", "-c", _VENV), ("{python}", "-c", _PTH)),
    ),
    "an editable install by a finder": Twin(
        red=_INSTALLED,
        green={"lib/calc.py": ADD},
        commands=(("{python}", "-c", _VENV), ("{python}", "-c", _FINDER)),
        unknown_when_copied="lib/calc.py was imported from the project itself, not from the sandbox",
    ),
    "coverage with a threshold, and snapshots that are written when absent": Twin(
        red={
            "pytest.ini": f"{INI}addopts = -p pytest_cov.plugin --cov=. --cov-fail-under=90\n",
            FILE: _SNAPSHOT,
            "calc.py": WRONG,
        },
        green={"calc.py": ADD},
    ),
    "only a data file": Twin(
        red={
            "pytest.ini": INI,
            FILE: "import calc\n\n\ndef test_rate():\n    assert calc.rate() == 3\n",
            "calc.py": _RATE,
            "rates.json": '{"rate": 2}\n',
        },
        green={"rates.json": '{"rate": 3}\n'},
        is_in_git=True,
    ),
}
#: pytest in an environment of the project's own, where the warm server can't help.
START = """\
import sys
import pytest
from phase_gate.proof import sandbox
if {sandbox!r} == "copied":
    sandbox._refused.add("mounted")
sys.exit(pytest.main())
"""


def run(project: Project, twin: Twin, *words: str, sandbox: str) -> Result:
    environment = {**twin.environment, WITH_PROOF: sandbox}
    python = project.root / ".venv" / "bin" / "python"
    if python.exists():
        return project.process(str(python), "-c", START.format(sandbox=sandbox), *OURS, *words, **environment)
    return project.run_process(*words, *twin.words, plugins=twin.plugins, **environment)


def do(project: Project, commands: Commands) -> None:
    for command in commands:
        done = project.process(*(word.replace("{python}", sys.executable) for word in command))
        assert done.code == 0, done.err


def take(project: Project, twin: Twin, sandbox: str) -> Result:
    project.write(twin.red)
    if twin.is_in_git:
        project.commit_all()
    do(project, twin.commands)
    red = run(project, twin, "--phase=red", "--exit-signal=red", sandbox=sandbox)
    assert red.code == 0, red.out
    project.write(twin.green)
    do(project, twin.then)
    assert run(project, twin, "--phase=green", sandbox=sandbox).code == 10
    return run(project, twin, "--phase=green", "--exit-signal=done", "--phase-report=verdict.json", sandbox=sandbox)


@pytest.mark.parametrize("sandbox", ["mounted", "copied"])
@pytest.mark.parametrize("name", TWINS)
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
    wrong = TEST_ADD.replace("== 3", "== 4")
    rules = "overrides: {allow_non_interactive: true}\n"
    twin = Twin(
        red={"pytest.ini": INI, FILE: wrong, "calc.py": WRONG, "phase-gate.yaml": rules},
        green={"calc.py": ADD, FILE: TEST_ADD},
    )
    assert take(project, twin, sandbox).code == 10
    assert project.gate("waive", "tests-unchanged", "--reason", "1 + 2 is 3", "--by", "dev").code == 0
    run(project, twin, "--phase=green", sandbox=sandbox)
    ran = run(project, twin, "--phase=green", "--exit-signal=done", "--phase-report=verdict.json", sandbox=sandbox)
    assert ran.code == 0, ran.out
    assert project.report()["metrics"]["targets_proven"] == 1, project.gate("explain", "targets-proven").out
