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


class Meaning(Value, kw_only=False):
    """What a verdict says to people, and what comes of it."""

    said: str
    #: What stands in front of a target: shapes, so that colour is not needed.
    sign: str
    #: Refuted: whatever is configured; open: it does not show what it is for; silent: there is nothing to say of it.
    #: Needs: it fails without the change and passes with it, whatever that shows.
    kinds: tuple[Literal["refuted", "open", "silent", "needs"], ...] = ()
    #: How a sum says it, of one test and of several.
    one: str = ""
    several: str = ""


MEANINGS: Mapping[Verdict, Meaning] = {
    "fails-with": Meaning(
        "fails with the change, when only the frozen tests and the sources are there",
        "-",
        ("refuted",),
        "fails with it",
        "fail with it",
    ),
    "cannot-fail": Meaning("passes whatever it expects", "-", ("refuted",), "can't fail", "can't fail"),
    "row-changed": Meaning("asks for something else with the change", "-", ("refuted",)),
    "no-change": Meaning("passes", "=", ("silent",), "passes", "pass"),
    "passes-without": Meaning("passes without the change", "-", ("refuted",), "passes without it", "pass without it"),
    "flaky": Meaning("had two outcomes on the same files", "?", ("open",), "is flaky", "are flaky"),
    "unknown": Meaning("could not be tried", "?", ("open",), "is unknown", "are unknown"),
    "skipped": Meaning(
        "is skipped, or expected to fail, with the change and without", "?", ("silent",), "is skipped", "are skipped"
    ),
    "nothing-raised": Meaning("shows only that nothing is raised", "?", ("open", "needs")),
    "checks-nothing": Meaning("passes whatever the new code does", "!", ("needs",)),
    "proven": Meaning("fails without the change, passes with it", "+", ("silent", "needs")),
}

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
        return self.has("refuted") and not self.is_tolerated

    def has(self, kind: str) -> bool:
        """Tell whether its verdict is of a kind."""
        return kind in MEANINGS[self.verdict].kinds

    def closes(self, *, required: bool) -> bool:
        """Tell whether it keeps the gate closed.

        "Checks nothing" closes only where the test has never failed by its own check: it may be unable to.
        """
        if self.verdict == "checks-nothing":
            return self.is_structural
        return self.is_disproven or (required and (self.is_tolerated or self.has("open")))


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
