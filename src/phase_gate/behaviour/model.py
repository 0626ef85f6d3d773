"""Values of a comparison: what was asked, and what came out of it."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.behaviour.comparing import Kind
from phase_gate.values import Literal, Value

#: What the code as it is now is compared with.
Against = Literal["before", "oracle"]

#: What each kind of difference says to people.
MEANINGS: Mapping[Kind, str] = {
    "value": "gives another value",
    "type": "gives a value of another type",
    "raises": "ends otherwise",
    "arguments": "leaves its arguments otherwise",
    "output": "prints something else",
    "hangs": "does not come to an end",
    "dies": "ends the process",
}


class Difference(Value):
    """One input for which two versions of a function differ: the smallest that was found."""

    kind: Kind
    #: The call in source code.
    call: str
    #: Both answers, for people.
    before: str
    now: str
    #: A test that the code as it was passes.
    test: str


class Compared(Value):
    """What was tried with one function."""

    file: str
    name: str
    line: int
    against: Against = "before"
    #: The oracle, as it was named.
    oracle: str = ""
    #: Inputs that both have answered.
    inputs: int = 0
    difference: Difference | None = None
    #: Why it was not compared; empty: it was.
    left_out: str = ""
    #: Its time was over before all inputs were tried.
    is_cut: bool = False
    #: The time for all of them was over before it was its turn.
    is_unreached: bool = False

    @property
    def is_compared(self) -> bool:
        return not self.left_out


class Comparison(Value):
    """All of it."""

    functions: tuple[Compared, ...] = ()
    #: What the code was compared with, for people.
    since: str = ""
    seed: int = 0
    seconds: float = 0.0

    @property
    def differing(self) -> tuple[Compared, ...]:
        return tuple(each for each in self.functions if each.difference is not None)

    @property
    def compared(self) -> tuple[Compared, ...]:
        return tuple(each for each in self.functions if each.is_compared)
