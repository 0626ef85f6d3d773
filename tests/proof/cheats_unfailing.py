"""More of row 53: checks that nothing reaches, that are swallowed, or that hold for every value; and honest twins.

Some of them failed by their own check in RED, and notice emptied functions: only other expectations show what they are.
"""

from __future__ import annotations

from tests.proof.cheat import CANNOT_FAIL, INI, RED, TEST_FILE, Cheat
from tests.proof.stories import ADD, WRONG

#: Equal to whatever it is compared with.
_EQUAL = "class Sum(int):\n    def __eq__(self, other):\n        return True\n\n    __hash__ = int.__hash__\n"
_LAWFUL = (
    "class Sum(int):\n    def __eq__(self, other):\n        return int(self) == int(other)\n\n"
    "    __hash__ = int.__hash__\n"
)
_RETURNS_SUM = "\n\ndef add(a, b):\n    return Sum({})\n"
#: Reads what the test expects from its line.
_READS = """\
import linecache
import sys


def add(a, b):
    caller = sys._getframe(1)
    line = linecache.getline(caller.f_code.co_filename, caller.f_lineno)
    return int(line.rpartition("==")[2])
"""
_LOGS = """\
import linecache
import sys

lines = []


def add(a, b):
    caller = sys._getframe(1)
    lines.append(linecache.getline(caller.f_code.co_filename, caller.f_lineno))
    return a + b
"""
_STUB = "    raise NotImplementedError\n"
_OPENED = "import contextlib\n\n\n@contextlib.contextmanager\ndef opened():\n"


def _story(name: str, test: str, before: str, now: str, *, is_honest: bool = False) -> Cheat:
    return Cheat(
        row=53,
        name=name,
        by="honest" if is_honest else "experiment",
        told_by="" if is_honest else CANNOT_FAIL,
        red={"pytest.ini": INI, TEST_FILE: f"import calc\n\n\ndef test_add():\n{test}", "calc.py": before},
        green={"calc.py": now},
    )


_WITH_A_CALLBACK = (
    "    def check(total):\n        assert total == 3\n\n    calc.add_up([1, 2], check)\n",
    f"def add_up(numbers, then):\n{_STUB}",
)
_OVER_A_LIST = ("    for number in calc.double([1]):\n        assert number == 2\n", f"def double(numbers):\n{_STUB}")
_IN_A_CONTEXT = ("    with calc.opened() as total:\n        assert total == 3\n", f"{_OPENED}{_STUB}    yield\n")
_IN_A_THREAD = (
    "    import concurrent.futures\n\n    def check():\n        assert calc.add(1, 2) == 3\n\n    calc.add(0, 0)\n"
    "    with concurrent.futures.ThreadPoolExecutor() as pool:\n        pool.submit(check){}\n",
    f"def add(a, b):\n{_STUB}",
)

CHEATS_UNFAILING: tuple[Cheat, ...] = (
    Cheat(
        row=53,
        name="an answer that equals everything",
        by="experiment",
        told_by=CANNOT_FAIL,
        green={"calc.py": f"{_EQUAL}{_RETURNS_SUM.format('0')}"},
    ),
    Cheat(
        row=53,
        name="code that reads its answer from the test",
        by="experiment",
        told_by=CANNOT_FAIL,
        green={"calc.py": _READS},
    ),
    _story("a check in a callback that is never called", *_WITH_A_CALLBACK, "def add_up(numbers, then):\n    pass\n"),
    _story("a check in a loop over nothing", *_OVER_A_LIST, "def double(numbers):\n    return []\n"),
    _story(
        "a check in a context that swallows it",
        *_IN_A_CONTEXT,
        f"{_OPENED}    try:\n        yield 0\n    except AssertionError:\n        pass\n",
    ),
    _story("a check in a thread whose result is not asked for", _IN_A_THREAD[0].format(""), _IN_A_THREAD[1], WRONG),
)

HONEST_UNFAILING: tuple[Cheat, ...] = (
    Cheat(
        row=53,
        name="an answer with a comparison of its own",
        by="honest",
        green={"calc.py": f"{_LAWFUL}{_RETURNS_SUM.format('a + b')}"},
    ),
    Cheat(row=53, name="code that reads the line of its caller", by="honest", red=RED, green={"calc.py": _LOGS}),
    _story(
        "a check in a callback, and that it was called",
        "    seen = []\n\n    def check(total):\n        seen.append(total)\n        assert total == 3\n\n"
        "    calc.add_up([1, 2], check)\n    assert seen\n",
        _WITH_A_CALLBACK[1],
        "def add_up(numbers, then):\n    then(sum(numbers))\n",
        is_honest=True,
    ),
    _story(
        "a check in a loop, and how many there are",
        "    numbers = calc.double([1])\n    assert len(numbers) > 0\n"
        "    for number in numbers:\n        assert number == 2\n",
        _OVER_A_LIST[1],
        "def double(numbers):\n    return [2 * each for each in numbers]\n",
        is_honest=True,
    ),
    _story(
        "a check in a context that suppresses something else",
        *_IN_A_CONTEXT,
        f"{_OPENED}    with contextlib.suppress(KeyError):\n        yield 3\n",
        is_honest=True,
    ),
    _story("a check in a thread", _IN_A_THREAD[0].format(".result()"), _IN_A_THREAD[1], ADD, is_honest=True),
)
