"""Honest work, for which the gate must open without a warning."""

from __future__ import annotations

from tests.integrity.cheats_red import EMPTY, red
from tests.integrity.rows import BAD, CONFIGURATION, GOOD, SIGNAL, TEST_FILE, TESTS, Attempt, Base, edit
from tests.integrity.shared import NOTHING_ASSERT, NOTHING_TEST
from tests.integrity.wide import CONFTEST, WIDE, change

_MORE = f"{NOTHING_TEST}\n\ndef test_more():\n    assert total([5]) == 5\n"
_XDIST = ("-p", "xdist", "-n", "2")
_COMMIT = (
    ("git", "init", "-q"),
    ("git", "add", "."),
    ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"),
)
_REFACTORED: tuple[tuple[str, ...], ...] = (
    ("phase-gate", "declare", "refactoring_complete=true", "--reason", "nothing is left"),
)


def _after_red(**files: str) -> Base:
    """A base whose RED has these files of tests, too; their names are given without `.py`."""
    return Base(files=(("pytest.ini", CONFIGURATION), *((f"tests/{name}.py", text) for name, text in files.items())))


_PLATFORM_SKIP = f"""\
{TESTS}

@pytest.mark.skipif(True, reason="not on this platform")
def test_elsewhere():
    assert total([1]) == 1
"""

_DOCUMENTED_CONFTEST = """\
import pytest

phase_report_key = pytest.StashKey()


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes its time")


@pytest.fixture
def prices():
    return [1, 2, 3]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("QUIET", "1")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    rep = yield
    item.stash.setdefault(phase_report_key, {})[rep.when] = rep
    return rep
"""

_WRITES_FILES = f"""\
{TESTS}

def test_writes(tmp_path):
    from pathlib import Path

    Path("out.log").write_text(str(total([1])))
    (Path(__file__).parent / "last-result.json").write_text("[1]")
    assert total([1]) == 1
"""

_SHUFFLED = """\
import random

import pytest

from price import total

NUMBERS = [1, 2, 3, 4]
random.shuffle(NUMBERS)


@pytest.mark.parametrize("number", NUMBERS)
def test_one(number):
    assert total([number]) == number
"""

_COLLEAGUE = "\n\n".join(f"def test_{number}():\n    assert {number} + 1 == {number + 1}\n" for number in range(40))

_FLAT = Base(files=(("pytest.ini", "[pytest]\n"), ("test_price.py", TESTS)))

_KNOWN_FAILURES = Base(
    files=(
        ("pytest.ini", CONFIGURATION),
        ("tests/test_old.py", "\n\n".join(f"def test_{n}():\n    assert len(str({n})) == 2\n" for n in (1, 2, 3, 10))),
    ),
    commands=(("phase-gate", "baseline"),),
    has_red=False,
    # `baseline` runs pytest itself, and the bench has autoloading off.
    environment=(("PYTEST_PLUGINS", "phase_gate.plugin"),),
)

_GREEN_AND_OUT = Attempt(after=(SIGNAL,))


def _on(text: str, **more: object) -> Attempt:
    return Attempt(base=_after_red(test_price=text), **more)  # type: ignore[arg-type]


def _red_first(*, base: Base = EMPTY, then: Attempt, **more: object) -> Attempt:
    """RED, honestly, and then something else."""
    return Attempt(base=base, phase="red", runs=((),), after=(SIGNAL,), then=then, **more)  # type: ignore[arg-type]


_RETURNS_NOTHING = "def total(prices):\n    return None\n\n\ndef discount(amount):\n    raise NotImplementedError\n"
_RAISES_TEST = """\
import pytest

from price import total


def test_refuses_text():
    with pytest.raises(ValueError):
        total("12")
"""

_ADDED = """\
LIMIT = 100
MORE = [1]


@pytest.fixture
def more():
    return MORE


def add(numbers):
    return sum(numbers)


def test_more(more):
    assert total(more) == add(more)
"""

