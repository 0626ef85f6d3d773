"""Honest steps of every kind of suite: each has to be proven, and nothing is said against it."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Value, field
from tests.proof.stories import ADD, WRONG

INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
_FILE = "tests/test_calc.py"


class Twin(Value):
    """A step: what lay there in RED, and what came then."""

    red: Mapping[str, str]
    green: Mapping[str, str | None]
    #: What the project is when RED begins, in other words than files; `{python}` is the interpreter.
    commands: tuple[tuple[str, ...], ...] = ()
    #: Commands between RED and GREEN.
    then: tuple[tuple[str, ...], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    targets: int = 1
    #: In a copied sandbox it can't be tried, and says this.
    unknown_when_copied: str = ""
    is_in_git: bool = False


def step(test: str, files: Mapping[str, str] | None = None, **more: object) -> Twin:
    """Return a step in which a wrong function is mended, with these tests and other files."""
    red = {"pytest.ini": INI, _FILE: test, "calc.py": WRONG, **(files or {})}
    return Twin(red=red, green={"calc.py": ADD}, **more)  # type: ignore[arg-type]


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
    assert await add(1, 2) == 3
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
_WRITES = """\
import os
import pathlib
import socket
import sqlite3

import pytest

from calc import add


@pytest.fixture
def database():
    connection = sqlite3.connect("data.db")
    yield connection
    connection.close()


def test_files(tmp_path):
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/sum.txt").write_text(str(add(1, 2)))
    (tmp_path / "sum.txt").write_text(pathlib.Path("out/sum.txt").read_text())
    assert (tmp_path / "sum.txt").read_text() == "3"


def test_database(database):
    database.execute("CREATE TABLE IF NOT EXISTS sums (a, b)")
    database.execute("INSERT INTO sums VALUES (1, 2)")
    database.commit()
    assert add(*database.execute("SELECT a, b FROM sums").fetchone()) == 3


def test_port():
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
        client.sendall(str(add(1, 2)).encode())
        peer, _ = server.accept()
        with peer:
            assert peer.recv(10) == b"3"


def test_variable():
    assert add(1, int(os.environ["TWO"])) == 3


def test_dotenv():
    name, _, value = pathlib.Path(__file__).parent.parent.joinpath(".env").read_text().strip().partition("=")
    assert (name, add(1, int(value))) == ("TWO", 3)
"""
EXTENSION = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject *two(PyObject *self, PyObject *none) { return PyLong_FromLong(2); }
static PyMethodDef methods[] = {{"two", two, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", "", -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
"""
BUILD = (
    "import subprocess, sysconfig; subprocess.run(['gcc', '-shared', '-fPIC', '-I', sysconfig.get_paths()['include'],"
    " 'fast.c', '-o', 'fast' + sysconfig.get_config_var('EXT_SUFFIX')], check=True)"
)
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

TWINS: Mapping[str, Twin] = {
    "a source that git ignores is mended": Twin(
        red={"pytest.ini": INI, _FILE: TEST, "calc.py": WRONG, ".gitignore": "calc.py\n"},
        green={"calc.py": ADD},
        is_in_git=True,
    ),
    "unittest": step(_UNITTEST, targets=3),
    "pytest-bdd": step(_BDD, files={"tests/sums.feature": _FEATURE}, plugins=("pytest_bdd.plugin",)),
    "pytest-asyncio": Twin(
        red={"pytest.ini": INI, _FILE: _ASYNC, "calc.py": "async def add(a, b):\n    return 0\n"},
        green={"calc.py": "async def add(a, b):\n    return a + b\n"},
        plugins=("pytest_asyncio.plugin",),
    ),
    "doctests of modules": Twin(
        red={"pytest.ini": "[pytest]\naddopts = --doctest-modules\n", "calc.py": _DOCTEST},
        green={"calc.py": _DOCTEST.replace("return 0", "return a + b")},
    ),
    "doctests of texts": Twin(red={"test_calc.txt": _TEXT, "calc.py": WRONG}, green={"calc.py": ADD}),
    "inherited tests": step(_INHERITED, targets=2),
    "tests that need files, a database, a port and variables": step(
        _WRITES,
        files={".env": "TWO=2\n", ".gitignore": ".env\nout/\n*.db\n"},
        environment={"TWO": "2"},
        is_in_git=True,
        targets=5,
    ),
    "an editable install by a path file": Twin(
        red={_FILE: TEST, "lib/calc.py": WRONG, "pytest.ini": "[pytest]\ntestpaths = tests\n"},
        green={"lib/calc.py": ADD},
        commands=(("{python}", "-c", _VENV), ("{python}", "-c", _PTH)),
    ),
    "an editable install by a finder": Twin(
        red={_FILE: TEST, "lib/calc.py": WRONG, "pytest.ini": "[pytest]\ntestpaths = tests\n"},
        green={"lib/calc.py": ADD},
        commands=(("{python}", "-c", _VENV), ("{python}", "-c", _FINDER)),
        unknown_when_copied="lib/calc.py was imported from the project itself, not from the sandbox",
    ),
    "xdist, by the command line": step(TEST, plugins=("xdist",), words=("-n", "2")),
    "cov, with a threshold": step(
        TEST, files={"pytest.ini": f"{INI}addopts = -p pytest_cov.plugin --cov=. --cov-fail-under=100\n"}
    ),
    "an option of the project's own": step(
        "from calc import add\n\n\ndef test_add(pytestconfig):\n"
        "    assert add(1, int(pytestconfig.getoption('two'))) == 3\n",
        files={"conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--two')\n"},
        words=("--two", "2"),
    ),
    "a folder of sources that may not be written": Twin(
        red={"pytest.ini": INI, _FILE: TEST, "calc.py": WRONG, "lib/x.py": "X = 1\n"},
        green={"calc.py": ADD},
        then=(("chmod", "-R", "a-w", "lib", "tests", "calc.py"),),
    ),
    "snapshots that are written when absent": step(_SNAPSHOT),
    "only a data file": Twin(
        red={
            "pytest.ini": INI,
            _FILE: "import calc\n\n\ndef test_rate():\n    assert calc.rate() == 3\n",
            "calc.py": "import json\nimport pathlib\n\n\ndef rate():\n"
            "    return json.loads((pathlib.Path(__file__).parent / 'rates.json').read_text())['rate']\n",
            "rates.json": '{"rate": 2}\n',
        },
        green={"rates.json": '{"rate": 3}\n'},
        is_in_git=True,
    ),
}
