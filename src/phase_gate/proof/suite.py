"""Find the tests of a whole suite whose checks can't fail. Needs neither phases nor git.

The suite runs as it is, then with tests that expect something else, in sandboxes; what still passes runs alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.base import settings_of_root
from phase_gate.proof.model import Shown
from phase_gate.proof.running import SandboxRun, run_in_sandbox
from phase_gate.proof.sandbox import NoSandboxError, Sandbox
from phase_gate.proof.talk import Limits
from phase_gate.proof.unfailing import AlteredProof, try_altered
from phase_gate.values import Value, replace
from phase_gate.visible import count

#: Seconds that a test may take that expects something else, by the processor and by the clock, unless the whole suite
#: takes longer.
_LEAST_SECONDS, _LEAST_BY_CLOCK = 30.0, 120.0
#: Short tracebacks: almost every altered test has one, and none is shown.
_QUIETLY = ("-q", "--tb=line", "-p", "no:cacheprovider")
#: A check that holds whatever the answer is, and one that is never run.
CLOSING: tuple[Shown, ...] = ("still-passes", "dead-assert")


class SuiteProof(Value):
    """What the checks of a suite are worth."""

    #: Test functions that were collected, and those of them that pass as they are.
    tests: int = 0
    passing: int = 0
    #: Those that had something to alter.
    altered: tuple[AlteredProof, ...] = ()
    #: Why nothing could be tried; empty if something was.
    problem: str = ""
    seconds: float = 0.0
    starts: int = 0

    def of(self, *shown: Shown) -> tuple[AlteredProof, ...]:
        return tuple(each for each in self.altered if each.shown in shown)


def prove_suite(
    root: Path,
    paths: Iterable[str] = (),
    *,
    seconds: float = math.inf,
    show: Callable[[str], None] = lambda text: None,
) -> SuiteProof:
    """Return which checks of a suite can't fail. Writes nothing into the project.

    :param paths: what pytest is called with, from the root; where left out, what its settings say.
    :param seconds: how long all of it may take.
    """
    began, starts = time.monotonic(), 0
    limits, given = Limits(processor=math.inf, clock=math.inf), tuple(paths)

    def enter(
        sandbox: Sandbox, arguments: Iterable[str], wanted: Collection[str] = (), *, is_traced: bool = False
    ) -> SandboxRun:
        nonlocal starts
        starts += 1
        left = max(0.0, min(limits.clock, began + seconds - time.monotonic()))
        return run_in_sandbox(
            sandbox,
            (*_QUIETLY, *arguments),
            limits=replace(limits, clock=left),
            wanted=wanted,
            is_traced=is_traced,
        )

    def try_some(sandbox: Sandbox, wanted: Collection[str], *, is_alone: bool) -> SandboxRun:
        if not is_alone:
            show(f"suite: {count(len(wanted), 'test')} that expect something else")
            return enter(sandbox, given, wanted)
        show(f"suite: alone: {min(wanted)}")
        files = dict.fromkeys(split_id(each)[0] for each in wanted)
        return enter(sandbox, (*settings_of_root(root, wanted), *files), wanted, is_traced=True)

    def prove() -> SuiteProof:
        nonlocal limits
        show("suite: as it is")
        sandbox = Sandbox(root=root)
        run = enter(sandbox, given)
        if not run.items:
            return SuiteProof(problem=run.problem or "pytest collected no test")
        if not run.passing:
            messages = [report.message for report in run.reports.values() if report.message]
            return SuiteProof(problem=f"no test passes as it is: {messages[0] if messages else run.problem}")
        longest = {"processor": _LEAST_SECONDS, "clock": _LEAST_BY_CLOCK}
        limits = Limits(is_each=True, **{name: max(least, run.seconds) for name, least in longest.items()})
        return SuiteProof(
            tests=len({bare_id(item.id) for item in run.items}),
            passing=len({bare_id(item.id) for item in run.passing}),
            altered=try_altered(run.passing, sandbox, try_some),
        )

    try:
        proof = prove()
    except (NoSandboxError, OSError) as error:
        proof = SuiteProof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 1), starts=starts)