TWINS: dict[str, Attempt] = {
    "a platform skip that was there before": _on(_PLATFORM_SKIP),
    "a test is reformatted": edit(
        NOTHING_ASSERT,
        '    """Nothing costs nothing."""\n    # at all\n    assert (\n        total([]) == 0  # none\n    )\n',
    ),
    "imports are sorted, and one comes": change(
        ("import unittest\n\nimport pytest\n", "import os\nimport unittest\n\nimport pytest\n"),
        ("discount, total", "total, discount"),
    ),
    "a helper, a constant, a fixture and tests are added": change(
        (
            "LIMIT = 100\n",
            _ADDED,
        )
    ),
    "a fixture is added to the conftest, and a test that uses it": Attempt(
        base=WIDE,
        writes=(
            ("tests/conftest.py", f"{CONFTEST}\n\n@pytest.fixture\ndef more():\n    return [1]\n"),
            ("tests/test_more.py", "from price import total\n\n\ndef test_more(more):\n    assert total(more) == 1\n"),
        ),
    ),
    "a new folder of tests with helpers and a conftest of its own": Attempt(
        base=WIDE,
        writes=(
            ("tests/more/__init__.py", ""),
            ("tests/more/helpers.py", "ONE = 1\n"),
            ("tests/more/conftest.py", ""),
            ("tests/more/test_more.py", "from .helpers import ONE\n\n\ndef test_more():\n    assert ONE\n"),
        ),
    ),
    "a method is added to a class of tests": change(
        ("    def test_small(", "    def test_none(self):\n        assert discount(0) == 0\n\n    def test_small(")
    ),
    "a test is added in REFACTOR": Attempt(
        after=(SIGNAL,),
        then=Attempt(
            phase="refactor",
            edits=((NOTHING_TEST, _MORE),),
            runs=((),),
            then=Attempt(phase="refactor", before=_REFACTORED, runs=((),)),
        ),
    ),
    "docs are edited between two runs": Attempt(
        runs=((),), then=Attempt(runs=((),), writes=(("README.md", "# Prices\n"), ("docs/how.rst", "How\n===\n")))
    ),
    "one file and one test while working": Attempt(
        code=BAD, runs=((TEST_FILE,), (f"{TEST_FILE}::test_total_adds_up",), ("-x",), ("-k", "nothing")), then=Attempt()
    ),
    "-n 2 today and none tomorrow": Attempt(runs=(_XDIST, ())),
    "none today and -n 2 tomorrow": Attempt(runs=((), _XDIST)),
    "pytest-randomly": Attempt(arguments=("-p", "randomly")),
    "pytest-cov": Attempt(arguments=("-p", "pytest_cov", "--cov=price", "--cov-report=term")),
    "pytest-cov in one run only": Attempt(runs=(("-p", "pytest_cov", "--cov=price", "--cov-report=xml"), ())),
    "pytest-timeout": Attempt(arguments=("-p", "timeout", "--timeout=60")),
    "a conftest with fixtures, markers and the makereport of pytest's docs": Attempt(
        base=_after_red(test_price=TESTS, conftest=_DOCUMENTED_CONFTEST)
    ),
    "a test that writes files": _on(_WRITES_FILES),
    "generated parameter ids in another order": _on(_SHUFFLED),
    "a renamed folder in RED": Attempt(
        base=EMPTY,
        phase="red",
        code=None,
        runs=((),),
        writes=((TEST_FILE, TESTS),),
        then=Attempt(
            phase="red",
            code=None,
            removes=("tests",),
            writes=(("checks/test_price.py", TESTS), ("pytest.ini", CONFIGURATION.replace("= tests", "= checks"))),
            runs=((),),
            after=(SIGNAL,),
            then=Attempt(),
        ),
    ),
    "a colleague's passing tests are merged in GREEN": Attempt(
        runs=((),), then=Attempt(writes=(("tests/test_colleague.py", _COLLEAGUE), ("their.py", "THEIRS = 1\n")))
    ),
    "a colleague's 40 passing tests are merged in RED": Attempt(
        base=EMPTY,
        phase="red",
        code=None,
        writes=(("tests/test_colleague.py", _COLLEAGUE), (TEST_FILE, "")),
        before=_COMMIT,
        runs=(),
        then=Attempt(phase="red", code=None, writes=((TEST_FILE, TESTS),), runs=((),), after=(SIGNAL,), then=Attempt()),
    ),
    "a flat project with tests beside the code": Attempt(base=_FLAT),
    "code that returns None, or raises NotImplementedError, in RED": _red_first(
        code=_RETURNS_NOTHING, writes=((TEST_FILE, TESTS),), then=Attempt()
    ),
    "an expected exception that does not come in RED": _red_first(
        code="def total(prices):\n    return None\n",
        writes=((TEST_FILE, _RAISES_TEST),),
        then=Attempt(code="def total(prices):\n    raise ValueError\n"),
    ),
    "a corrected test after going back to RED": Attempt(
        then=_red_first(
            edits=(("total([]) == 0", "total([]) == 1"),),
            then=Attempt(code=GOOD.replace("sum(prices)", "sum(prices) if prices else 1")),
        )
    ),
    "going back to RED with one more test": Attempt(
        then=_red_first(
            edits=(
                (
                    NOTHING_TEST,
                    f"{NOTHING_TEST}\n\ndef test_vat():\n    from price import vat\n\n    assert vat(100) == 19\n",
                ),
            ),
            then=Attempt(code=f"{GOOD}\n\ndef vat(amount):\n    return amount * 19 // 100\n"),
        )
    ),
    "a second cycle": Attempt(
        after=(SIGNAL,),
        then=_red_first(
            writes=(("tests/test_vat.py", "from price import vat\n\n\ndef test_vat():\n    assert vat(100) == 19\n"),),
            then=Attempt(code=f"{GOOD}\n\ndef vat(amount):\n    return amount * 19 // 100\n"),
        ),
    ),
    "three known failures in the baseline": _red_first(
        base=_KNOWN_FAILURES, code=None, writes=((TEST_FILE, TESTS),), then=Attempt()
    ),
    "the wrong phase is typed": Attempt(
        runs=((),),
        then=Attempt(
            phase="refactor", runs=((),), then=Attempt(phase="document", runs=((),), then=Attempt(runs=((),)))
        ),
    ),
    "everything is committed between two runs": Attempt(runs=((),), then=Attempt(before=_COMMIT, runs=((), ()))),
    "a parametrised test in a red written with its ids": red(TESTS),
}
