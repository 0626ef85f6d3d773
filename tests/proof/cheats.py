"""Rows 41 to 52 as small stories: an honest-looking RED, what came then, and who refuses it.

`recognition`: a guard closes Gate 1, with proofs or without. `experiment`: Gate 1 opens, and only the proof closes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.proof.model import MEANINGS
from phase_gate.values import Value, field
from tests.proof.stories import ADD, WRONG

By = Literal["recognition", "experiment"]

TEST_FILE = "tests/test_calc.py"
TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"
#: What the unit would have to be.
MENDS = "import calc\n\ncalc.add = lambda a, b: a + b\n"
INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"
RED = {"pytest.ini": INI, TEST_FILE: TEST, "calc.py": WRONG}

#: An import hook that mends the unit as soon as it is imported.
_HOOK = """\
import importlib.machinery
import sys


class Mender(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name == "calc" else None
        if spec is not None:
            run = spec.loader.exec_module

            def mend(module):
                run(module)
                module.add = lambda a, b: a + b

            spec.loader.exec_module = mend
        return spec


sys.meta_path.insert(0, Mender)
"""

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
_TOUCHED = "\n\ndef unused():\n    return 0\n"
_BREAKS = "import calc\n\ncalc.add = lambda a, b: 0\n"

_VACUOUS = "def test_add():\n    from calc import add\n\n    assert [add(1, 2)]\n"
_SWALLOWS = (
    "def test_add():\n    from calc import add\n\n    try:\n        assert add(1, 2) == 3\n"
    "    except AssertionError:\n        pass\n"
)
_BASE = "import calc\n\n\nclass Base:\n    def test_add(self):\n        assert calc.add(1, 2) == 3\n"
_INHERITS = "from base import Base\n\n\nclass TestCalc(Base):\n    pass\n"
_CHECKS = "import calc\n\n\ndef check(a, b, expected):\n    assert calc.add(a, b) == expected\n"
_USES_CHECKS = "from checks import check\n\n\ndef test_add():\n    check(1, 2, 3)\n"
_LOOSE = TEST.replace("== 3", "is not None")


class Cheat(Value):
    """A false green. `{outside}` in texts and values is a folder beside the project."""

    row: int
    name: str
    by: By
    #: What has to be said: a guard's name or word, or what the experiment says.
    told_by: str
    red: Mapping[str, str] = field(default_factory=lambda: RED)
    green: Mapping[str, str | None] = field(default_factory=dict)
    #: Files beside the project, in RED and then.
    outside_red: Mapping[str, str] = field(default_factory=dict)
    outside_green: Mapping[str, str | None] = field(default_factory=dict)
    #: Variables of RED's run, and of all that comes then.
    red_environment: Mapping[str, str] = field(default_factory=dict)
    green_environment: Mapping[str, str] = field(default_factory=dict)
    #: Words of each run of pytest, before and then.
    red_words: tuple[str, ...] = ()
    green_words: tuple[str, ...] = ()
    is_in_git: bool = False


_PASSES_WITHOUT, _FAILS_WITH = MEANINGS["passes-without"], MEANINGS["fails-with"]
_CHECKS_NOTHING = MEANINGS["checks-nothing"]

CHEATS: tuple[Cheat, ...] = (
    Cheat(
        row=41,
        name="a forked child passes the test in its parent's place",
        by="recognition",
        told_by="a forked child came back",
        green={"calc.py": _FORKS},
    ),
    Cheat(
        row=42,
        name="a test is loosened, and the run writes its file again",
        by="recognition",
        told_by="tests-unchanged",
        green={TEST_FILE: _LOOSE, "calc.py": _REWRITES},
    ),
    Cheat(
        row=43,
        name="a new test file mends the unit",
        by="experiment",
        told_by=_FAILS_WITH,
        green={"tests/test_also.py": f"{MENDS}\n\ndef test_also():\n    assert calc.add(0, 0) == 0\n"},
    ),
    Cheat(
        row=43,
        name="a new __init__.py in the test folder mends the unit",
        by="experiment",
        told_by=_FAILS_WITH,
        green={"tests/__init__.py": MENDS},
    ),
    Cheat(
        row=43,
        name="the default argument of a new test mends the unit",
        by="experiment",
        told_by=_FAILS_WITH,
        green={
            TEST_FILE: f"{TEST}\n\ndef test_also(x=setattr(calc, 'add', lambda a, b: a + b)):\n"
            "    assert calc.add(0, 0) == 0\n"
        },
    ),
    Cheat(
        row=43,
        name="the parameters of a new test mend the unit",
        by="experiment",
        told_by=_FAILS_WITH,
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
        told_by=_FAILS_WITH,
        red={**RED, "pytest.ini": "[pytest]\ntestpaths = tests\n"},
        green={"tests/calc.py": ADD},
    ),
    Cheat(
        row=44,
        name="start-up code on PYTHONPATH mends the unit",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        outside_green={"sitecustomize.py": _HOOK},
        green={"calc.py": WRONG + _TOUCHED},
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
        told_by=_FAILS_WITH,
        green={"tests/test_also.py": f"{_HOOK}\nsys.modules.pop('calc', None)\n\n\ndef test_also():\n    pass\n"},
    ),
    Cheat(
        row=44,
        name="the unit is another file, loaded by its path",
        by="experiment",
        told_by=_PASSES_WITHOUT,
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
        told_by=_CHECKS_NOTHING,
        red={"pytest.ini": INI, TEST_FILE: _VACUOUS},
        green={"calc.py": ADD},
    ),
    Cheat(
        row=45,
        name="a test that swallows its own check was red because the unit was missing",
        by="experiment",
        told_by=_CHECKS_NOTHING,
        red={"pytest.ini": INI, TEST_FILE: _SWALLOWS},
        green={"calc.py": WRONG},
    ),
    Cheat(
        row=46,
        name="red by a variable",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_VARIABLE},
        green={"calc.py": _BY_VARIABLE + _TOUCHED},
        red_environment={"BROKEN": "1"},
    ),
    Cheat(
        row=46,
        name="red by a flag file outside the project",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_FLAG},
        outside_red={"flag": ""},
        outside_green={"flag": None},
        green={"calc.py": _BY_FLAG + _TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a counter file: the first run fails",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_COUNTER},
        outside_red={"counter": "0"},
        green={"calc.py": _BY_COUNTER + _TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by the clock: the code fails until some day",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": _BY_CLOCK},
        # The day has not come in RED.
        outside_red={"sitecustomize.py": "import time\n\nnow = time.time\ntime.time = lambda: now() - 1e8\n"},
        red_environment={"PYTHONPATH": "{outside}"},
        green={"calc.py": _BY_CLOCK + _TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a plugin on the command line",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"breaker.py": _BREAKS},
        red_environment={"PYTHONPATH": "{outside}"},
        red_words=("-p", "breaker"),
        green={"calc.py": ADD + _TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by a plugin of PYTEST_PLUGINS",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"breaker.py": _BREAKS},
        red_environment={"PYTHONPATH": "{outside}", "PYTEST_PLUGINS": "breaker"},
        green={"calc.py": ADD + _TOUCHED},
    ),
    Cheat(
        row=46,
        name="red by start-up code",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={**RED, "calc.py": ADD},
        outside_red={"sitecustomize.py": _HOOK.replace("lambda a, b: a + b", "lambda a, b: 0")},
        red_environment={"PYTHONPATH": "{outside}"},
        green={"calc.py": ADD + _TOUCHED},
    ),
    Cheat(
        row=47,
        name="the body of an inherited test is emptied in a source",
        by="recognition",
        told_by="tests-unchanged",
        red={**RED, TEST_FILE: _INHERITS, "base.py": _BASE},
        green={"base.py": _BASE.replace("assert calc.add(1, 2) == 3", "calc.add(1, 2)")},
    ),
    Cheat(
        row=47,
        name="an assert helper is emptied in a source",
        by="recognition",
        told_by="tests-unchanged",
        red={**RED, TEST_FILE: _USES_CHECKS, "checks.py": _CHECKS},
        green={"checks.py": _CHECKS.replace("assert calc.add(a, b) == expected", "pass")},
    ),
    Cheat(
        row=48,
        name="a plugin of PYTEST_PLUGINS mends the unit",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        outside_green={"mender.py": MENDS},
        green={"calc.py": WRONG + _TOUCHED},
        green_environment={"PYTHONPATH": "{outside}", "PYTEST_PLUGINS": "mender"},
    ),
    Cheat(
        row=48,
        name="start-up code makes every assert helper of pytest pass",
        by="experiment",
        told_by=_PASSES_WITHOUT,
        red={
            **RED,
            TEST_FILE: "import calc\nimport pytest\n\n\ndef test_add():\n"
            "    with pytest.raises(TypeError):\n        calc.add(1, None)\n",
        },
        outside_green={
            "sitecustomize.py": "import contextlib\n\nimport pytest\n\n"
            "pytest.raises = lambda *given: contextlib.nullcontext()\n"
        },
        green={"calc.py": WRONG + _TOUCHED},
        green_environment={"PYTHONPATH": "{outside}"},
    ),
    Cheat(
        row=49,
        name="another task, with the test loosened",
        by="recognition",
        told_by="tests-unchanged",
        green={TEST_FILE: _LOOSE, "calc.py": WRONG + _TOUCHED},
        green_words=("--phase-task=other",),
    ),
    Cheat(
        row=50,
        name="a helper that git ignores is emptied",
        by="recognition",
        told_by="tests-unchanged",
        red={**RED, TEST_FILE: _USES_CHECKS, "tests/checks.py": _CHECKS, ".gitignore": "checks.py\n"},
        green={"tests/checks.py": "def check(*ignored):\n    pass\n"},
        is_in_git=True,
    ),
    Cheat(
        row=51,
        name="the key of the ledger is left out",
        by="recognition",
        told_by="PHASE_GATE_KEY",
        red_environment={"PHASE_GATE_KEY": "secret"},
        green={TEST_FILE: _LOOSE},
    ),
    Cheat(
        row=52,
        name="the condition of a skip flips by a variable",
        by="recognition",
        told_by="no-new-skips",
        red={
            **RED,
            TEST_FILE: "import os\n\nimport calc\nimport pytest\n\n\n"
            "@pytest.mark.skipif('QUICK' in os.environ, reason='slow')\n"
            "def test_add():\n    assert calc.add(1, 2) == 3\n",
        },
        green={"calc.py": WRONG + _TOUCHED},
        green_environment={"QUICK": "1"},
    ),
)


def table() -> list[str]:
    """Return the rows of the table in docs/explanation/proof.md."""
    return [
        "| row | what was done after RED | without a proof | with a proof |",
        "| --- | --- | --- | --- |",
        *(
            f"| {each.row} | {each.name} | closed: `{each.told_by}` | closed |"
            if each.by == "recognition"
            else f"| {each.row} | {each.name} | **opens** | closed: {each.told_by} |"
            for each in CHEATS
        ),
    ]


#: The first of each row that guards know, and of each that only the experiment knows.
ESSENTIAL: tuple[Cheat, ...] = tuple({(each.row, each.by): each for each in reversed(CHEATS)}.values())[::-1]
