"""Values of a proof: how tests ended in sandboxes, and the verdict on each target and each function."""

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
    """How a verdict is displayed, and its effect on the gate."""

    description: str
    #: Shown before the target. The shapes are readable without color.
    sign: str
    #: Refuted: closes the gate, whatever is configured. Open: the target was not shown to work. Silent: no finding.
    #: Needs: the target fails without the change and passes with it.
    kinds: tuple[Literal["refuted", "open", "silent", "needs"], ...] = ()
    #: Text in a summary, for one test and for several.
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

#: What a test does when its expected values are altered. Only "still-passes" refutes it. "nothing": there are none.
Shown = Literal["nothing", "fails", "still-passes", "not-tried"]


class TargetProof(Value):
    """The results of all experiments with one target."""

    id: str
    verdict: Verdict
    #: Outcomes without the change, and with it.
    control: Outcome = "unknown"
    treatment: Outcome = "unknown"
    #: The reason, in one line: the message of the failure, or why the target could not be run.
    why: str = ""
    #: Changed functions that make it fail by its own check when emptied.
    notices: tuple[str, ...] = ()
    #: A module that was not found without the change, or with it if the target does not pass with it.
    missing: str = ""
    #: Without the change it fails, but not by its own check: the code that it needs is missing, or raises.
    is_structural: bool = False
    #: The functions could be emptied. Only then does an empty `notices` have a meaning.
    was_tried: bool = False
    #: It passes with these files as they were at the start of the cycle: RED broke working code.
    worked_with: tuple[str, ...] = ()
    #: It passes without the change, which is allowed: it guards code that works already, or existed before.
    is_tolerated: bool = False
    #: The result with altered expected values, and the line of the check that can't fail.
    altered: Shown = "nothing"
    line: int = 0

    @property
    def is_disproven(self) -> bool:
        return self.has("refuted") and not self.is_tolerated

    @property
    def description(self) -> str:
        """The verdict as text, with the reason."""
        return f"{MEANINGS[self.verdict].description}{self.reason}"

    @property
    def reason(self) -> str:
        return f": {self.why}" if self.why else ""

    def has(self, kind: str) -> bool:
        """Return whether its verdict is of this kind."""
        return kind in MEANINGS[self.verdict].kinds

    def closes(self, *, required: bool) -> bool:
        """Return whether it keeps the gate closed.

        "checks-nothing" does so only if the test has never failed by its own check, so that it may be unable to.
        """
        if self.verdict == "checks-nothing":
            return self.is_structural
        return self.is_disproven or (required and (self.is_tolerated or self.has("open")))


def describe_broken(target: TargetProof) -> str:
    """Describe a target that passed before RED."""
    files = name_first(target.worked_with)
    return f"passes on the files that the cycle began with ({files}): RED broke what worked; ask for what is missing"


#: The targets of a proof, with the results so far.
Targets = tuple[TargetProof, ...]


class FunctionProof(Value):
    """A function that is new or changed, and the targets that notice when it does nothing."""

    file: str
    name: str
    line: int
    noticed_by: tuple[str, ...] = ()
    #: It was not emptied, or no test could notice that.
    left_out: bool = False

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} {self.name}"


class Proof(Value):
    """The results for all targets and functions."""

    targets: tuple[TargetProof, ...] = ()
    functions: tuple[FunctionProof, ...] = ()
    #: Why no experiment was possible. Empty if there was one.
    problem: str = ""
    notes: tuple[str, ...] = ()
    sandbox: str = ""
    #: The targets were also run without the change.
    has_control: bool = True
    seconds: float = 0.0
    starts: int = 0

    def count(self, *verdicts: Verdict) -> int:
        return sum(each.verdict in verdicts for each in self.targets)

    @property
    def unnoticed(self) -> tuple[FunctionProof, ...]:
        """The functions that were emptied without any target noticing."""
        return tuple(each for each in self.functions if not each.noticed_by and not each.left_out)

    def closes(self, *, required: bool) -> bool:
        """Return whether at least one target keeps the gate closed."""
        return any(each.closes(required=required) for each in self.targets)
