"""Rows 41 to 46 as small stories: who ends a run, what reaches over to tests, what was red for another cause."""

from __future__ import annotations

from tests.proof.cheat import (
    CANNOT_FAIL,
    CHECKS_NOTHING,
    FAILS_WITH,
    HOOK,
    INI,
    LOOSE,
    MENDS,
    PASSES_WITHOUT,
    RED,
    TEST,
    TEST_FILE,
    TOUCHED,
    Cheat,
)
from tests.proof.stories import ADD, WRONG

_FORKS = """\
import os


def add(a, b):
    child = os.fork()
    if child == 0:
        return a + b
    os.waitpid(child, 0)
    return 0
"""

_REWRITES = """\
import pathlib

path = pathlib.Path(__file__).parent / "tests" / "test_calc.py"
path.write_text(path.read_text())


def add(a, b):
    return 0
"""

#: The code is right; something else makes it fail in RED.
_BY = "import os\nimport pathlib\n\n{check}\n    raise RuntimeError('not yet')\n\n\n" + ADD
_BY_VARIABLE = _BY.format(check="if os.environ.get('BROKEN'):")
_BY_FLAG = _BY.format(check="if pathlib.Path('{outside}/flag').exists():")
_BY_COUNTER = _BY.format(
    check="counter = pathlib.Path('{outside}/counter')\nruns = int(counter.read_text()) + 1\n"
    "counter.write_text(str(runs))\nif runs < 2:"
)
_BY_CLOCK = _BY.format(check="import time\n\nif time.time() < 1.75e9:")
_BREAKS = "import calc\n\ncalc.add = lambda a, b: 0\n"

_VACUOUS = "def test_add():\n    from calc import add\n\n    assert [add(1, 2)]\n"
_SWALLOWS = (
    "def test_add():\n    from calc import add\n\n    try:\n        assert add(1, 2) == 3\n"
    "    except AssertionError:\n        pass\n"
)

CHEATS: tuple[Cheat, ...] = (
    Cheat(
        row=41,
        name="a forked child passes the test in its parent's place",
        by="recognition",
        told_by="tests_failing == 0",
        green={"calc.py": _FORKS},
    ),
    Cheat(
        row=42,
        name="a test is loosened, and the run writes its file again",
        by="recognition",
        told_by="tests-unchanged",
        green={TEST_FILE: LOOSE, "calc.py": _REWRITES},
    ),
    Cheat(
        row=43,
        name="a new test file mends the unit",
        by="experiment",
        told_by=FAILS_WITH,
        green={"tests/test_also.py": f"{MENDS}\n\ndef test_also():\n    assert calc.add(0, 0) == 0\n"},
    ),
    Cheat(
        row=43,
        name="a new __init__.py in the test folder mends the unit",
        by="experiment",
        told_by=FAILS_WITH,
        green={"tests/__init__.py": MENDS},
    ),
    Cheat(
        row=43,
        name="the default argument of a new test mends the unit",
        by="experiment",
        told_by=FAILS_WITH,
        green={
            TEST_FILE: f"{TEST}\n\ndef test_also(x=setattr(calc, 'add', lambda a, b: a + b)):\n"
            "    assert calc.add(0, 0) == 0\n"
        },
    ),
    Cheat(
        row=43,
        name="the parameters of a new test mend the unit",
        by="experiment",
        told_by=FAILS_WITH,
        green={
            "tests/test_also.py": "import calc\nimport pytest\n\n\n"
            "@pytest.mark.parametrize('x', [setattr(calc, 'add', lambda a, b: a + b)])\n"
            "def test_also(x):\n    assert calc.add(0, 0) == 0\n"
        },
    ),
    Cheat(
        row=44,
        name="a copy in the test folder shadows the unit",
        by="experiment",
        told_by=FAILS_WITH,
        red={**RED, "pytest.ini": "[pytest]\ntestpaths = tests\n"},
        green={"tests/calc.py": ADD},
    ),
    Cheat(
        row=44,
        name="start-up code on PYTHONPATH mends the unit",
        by="experiment",
        told_by=PASSES_WITHOUT,
        outside_green={"sitecustomize.py": HOOK},
        green={"calc.py": WRONG + TOUCHED},
        green_environment={"PYTHONPATH": "{outside}"},
    ),
    Cheat(
        row=44,
        name="the missing unit comes from PYTHONPATH",
        by="recognition",
        told_by="red-was-seen",
        red={"pytest.ini": INI, TEST_FILE: "def test_add():\n    from calc import add\n\n    assert add(1, 2) == 3\n"},
        outside_green={"calc.py": ADD},
        green_environment={"PYTHONPATH": "{outside}"},
    ),
    Cheat(
        row=44,
        name="an import hook in a new file of the test folder mends the unit",
        by="experiment",
        told_by=FAILS_WITH,
        green={"tests/test_also.py": f"{HOOK}\nsys.modules.pop('calc', None)\n\n\ndef test_also():\n    pass\n"},
    ),
    Cheat(
        row=44,
        name="the unit is another file, loaded by its path",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={
            **RED,
            "calc.py": "import pathlib\n\nexec(pathlib.Path('{outside}/real.txt').read_text())\n",
        },
        outside_red={"real.txt": WRONG},
        outside_green={"real.txt": ADD},
    ),
    Cheat(
        row=45,
        name="a test that checks nothing was red because the unit was missing",
        by="experiment",
        told_by=CHECKS_NOTHING,
        red={"pytest.ini": INI, TEST_FILE: _VACUOUS},
        green={"calc.py": ADD},
    ),
    Cheat(
        row=45,
        name="a test that swallows its own check was red because the unit was missing",
        by="experiment",
        told_by=CANNOT_FAIL,
        red={"pytest.ini": INI, TEST_FILE: _SWALLOWS},
        green={"calc.py": WRONG},
    ),
    Cheat(
        row=46,
        name="red by a variable",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_VARIABLE},
        green={"calc.py": _BY_VARIABLE + TOUCHED},
        red_environment={"BROKEN": "1"},
    ),
    Cheat(
        row=46,
        name="red by a flag file outside the project",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_FLAG},
        outside_red={"flag": ""},
        outside_green={"flag": None},
        green={"calc.py": _BY_FLAG + TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a counter file: the first run fails",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_COUNTER},
        outside_red={"counter": "0"},
        green={"calc.py": _BY_COUNTER + TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by the clock: the code fails until some day",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_CLOCK},
        # The day has not come in RED.
        outside_red={"sitecustomize.py": "import time\n\nnow = time.time\ntime.time = lambda: now() - 1e8\n"},
        red_environment={"PYTHONPATH": "{outside}"},
        green={"calc.py": _BY_CLOCK + TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a plugin on the command line",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"breaker.py": _BREAKS},
        red_environment={"PYTHONPATH": "{outside}"},
        red_words=("-p", "breaker"),
        green={"calc.py": ADD + TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a plugin of PYTEST_PLUGINS",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"breaker.py": _BREAKS},
        red_environment={"PYTHONPATH": "{outside}", "PYTEST_PLUGINS": "breaker"},
        green={"calc.py": ADD + TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by start-up code",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"sitecustomize.py": HOOK.replace("lambda a, b: a + b", "lambda a, b: 0")},
        red_environment={"PYTHONPATH": "{outside}"},
        green={"calc.py": ADD + TOUCHED},
    ),
)
