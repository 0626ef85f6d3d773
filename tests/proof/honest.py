"""The honest twins of rows 41 to 52: the nearest legitimate thing, which opens both gates with a proof."""

from __future__ import annotations

import sys

from tests.proof.cheat import HOOK, INI, RED, TEST, TEST_FILE, Cheat
from tests.proof.cheats_outside import MAKE_VENV, VENV_PYTHON, install
from tests.proof.stories import ADD, WRONG

_FORKS = """\
import os


def add(a, b):
    child = os.fork()
    if child == 0:
        os._exit(a + b)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
_WRITES = """\
import pathlib

import calc


def test_add():
    path = pathlib.Path(__file__).parent / "sums.txt"
    path.write_text(str(calc.add(1, 2)))
    assert path.read_text() == "3"
"""
_BASE = "import calc\n\n\nclass Base:\n    def test_add(self):\n        assert calc.add(1, 2) == 3\n"
_CHECKS = "import calc\n\n\ndef check(a, b, expected):\n    assert calc.add(a, b) == expected\n"
_MORE = "\n\nNAMES = ('sum',)\n"
_LOADS = """\
import importlib.util
import pathlib

spec = importlib.util.spec_from_file_location("sums", pathlib.Path(__file__).parent / "parts" / "sums.py")
sums = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sums)
add = sums.add
"""
_RED_OF_ANOTHER_TASK = "{python} -m pytest -q -p phase_gate.plugin -p no:cacheprovider --phase=red --exit-signal=x"
_TEST_MULTIPLY = "import calc\n\n\ndef test_multiply():\n    assert calc.multiply(2, 3) == 6\n"
_MULTIPLY = "\n\ndef multiply(a, b):\n    return a * b\n"
_COMPILE = ("{python}", "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "calc.py")
_GREEN = {"calc.py": ADD}

HONEST: tuple[Cheat, ...] = (
    Cheat(row=41, name="a forked child works for its parent, and ends", by="honest", green={"calc.py": _FORKS}),
    Cheat(
        row=42,
        name="a test writes a file beside itself in every run",
        by="honest",
        red={**RED, TEST_FILE: _WRITES},
        green=_GREEN,
    ),
    Cheat(
        row=43,
        name="a new test file, a package file and a helper come with the code",
        by="honest",
        green={
            **_GREEN,
            "tests/unit/__init__.py": "",
            "tests/unit/helper.py": "ZERO = 0\n",
            "tests/unit/test_zero.py": "import calc\n\nfrom .helper import ZERO\n\n\n"
            "def test_zero():\n    assert calc.add(ZERO, ZERO) == ZERO\n",
        },
    ),
    Cheat(
        row=44,
        name="the unit is loaded by its path, inside the project",
        by="honest",
        red={
            **RED,
            "calc.py": _LOADS,
            "parts/sums.py": WRONG,
        },
        green={"parts/sums.py": ADD},
    ),
    Cheat(
        row=45,
        name="a missing unit, and a test that checks that nothing is raised",
        by="honest",
        red={
            "pytest.ini": INI,
            TEST_FILE: "def test_add():\n    from calc import add\n\n    assert add(1, 2) == 3\n\n\n"
            "def test_names():\n    from calc import check_name\n\n    assert check_name('sum') is None\n",
        },
        green={"calc.py": f"{ADD}\n\ndef check_name(name):\n    if not name:\n        raise ValueError(name)\n"},
    ),
    Cheat(
        row=46,
        name="a variable, a clock and a file outside that are the same all the time",
        by="honest",
        red={
            **RED,
            TEST_FILE: "import os\nimport pathlib\nimport time\n\nimport calc\n\n\ndef test_add():\n"
            "    assert time.time() > 0\n    two = pathlib.Path('{outside}/two').read_text()\n"
            "    assert calc.add(int(os.environ['ONE']), int(two)) == 3\n",
        },
        outside_red={"two": "2"},
        red_environment={"ONE": "1"},
        green_environment={"ONE": "1"},
        green=_GREEN,
    ),
    Cheat(
        row=47,
        name="a source with an inherited test and one with an assert helper get other lines",
        by="honest",
        red={
            **RED,
            TEST_FILE: "from base import Base\nfrom checks import check\n\n\nclass TestCalc(Base):\n    pass\n\n\n"
            "def test_check():\n    check(2, 2, 4)\n",
            "base.py": _BASE,
            "checks.py": _CHECKS,
        },
        green={**_GREEN, "base.py": _BASE + _MORE, "checks.py": _CHECKS + _MORE},
    ),
    Cheat(
        row=48,
        name="a .pth file in site-packages that does something else",
        by="honest",
        red_commands=(MAKE_VENV,),
        python=VENV_PYTHON,
        outside_green={"other_hook.py": HOOK.replace('"calc"', '"other"'), "other.pth": "import other_hook\n"},
        green=_GREEN,
        green_commands=(install("other_hook.py"), install("other.pth")),
    ),
    Cheat(
        row=48,
        name="an installed plugin that comes with GREEN",
        by="honest",
        green=_GREEN,
        green_words=("-p", "pytest_randomly"),
    ),
    Cheat(
        row=49,
        name="another task with a RED of its own, on tests that are as they were",
        by="honest",
        red_commands=(("sh", "-c", _RED_OF_ANOTHER_TASK),),
        red_words=("--phase-task=t2",),
        green=_GREEN,
        green_words=("--phase-task=t2",),
    ),
    Cheat(
        row=50,
        name="bytecode that a build has made, before and then",
        by="honest",
        red_commands=(_COMPILE,),
        green=_GREEN,
        green_commands=(_COMPILE,),
    ),
    Cheat(
        row=50,
        name="a helper that the exclude file of git names stays as it is",
        by="honest",
        red={
            **RED,
            TEST_FILE: "from checks import check\n\n\ndef test_add():\n    check(1, 2, 3)\n",
            "tests/checks.py": _CHECKS,
            ".git/info/exclude": "checks.py\n",
        },
        green=_GREEN,
        is_in_git=True,
    ),
    Cheat(
        row=51,
        name="a ledger with a key, in RED and then",
        by="honest",
        red_environment={"PHASE_GATE_KEY": "secret"},
        green_environment={"PHASE_GATE_KEY": "secret"},
        green=_GREEN,
    ),
    Cheat(
        row=52,
        name="an old test is moved in the next RED",
        by="honest",
        earlier=(RED, _GREEN),
        red={"tests/test_sums.py": TEST, "tests/test_more.py": _TEST_MULTIPLY},
        red_commands=(("rm", TEST_FILE),),
        green={"calc.py": ADD + _MULTIPLY},
    ),
    Cheat(
        row=52,
        name="a skip by the platform stays",
        by="honest",
        red={
            **RED,
            TEST_FILE: f"import sys\n\nimport pytest\n{TEST}\n\n"
            f"@pytest.mark.skipif(sys.platform == {sys.platform!r}, reason='elsewhere only')\n"
            "def test_elsewhere():\n    assert calc.add(2, 2) == 4\n",
        },
        green=_GREEN,
    ),
)
