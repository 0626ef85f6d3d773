"""Rows 53 to 58 as small stories: checks that can't fail, what can't be emptied, what a RED may change."""

from __future__ import annotations

from tests.proof.cheat import CHECKS_NOTHING, INI, NOTHING_RAISED, TEST_FILE, UNTRIED, Cheat
from tests.proof.stories import ADD

_STUB = "def add(a, b):\n    raise NotImplementedError\n"
_LAMBDA = "add = lambda a, b: a + b\n"


def _red(*lines: str) -> dict[str, str]:
    """Return a project with a stub that raises, and a test with this body."""
    body = "".join(f"    {line}\n" for line in lines)
    return {"pytest.ini": INI, TEST_FILE: f"import calc\n\n\ndef test_add():\n{body}", "calc.py": _STUB}


CHEATS_OF_CHECKS: tuple[Cheat, ...] = (
    *(
        Cheat(
            row=53,
            name=f"{what}, red by a stub that raises",
            by="experiment",
            told_by=CHECKS_NOTHING,
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
        told_by=CHECKS_NOTHING,
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
)
