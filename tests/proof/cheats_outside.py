"""Rows 47 to 52 as small stories: what lies outside of the tests, of the project, and of this cycle."""

from __future__ import annotations

from tests.proof.cheat import (
    FAILS_WITH,
    HOOK,
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

#: Writes the bytecode of another text into the cache of a file. `how`: by time, by hash unchecked, or as pytest has it.
FORGE = """\
import importlib.util, marshal, os, sys
from pathlib import Path
from _pytest.assertion import rewrite

how, name, text = sys.argv[1:]
file, source = Path(name), Path(name).read_bytes()
cache = Path(importlib.util.cache_from_source(name))
by_time = (int(file.stat().st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + len(source).to_bytes(4, "little")
by_hash = importlib.util.source_hash(source)
code = compile(text, str(file.absolute()), "exec", dont_inherit=True)
flags, kept = {"time": (0, by_time), "hash": (1, by_hash), "pytest": (0, by_time)}[how]
if how == "pytest":
    cache = cache.parent / f"{file.stem}{rewrite.PYC_TAIL}"
    if b"\\3\\0\\0\\0" in rewrite._read_pyc.__code__.co_consts:
        flags, kept = 3, by_hash
cache.parent.mkdir(parents=True, exist_ok=True)
cache.write_bytes(importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + kept + marshal.dumps(code))
"""

_BASE = "import calc\n\n\nclass Base:\n    def test_add(self):\n        assert calc.add(1, 2) == 3\n"
_INHERITS = "from base import Base\n\n\nclass TestCalc(Base):\n    pass\n"
_CHECKS = "import calc\n\n\ndef check(a, b, expected):\n    assert calc.add(a, b) == expected\n"
_USES_CHECKS = "from checks import check\n\n\ndef test_add():\n    check(1, 2, 3)\n"
_NO_CHECKS = "def check(*ignored):\n    pass\n"
_IN_TESTS = {**RED, TEST_FILE: _USES_CHECKS, "tests/checks.py": _CHECKS}

#: An environment of the project's own, in which everything that is installed here can be found.
VENV_PYTHON = "{outside}/venv/bin/python"
MAKE_VENV = (
    "{python}",
    "-c",
    "import glob, pathlib, site, venv; venv.create('{outside}/venv');"
    "folder = pathlib.Path(glob.glob('{outside}/venv/lib/python*/site-packages')[0]);"
    "known = site.getsitepackages();"
    "(folder / 'known.pth').write_text(''.join(f'import site; site.addsitedir({each!r})\\n' for each in known))",
)
_INSTALL = "import glob, shutil; shutil.copy('{outside}/%s', glob.glob('{outside}/venv/lib/python*/site-packages')[0])"
_COPY_GATE = (
    "import pathlib, phase_gate, shutil; here = pathlib.Path('{outside}/phase_gate');"
    "shutil.copytree(pathlib.Path(phase_gate.__file__).parent, here);"
    "first = here / '__init__.py'; first.write_text(first.read_text() + pathlib.Path('{outside}/hook.py').read_text())"
)


def install(name: str) -> tuple[str, ...]:
    """Return the command that puts a file from beside the project into its environment."""
    return ("{python}", "-c", _INSTALL % name)


def forge(how: str, text: str) -> tuple[str, ...]:
    """Return the command that gives the unit bytecode of another text."""
    return ("{python}", "-c", FORGE, how, "calc.py", text)


#: A narrow GREEN, of another task here or in a clone, and its ledger in the place of this one.
_RUN = "{python} -m pytest -q -p phase_gate.plugin --phase=green -k nothing"
_NOT_YET = "def add(a, b):\n    return -1\n"
_OF_A_TASK = f"{_RUN} --phase-task=t2; {_RUN} --phase-task=t2; cp -r .phase-gate/tasks/t2/. .phase-gate/"
_OF_A_CLONE = (
    "here=$PWD; cp -r . {outside}/clone; cd {outside}/clone; rm -r .phase-gate;"
    f"{_RUN}; {_RUN}; cp -r .phase-gate/. $here/.phase-gate/"
)
_BOTH = (
    "import calc\n\n\ndef test_nothing():\n    assert calc.add(0, 0) == 0\n\n\ndef test_add():\n"
    + TEST.partition("def test_add():\n")[2]
)
_MULTIPLY = "def multiply(a, b):\n    return a * b\n"
_TEST_MULTIPLY = "import calc\n\n\ndef test_multiply():\n    assert calc.multiply(2, 3) == 6\n"

CHEATS_OUTSIDE: tuple[Cheat, ...] = (
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
        told_by=PASSES_WITHOUT,
        outside_green={"mender.py": MENDS},
        green={"calc.py": WRONG + TOUCHED},
        green_environment={"PYTHONPATH": "{outside}", "PYTEST_PLUGINS": "mender"},
    ),
    Cheat(
        row=48,
        name="start-up code makes every assert helper of pytest pass",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red={
            **RED,
            TEST_FILE: "import calc\nimport pytest\n\n\ndef test_add():\n"
            "    with pytest.raises(TypeError):\n        calc.add(1, None)\n",
        },
        outside_green={
            "sitecustomize.py": "import contextlib\n\nimport pytest\n\n"
            "pytest.raises = lambda *given: contextlib.nullcontext()\n"
        },
        green={"calc.py": WRONG + TOUCHED},
        green_environment={"PYTHONPATH": "{outside}"},
    ),
    Cheat(
        row=48,
        name="a .pth file in site-packages mends the unit",
        by="experiment",
        told_by=PASSES_WITHOUT,
        red_commands=(MAKE_VENV,),
        python=VENV_PYTHON,
        outside_green={"mender_hook.py": HOOK, "mender.pth": "import mender_hook\n"},
        green={"calc.py": WRONG + TOUCHED},
        green_commands=(install("mender_hook.py"), install("mender.pth")),
    ),
    Cheat(
        row=48,
        name="an edited copy of the gate mends the unit",
        by="experiment",
        told_by=FAILS_WITH,
        outside_green={"hook.py": HOOK},
        green={"calc.py": WRONG + TOUCHED},
        green_commands=(("{python}", "-c", _COPY_GATE),),
        green_environment={"PYTHONPATH": "{outside}"},
    ),
    Cheat(
        row=49,
        name="another task, with the test loosened",
        by="recognition",
        told_by="tests-unchanged",
        green={TEST_FILE: LOOSE, "calc.py": WRONG + TOUCHED},
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
        row=50,
        name="a helper is emptied that git was told to take for unchanged",
        by="recognition",
        told_by="tests-unchanged",
        red=_IN_TESTS,
        green={"tests/checks.py": _NO_CHECKS},
        green_commands=(("git", "update-index", "--assume-unchanged", "tests/checks.py"),),
        is_in_git=True,
    ),
    Cheat(
        row=50,
        name="a helper is emptied that the exclude file of git names",
        by="recognition",
        told_by="tests-unchanged",
        red={**_IN_TESTS, ".git/info/exclude": "checks.py\n"},
        green={"tests/checks.py": _NO_CHECKS},
        is_in_git=True,
    ),
    Cheat(
        row=50,
        name="the unit has bytecode of other code",
        by="experiment",
        told_by=FAILS_WITH,
        green={"calc.py": WRONG + TOUCHED},
        green_commands=(forge("time", ADD),),
    ),
    Cheat(
        row=50,
        name="the unit has bytecode of other code that is never compared, in a folder for bytecode elsewhere",
        by="experiment",
        told_by=FAILS_WITH,
        green={"calc.py": WRONG + TOUCHED},
        green_environment={"PYTHONPYCACHEPREFIX": "{outside}/cache"},
        green_commands=(forge("hash", ADD),),
    ),
    Cheat(
        row=50,
        name="the unit is there as bytecode only",
        by="experiment",
        told_by=FAILS_WITH,
        green={"calc.py": ADD},
        green_commands=(("{python}", "-m", "compileall", "-q", "-b", "calc.py"), ("rm", "calc.py")),
    ),
    Cheat(
        row=51,
        name="the key of the ledger is left out",
        by="recognition",
        told_by="PHASE_GATE_KEY",
        red_environment={"PHASE_GATE_KEY": "secret"},
        green={TEST_FILE: LOOSE},
    ),
    Cheat(
        row=51,
        name="the ledger of another task in the place of this one",
        by="recognition",
        told_by="state-foreign",
        red={**RED, TEST_FILE: _BOTH, "calc.py": _NOT_YET},
        green={"calc.py": WRONG},
        green_commands=(("sh", "-c", _OF_A_TASK),),
    ),
    Cheat(
        row=51,
        name="the ledger of another clone in the place of this one",
        by="recognition",
        told_by="state-foreign",
        red={**RED, TEST_FILE: _BOTH, "calc.py": _NOT_YET},
        green={"calc.py": WRONG},
        green_commands=(("sh", "-c", _OF_A_CLONE),),
    ),
    Cheat(
        row=52,
        name="an old test is deleted in the next RED",
        by="advice",
        told_by="known before this cycle, and gone now",
        earlier=({**RED, TEST_FILE: _BOTH, "calc.py": _NOT_YET}, {"calc.py": ADD}),
        red={TEST_FILE: TEST, "tests/test_more.py": _TEST_MULTIPLY},
        green={"calc.py": f"{ADD}\n\n{_MULTIPLY}"},
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
        green={"calc.py": WRONG + TOUCHED},
        green_environment={"QUICK": "1"},
    ),
)
