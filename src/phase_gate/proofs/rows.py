"""One row, one false green, and the nearest honest thing: what is done, and what the gate must say."""

from __future__ import annotations

from phase_gate.values import Value, field

#: The project that every row begins with: an honest RED is recorded on it, then the code is written.
CONFIGURATION = "[pytest]\npythonpath = .\ntestpaths = tests\n"

TESTS = """\
import pytest

from price import discount, total


def test_total_adds_up():
    assert total([1, 2, 3]) == 6


def test_total_of_nothing():
    assert total([]) == 0


@pytest.mark.parametrize("amount, expected", [(10, 10), (100, 90), (200, 180)])
def test_discount(amount, expected):
    assert discount(amount) == expected
"""

#: Passes every test.
GOOD = """\
def total(prices):
    return sum(prices)


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""

#: Fails `test_total_of_nothing` and nothing else.
BAD = """\
def total(prices):
    return sum(prices) if prices else None


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""


#: The file that edits speak of.
TEST_FILE = "tests/test_price.py"

#: Words of `phase-gate`, or of another program.
Command = tuple[str, ...]

SIGNAL: Command = ("phase-gate", "signal", "--reason", "done")


class Base(Value):
    """A project as it is before somebody tries something."""

    files: tuple[tuple[str, str], ...]
    #: Commands before the first run, and whether an honest RED follows.
    commands: tuple[Command, ...] = ()
    has_red: bool = True
    environment: tuple[tuple[str, str], ...] = ()


PRICE = Base(files=(("pytest.ini", CONFIGURATION), (TEST_FILE, TESTS)))


class Attempt(Value):
    """What somebody does after an honest RED, and how they then run pytest."""

    base: Base = PRICE
    phase: str = "green"
    #: None leaves it as it is.
    code: str | None = GOOD
    writes: tuple[tuple[str, str], ...] = ()
    #: Old and new text in the test file.
    edits: tuple[tuple[str, str], ...] = ()
    removes: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    python: tuple[str, ...] = ()
    #: Each run with the words that only it has. Two, as Gate 1 of GREEN wants two green ones.
    runs: tuple[tuple[str, ...], ...] = ((), ())
    before: tuple[Command, ...] = ()
    after: tuple[Command, ...] = ()
    #: What is done next, in the same folder; its base does not matter.
    then: Attempt | None = None


class Row(Value):
    name: str
    cheat: Attempt
    #: What has to stand in the output, so that people know what happened.
    told_by: str
    twin_name: str
    twin: Attempt = field(default_factory=Attempt)


def edit(old: str, new: str, **more: object) -> Attempt:
    return Attempt(edits=((old, new),), **more)  # type: ignore[arg-type]


def conftest(text: str, *, code: str = BAD, arguments: tuple[str, ...] = ()) -> Attempt:
    return Attempt(writes=(("tests/conftest.py", text),), code=code, arguments=arguments)
