"""Rows 53 to 58 as small stories: checks that can't fail, what can't be emptied, what a RED may change."""

from __future__ import annotations

from phase_gate.proof.model import MEANINGS
from tests.proof.cheat import CANNOT_FAIL, CHECKS_NOTHING, INI, NOTHING_RAISED, TEST, TEST_FILE, UNTRIED, Cheat
from tests.proof.stories import ADD, WRONG

#: What is said of a target that worked when the cycle began.
_NEVER_MISSING = "RED broke what worked"
_STUB = "def add(a, b):\n    raise NotImplementedError\n"
_LAMBDA = "add = lambda a, b: a + b\n"
_TEST_ROWS = """\
import pytest

import calc


@pytest.mark.parametrize(("a", "b", "total"), calc.rows(), ids=["one and two"])
def test_add(a, b, total):
    assert calc.add(a, b) == total
"""
_ROWS = "TOTAL = {}\n\n\ndef rows():\n    return [(1, 2, TOTAL)]\n\n\n"
#: What is committed, and put in its place before RED.
_COMMITTED = {"pytest.ini": INI, TEST_FILE: TEST, "calc.py": ADD}
_SUBTRACT = "\n\ndef subtract(a, b):\n    return {}\n"
_TEST_BOTH = f"{TEST}\n\ndef test_subtract():\n    assert calc.subtract(3, 2) == 1\n"


def _write(name: str, text: str) -> tuple[str, ...]:
    """Return a command that writes a file."""
    return ("{python}", "-c", f"open({name!r}, 'w').write({text!r})")


def _red(*lines: str) -> dict[str, str]:
    """Return a project with a stub that raises, and a test with this body."""
    body = "".join(f"    {line}\n" for line in lines)
    return {"pytest.ini": INI, TEST_FILE: f"import calc\n\n\ndef test_add():\n{body}", "calc.py": _STUB}


#: A test, the fixture that it compares with, and code that follows both; and a test of the next cycle.
_ANSWER = {
    "pytest.ini": INI,
    TEST_FILE: "import calc\n\n\ndef test_answer(expected):\n    assert calc.answer() == expected\n",
    "calc.py": "",
}
_FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef expected():\n    return {}\n"
_GOLDEN = _FIXTURE.replace("()", "(request)").format("int((request.path.parent / 'answer.txt').read_text())")
_ANSWERS = "def answer():\n    return {}\n"
_NEXT = {"tests/test_next.py": TEST, "calc.py": _ANSWERS.format(42) + f"\n\n{WRONG}"}


CHEATS_OF_CHECKS: tuple[Cheat, ...] = (
    *(
        Cheat(
            row=53,
            name=f"{what}, red by a stub that raises",
            by="experiment",
            told_by=CANNOT_FAIL,
            red=_red(*lines),
            green={"calc.py": ADD},
        )
        for what, lines in {
            "a check that is true in any case": ("assert calc.add(1, 2) == 3 or True",),
            "a tuple instead of a check": ('assert (calc.add(1, 2) == 3, "three")',),
            "a check that is swallowed": (
                "try:",
                "    assert calc.add(1, 2) == 3",
                "except AssertionError:",
                "    pass",
            ),
        }.items()
    ),
    Cheat(
        row=53,
        name="a test without any check, red by a stub that raises",
        by="named",
        told_by=NOTHING_RAISED,
        red=_red("print(calc.add(1, 2))"),
        green={"calc.py": ADD},
    ),
    Cheat(
        row=54,
        name="a lambda, and a check that holds for any answer",
        by="experiment",
        told_by=CHECKS_NOTHING,
        red=_red("assert [calc.add(1, 2)]"),
        green={"calc.py": _LAMBDA},
    ),
    Cheat(
        row=54,
        name="a function of a library, and a check that is true in any case",
        by="experiment",
        told_by=CANNOT_FAIL,
        red=_red("assert calc.add(1, 2) == 3 or True"),
        green={"calc.py": "from operator import add\n"},
    ),
    Cheat(
        row=54,
        name="a unit that the test only looks at",
        by="named",
        told_by=UNTRIED,
        red={**_red("assert callable(calc.add)"), "calc.py": ""},
        green={"calc.py": _LAMBDA},
    ),
    Cheat(
        row=56,
        name="a source gives a row another value, under the id that the test has for it",
        by="experiment",
        told_by=MEANINGS["row-changed"],
        red={"pytest.ini": INI, TEST_FILE: _TEST_ROWS, "calc.py": _ROWS.format(3) + WRONG},
        green={"calc.py": _ROWS.format(0) + WRONG},
    ),
    Cheat(
        row=57,
        name="what the last commit has right is broken in RED, and put back",
        by="named",
        told_by=_NEVER_MISSING,
        red={**_COMMITTED, TEST_FILE: "def test_nothing():\n    pass\n"},
        red_commands=(_write(TEST_FILE, TEST), _write("calc.py", _STUB)),
        green={"calc.py": ADD},
        is_in_git=True,
    ),
    Cheat(
        row=57,
        name="what the cycle before made is broken in the next RED, and written anew",
        by="named",
        told_by=_NEVER_MISSING,
        earlier=(
            {"pytest.ini": INI, TEST_FILE: TEST, "calc.py": WRONG},
            {"calc.py": ADD + _SUBTRACT.format("a - b")},
        ),
        red={TEST_FILE: _TEST_BOTH, "calc.py": ADD + _SUBTRACT.format("0")},
        green={"calc.py": ADD + _SUBTRACT.format("-b + a")},
    ),
    Cheat(
        row=57,
        name="red by a flag file in the project",
        by="named",
        told_by=_NEVER_MISSING,
        red={
            **_COMMITTED,
            TEST_FILE: "def test_nothing():\n    pass\n",
            "calc.py": "import os\n\n\ndef add(a, b):\n    return 0 if os.path.exists('off') else a + b\n",
        },
        red_commands=(_write(TEST_FILE, TEST), _write("off", "")),
        green={"off": None},
        is_in_git=True,
    ),
    Cheat(
        row=58,
        name="the fixture of an old test is changed in the next RED",
        by="advice",
        told_by="tests/conftest.py:5 expected changed in RED",
        earlier=({**_ANSWER, "tests/conftest.py": _FIXTURE.format(2)}, {"calc.py": _ANSWERS.format(2)}),
        red={**_NEXT, "tests/conftest.py": _FIXTURE.format(42)},
        green={"calc.py": _ANSWERS.format(42) + f"\n\n{ADD}"},
    ),
    Cheat(
        row=58,
        name="the golden file of an old test is changed in the next RED",
        by="advice",
        told_by="tests/answer.txt changed in RED",
        earlier=(
            {**_ANSWER, "tests/conftest.py": _GOLDEN, "tests/answer.txt": "2"},
            {"calc.py": _ANSWERS.format(2)},
        ),
        red={**_NEXT, "tests/answer.txt": "42"},
        green={"calc.py": _ANSWERS.format(42) + f"\n\n{ADD}"},
    ),
)

