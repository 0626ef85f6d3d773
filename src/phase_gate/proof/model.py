"""Values of a proof: how tests ended in sandboxes, and what that says about each target and each function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value
from phase_gate.visible import name_first

Verdict = Literal[
    "proven",
    "passes-without",
    "fails-with",
    "row-changed",
    "cannot-fail",
    "checks-nothing",
    "nothing-raised",
    "no-change",
    "flaky",
    "skipped",
    "unknown",
]

#: What each verdict says to people.
MEANINGS: Mapping[Verdict, str] = {
    "proven": "fails without the change, passes with it",
    "passes-without": "passes without the change",
    "fails-with": "fails with the change, when only the frozen tests and the sources are there",
    "row-changed": "asks for something else with the change",
    "cannot-fail": "passes whatever it expects",
    "checks-nothing": "passes whatever the new code does",
    "no-change": "passes",
    "nothing-raised": "shows only that nothing is raised",
    "flaky": "had two outcomes on the same files",
    "skipped": "is skipped, or expected to fail, with the change and without",
    "unknown": "could not be tried",
}
#: Those that refute a target, whatever is configured.
DISPROVEN: frozenset[Verdict] = frozenset({"passes-without", "fails-with", "row-changed", "cannot-fail"})
#: Those that leave open whether a target shows what it is for.
UNPROVEN: frozenset[Verdict] = frozenset({"nothing-raised", "unknown", "flaky"})

Outcome = Literal["passes", "fails", "skipped", "unknown"]
OldOutcome = Literal["", "passes", "fails", "skipped", "unknown"]

#: What a test shows when it expects something else. Only "still-passes" refutes it: some rows that pass, and asserts
#: behind a line that raises, are advice. "nothing": it has nothing to alter.
Shown = Literal["nothing", "fails", "still-passes", "some-rows", "dead-assert", "not-tried"]


class TargetProof(Value):
    """What was tried with one target."""

    id: str
    verdict: Verdict
    #: Without the change, and with it.
    control: Outcome = "unknown"
    treatment: Outcome = "unknown"
    #: Why, in a line: what it said when it failed, or what kept it from being tried.
    why: str = ""
    #: Changed functions that it calls, and those whose emptying made it fail by its own check.
    reaches: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    #: A module that it could not find without the change; with it, where it does not pass with it.
    missing: str = ""
    #: Without the change it fails, but not by its own check: the code that it asks for is missing, or raises.
    is_structural: bool = False
    #: The functions could be emptied, so that nothing noticed means something.
    was_tried: bool = False
    #: It passes with these files as they were when the cycle began: RED broke what worked.
    worked_with: tuple[str, ...] = ()
    #: It passes without the change, and may: it guards what works already, or was there before.
    is_tolerated: bool = False
    #: Of an old test that passes with the change and without it: how its version at the base ends with the change.
    old_version: OldOutcome = ""
    #: What it shows when it expects something else; and advice about that, with the line of the check.
    altered: Shown = "nothing"
    advice: str = ""
    line: int = 0

    @property
    def is_disproven(self) -> bool:
        return self.verdict in DISPROVEN and not self.is_tolerated

    def closes(self, *, required: bool) -> bool:
        """Tell whether it keeps the gate closed.

        "Checks nothing" closes only where the test has never failed by its own check: it may be unable to.
        """
        if self.verdict == "checks-nothing":
            return self.is_structural
        return self.is_disproven or (required and (self.is_tolerated or self.verdict in UNPROVEN))


def say_broken(target: TargetProof) -> str:
    """Say of a target that it worked before RED."""
    files = name_first(target.worked_with)
    return f"passes on the files that the cycle began with ({files}): RED broke what worked; ask for what is missing"


class FunctionProof(Value):
    """A function that is new or changed, and which targets notice when it does nothing."""

    file: str
    name: str
    line: int
    noticed_by: tuple[str, ...] = ()
    #: Why it was not emptied; empty: it was.
    left_out: str = ""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


class Proof(Value):
    """All of it."""

    targets: tuple[TargetProof, ...] = ()
    functions: tuple[FunctionProof, ...] = ()
    #: Why nothing could be tried; empty if something was.
    problem: str = ""
    notes: tuple[str, ...] = ()
    sandbox: str = ""
    #: The targets were tried without the change, too.
    has_control: bool = True
    seconds: float = 0.0
    starts: int = 0

    def count(self, *verdicts: Verdict) -> int:
        return sum(each.verdict in verdicts for each in self.targets)

    @property
    def unnoticed(self) -> tuple[FunctionProof, ...]:
        """The functions that were emptied, and no target noticed."""
        return tuple(each for each in self.functions if not each.noticed_by and not each.left_out)

    def closes(self, *, required: bool) -> bool:
        """Tell whether one of the targets keeps the gate closed."""
        return any(each.closes(required=required) for each in self.targets)
