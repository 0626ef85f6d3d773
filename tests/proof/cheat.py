"""A false green as a small story: an honest-looking RED, what came then, and who refuses it; and its honest twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.proof.model import MEANINGS
from phase_gate.values import Value, field
from tests.proof.stories import WRONG

#: `recognition`: a guard closes Gate 1, with proofs or without. `experiment`: Gate 1 opens, and only the proof closes
#: it. `advice`: both gates open, and what was done is named; `named`: only the proof names it. `honest`: both open, and
#: nothing is said.
By = Literal["recognition", "experiment", "advice", "named", "honest"]

TEST_FILE = "tests/test_calc.py"
TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n"
LOOSE = TEST.replace("== 3", "is not None")
#: What the unit would have to be.
MENDS = "import calc\n\ncalc.add = lambda a, b: a + b\n"
INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"
RED = {"pytest.ini": INI, TEST_FILE: TEST, "calc.py": WRONG}
#: A change of a source that mends nothing.
TOUCHED = "\n\ndef unused():\n    return 0\n"

#: An import hook that mends the unit as soon as it is imported.
HOOK = """\
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


class Cheat(Value):
    """A story. In texts, values and words, `{outside}` is a folder beside the project, `{python}` the interpreter."""

    row: int
    name: str
    by: By
    #: What has to be said: a guard's name or word, or what the experiment says.
    told_by: str = ""
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
    #: Commands after the files are laid, before RED's run and before what comes then.
    red_commands: tuple[tuple[str, ...], ...] = ()
    green_commands: tuple[tuple[str, ...], ...] = ()
    #: A cycle before this one: its tests, and its sources.
    earlier: tuple[Mapping[str, str], Mapping[str, str]] | None = None
    #: The interpreter of every run, where it is one of the project's own.
    python: str = ""
    is_in_git: bool = False


PASSES_WITHOUT, FAILS_WITH = MEANINGS["passes-without"], MEANINGS["fails-with"]
CHECKS_NOTHING, NOTHING_RAISED = MEANINGS["checks-nothing"], MEANINGS["nothing-raised"]
CANNOT_FAIL = MEANINGS["cannot-fail"]
UNTRIED = f"{MEANINGS['unknown']}: nothing of the new code could be emptied"
