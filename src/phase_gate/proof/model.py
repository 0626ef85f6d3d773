"""Values of a proof: how tests ended in rooms, and what that says about each target and each function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.gate.inventory import bare_id
from phase_gate.values import Value, field

#: How a room is made: at the project's own path, or in a copied folder.
Kind = Literal["mounted", "copied"]
Verdict = Literal["proven", "passes-without", "fails-with", "checks-nothing", "flaky", "skipped", "unknown"]

#: What each verdict says to people.
MEANINGS: Mapping[Verdict, str] = {
    "proven": "fails without the change, passes with it",
    "passes-without": "passes without the change",
    "fails-with": "fails with the change, when only the frozen tests and the sources are there",
    "checks-nothing": "passes whatever the new code does",
    "flaky": "had two outcomes on the same files",
    "skipped": "is skipped, or expected to fail, with the change and without",
    "unknown": "could not be tried",
}
#: Those that refute a target, whatever is configured.
DISPROVEN: frozenset[Verdict] = frozenset({"passes-without", "fails-with"})

Outcome = Literal["passes", "fails", "skipped", "unknown"]


class TargetProof(Value):
    """What was tried with one target."""

    id: str
    verdict: Verdict
    #: Without the change, with it, and with functions emptied.
    control: Outcome = "unknown"
    treatment: Outcome = "unknown"
    #: Why, in a line: what it said when it failed, or what kept it from being tried.
    why: str = ""
    #: Changed functions that it calls, and those whose emptying made it fail by its own check.
    reaches: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    #: A module that it could not find without the change.
    missing: str = ""
    #: A file of the project that could not be imported without the change.
    broken: str = ""
    #: In RED the code that it asks for was missing: it has never failed by its own check.
    is_structural: bool = False
    #: The functions could be emptied, so that nothing noticed means something.
    was_tried: bool = False

    @property
    def is_disproven(self) -> bool:
        return self.verdict in DISPROVEN


class FunctionProof(Value):
    """A function that is new or changed, and which targets notice when it does nothing."""

    file: str
    name: str
    line: int
    noticed_by: tuple[str, ...] = ()
    #: Why it was not emptied; empty: it was.
    left_out: str = ""


class Proof(Value):
    """All of it."""

    targets: tuple[TargetProof, ...] = ()
    functions: tuple[FunctionProof, ...] = ()
    #: What the rooms had in them, as a digest: the same again needs no second proof.
    key: str = ""
    #: Why nothing could be tried; empty if something was.
    problem: str = ""
    notes: tuple[str, ...] = ()
    #: Changed sources of the repository outside of the project that were imported without the change: not put back.
    outside: tuple[str, ...] = ()
    room: str = ""
    #: The targets were tried without the change, too.
    has_control: bool = True
    seconds: float = 0.0
    starts: int = 0
    at: str = ""

    def count(self, *verdicts: Verdict) -> int:
        return sum(each.verdict in verdicts for each in self.targets)

    @property
    def unnoticed(self) -> tuple[FunctionProof, ...]:
        """The functions that were emptied, and no target noticed."""
        return tuple(each for each in self.functions if not each.noticed_by and not each.left_out)

    def is_called(self, function: FunctionProof) -> bool:
        """Tell whether a target calls a function, as far as that can be seen: not what its child processes call."""
        return any(f"{function.file}::{function.name}" in each.reaches for each in self.targets)


class Report(Value):
    """How one test ended in a room, the worst of its stages."""

    has_passed: bool
    #: It was skipped, or failed as it was expected to.
    is_skipped: bool = False
    #: The file of the project's innermost frame; empty where it passed, or nothing of the project's was involved.
    place: str = ""
    message: str = ""
    #: A module that could not be found.
    missing: str = ""
    #: A file of the project that can't be imported, where the test's own file can't be collected for that.
    broken: str = ""


class Reports(dict[str, Report]):
    """How tests ended, by id; found by their functions without a walk through all of them."""

    def of(self, function: str) -> list[Report]:
        """Return the reports of a function's rows."""
        if not hasattr(self, "_rows"):
            self._rows: dict[str, list[Report]] = {}
            for test_id, report in self.items():
                self._rows.setdefault(bare_id(test_id), []).append(report)
        return self._rows.get(function, [])


class RoomRun(Value):
    """What a run in a room showed."""

    kind: Kind
    seconds: float
    #: By test id; a file that can't be imported stands for all of its tests.
    reports: Reports = field(default_factory=Reports)
    #: Which watched functions each test called.
    reached: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Watched functions that were called while modules were imported: decorators, say.
    called_by_import: frozenset[str] = frozenset()
    #: Why it says nothing; empty if it ended as it should.
    problem: str = ""
    #: Files that were imported.
    modules: tuple[str, ...] = ()
    #: Those of them that were compiled, and lie in the project; from its root.
    built: tuple[str, ...] = ()
    output: str = ""
    #: pytest ended before it collected anything: it did not start as it should.
    is_silent: bool = False
    #: Its time was over before it ended.
    is_late: bool = False