HONEST_CHECKS: tuple[Cheat, ...] = (
    Cheat(
        row=53,
        name="a test with a check, red by a stub that raises",
        by="honest",
        red=_red("assert calc.add(1, 2) == 3"),
        green={"calc.py": ADD},
    ),
    Cheat(
        row=53,
        name="a test that nothing happens here, red by a stub that raises",
        by="honest",
        red=_red("given = [1]", "calc.add(given, [])", "assert given == [1]"),
        green={"calc.py": ADD},
    ),
    Cheat(
        row=54,
        name="a lambda, and a check of its answer",
        by="honest",
        red=_red("assert calc.add(1, 2) == 3"),
        green={"calc.py": _LAMBDA},
    ),
    Cheat(
        row=56,
        name="rows that a source computes, and that stay",
        by="honest",
        red={"pytest.ini": INI, TEST_FILE: _TEST_ROWS, "calc.py": _ROWS.format(3) + WRONG},
        green={"calc.py": _ROWS.format("1 + 2") + ADD},
    ),
    Cheat(
        row=57,
        name="a stub in RED beside code that is committed",
        by="honest",
        red=_COMMITTED,
        red_commands=(
            _write(TEST_FILE, _TEST_BOTH),
            _write("calc.py", ADD + _SUBTRACT.format("NotImplemented")),
        ),
        green={"calc.py": ADD + _SUBTRACT.format("a - b")},
        is_in_git=True,
    ),
    Cheat(
        row=57,
        name="another answer is asked for, and RED takes the old one out",
        by="honest",
        earlier=({"pytest.ini": INI, TEST_FILE: TEST, "calc.py": WRONG}, {"calc.py": ADD}),
        red={TEST_FILE: TEST.replace("== 3", "== '3'"), "calc.py": _STUB},
        green={"calc.py": ADD.replace("a + b", "str(a + b)")},
    ),
    Cheat(
        row=58,
        name="a fixture comes beside that of an old test in the next RED",
        by="honest",
        earlier=({**_ANSWER, "tests/conftest.py": _FIXTURE.format(2)}, {"calc.py": _ANSWERS.format(2)}),
        red={
            "tests/test_next.py": TEST.replace("test_add()", "test_add(total)").replace("== 3", "== total"),
            "tests/conftest.py": f"{_FIXTURE.format(2)}\n\n@pytest.fixture\ndef total():\n    return 3\n",
            "calc.py": _ANSWERS.format(2) + f"\n\n{WRONG}",
        },
        green={"calc.py": _ANSWERS.format(2) + f"\n\n{ADD}"},
    ),
)
