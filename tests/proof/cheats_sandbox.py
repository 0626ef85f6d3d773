"""Row 55 as small stories: code that kills the sandbox or lies to it, and what keeps it from being made."""

from __future__ import annotations

from tests.proof.cheat import FAILS_WITH, INI, PASSES_WITHOUT, RED, TEST, TEST_FILE, Cheat
from tests.proof.stories import ADD

#: Right where the run of the user is; elsewhere it ends the process. `{outside}` lies beside the project.
_KILLS = """\
import os
import pathlib

HERE = pathlib.Path("{outside}").name.removesuffix("-outside")


def add(a, b):
    if pathlib.Path.cwd().name != HERE or os.path.ismount(pathlib.Path.cwd()):
        os._exit(3)
    return a + b
"""
_LIES = """\
import _pytest.runner as runner

real = runner.CallInfo.__init__


def quiet(self, result, excinfo, *args, **more):
    runner.CallInfo.__init__ = real
    real(self, None, None, *args, **more)


def add(a, b):
    runner.CallInfo.__init__ = quiet
    return 0
"""
_BY_VARIABLE = f"import os\n\nif os.environ.get('BROKEN'):\n    raise RuntimeError('not yet')\n\n\n{ADD}"
#: More than is kept of files that are not committed.
_MAKE_NOISE = "head -c 34603008 /dev/zero > noise.bin"

CHEATS_OF_SANDBOXES: tuple[Cheat, ...] = (
    Cheat(
        row=55,
        name="the code kills the sandbox",
        by="experiment",
        told_by="passes outside, and ends the sandbox, twice: pytest ended too early",
        green={"calc.py": _KILLS},
    ),
    Cheat(
        row=55,
        name="the code patches pytest for one report",
        by="experiment",
        told_by=FAILS_WITH,
        green={"calc.py": _LIES},
    ),
    Cheat(
        row=55,
        name="red by a variable, beside 33 MB that are not committed",
        by="experiment",
        told_by=PASSES_WITHOUT,
        is_in_git=True,
        red={"pytest.ini": INI, TEST_FILE: TEST, "calc.py": ""},
        outside_red={"calc.py": _BY_VARIABLE},
        red_commands=(("sh", "-c", f"cp {{outside}}/calc.py . && {_MAKE_NOISE}"),),
        red_environment={"BROKEN": "1"},
        green={"other.py": ""},
    ),
)

_PROFILES = """\
import cProfile

import calc


def test_add():
    profile = cProfile.Profile()
    total = profile.runcall(calc.add, 1, 2)
    assert total == 3
"""

HONEST_SANDBOXES: tuple[Cheat, ...] = (
    Cheat(
        row=55,
        name="a step beside 33 MB that are not committed",
        by="honest",
        is_in_git=True,
        red_commands=(("sh", "-c", _MAKE_NOISE),),
        green={"calc.py": ADD},
    ),
    Cheat(
        row=55,
        name="a test with a profiler of its own",
        by="honest",
        red={**RED, TEST_FILE: _PROFILES},
        green={"calc.py": ADD},
    ),
)
