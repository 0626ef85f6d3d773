"""Find the tests of a whole suite whose checks can't fail. Needs neither phases nor git.

The suite runs as it is, then with tests that expect something else, in sandboxes; what still passes runs alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from phase_gate.codec import spell_out
from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.change import settings_of_root
from phase_gate.proof.model import Shown
from phase_gate.proof.sandbox import NoSandboxError, Sandbox
from phase_gate.proof.talk import Limits
from phase_gate.proof.testing import SandboxRun, run_in_sandbox
from phase_gate.proof.unfailing import AlteredProof, passing_items, try_altered
from phase_gate.report.ci import Place
from phase_gate.values import Value, replace
from phase_gate.visible import count, show_rows

Show = Callable[[str], None]

#: Seconds that a test may take that expects something else, by the processor and by the clock, unless the whole suite
#: takes longer.
_LEAST_SECONDS, _LEAST_BY_CLOCK = 30.0, 120.0
#: Short tracebacks: almost every altered test has one, and none is shown.
_QUIETLY = ("-q", "--tb=line", "-p", "no:cacheprovider")


#: A check that holds whatever the answer is, and one that is never run.
_CLOSING: tuple[Shown, ...] = ("still-passes", "dead-assert")


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

    @property
    def has_findings(self) -> bool:
        """Some check can't fail."""
        return bool(self.of(*_CLOSING))


def prove_suite(
    root: Path, paths: Iterable[str] = (), *, seconds: float = math.inf, show: Show = lambda text: None
) -> SuiteProof:
    """Return which checks of a suite can't fail. Writes nothing into the project.

    :param paths: what pytest is called with, from the root; where left out, what its settings say.
    :param seconds: how long all of it may take.
    """
    began = time.monotonic()
    suite = _Suite(root, tuple(paths), began + seconds, show)
    try:
        proof = suite.prove()
    except (NoSandboxError, OSError) as error:
        proof = SuiteProof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 1), starts=suite.starts)


class _Suite:
    def __init__(self, root: Path, paths: tuple[str, ...], ends_at: float, show: Show) -> None:
        self._root, self._paths, self._ends_at, self._show = root, paths, ends_at, show
        self._limits = Limits(processor=math.inf, clock=math.inf)
        self._alone = 0
        self.starts = 0

    def prove(self) -> SuiteProof:
        self._show("suite: as it is")
        sandbox = Sandbox(root=self._root)
        run = self._enter(sandbox, self._paths)
        if not run.items:
            return SuiteProof(problem=run.problem or "pytest collected no test")
        passing = passing_items(run)
        if not passing:
            messages = [report.message for report in run.reports.values() if report.message]
            return SuiteProof(problem=f"no test passes as it is: {messages[0] if messages else run.problem}")
        self._limits = Limits(
            processor=max(_LEAST_SECONDS, run.seconds), clock=max(_LEAST_BY_CLOCK, run.seconds), is_each=True
        )
        return SuiteProof(
            tests=len({bare_id(item.id) for item in run.items}),
            passing=len({bare_id(item.id) for item in passing}),
            altered=try_altered(passing, sandbox, self._try),
        )

    def _try(self, sandbox: Sandbox, wanted: Collection[str], *, is_alone: bool) -> SandboxRun:
        if not is_alone:
            self._show(f"suite: {count(len(wanted), 'test')} that expect something else")
            return self._enter(sandbox, self._paths, wanted)
        self._alone += 1
        self._show(f"suite: alone, no. {self._alone}: {min(wanted)}")
        files = dict.fromkeys(split_id(each)[0] for each in wanted)
        return self._enter(sandbox, (*settings_of_root(self._root, wanted), *files), wanted, is_traced=True)

    def _enter(
        self, sandbox: Sandbox, arguments: tuple[str, ...], wanted: Collection[str] = (), *, is_traced: bool = False
    ) -> SandboxRun:
        self.starts += 1
        return run_in_sandbox(
            sandbox,
            (*_QUIETLY, *arguments),
            limits=replace(self._limits, clock=max(0.0, min(self._limits.clock, self._ends_at - time.monotonic()))),
            wanted=wanted,
            is_traced=is_traced,
        )


# --- for people


_SIGNS: dict[Shown, str] = {"still-passes": "-", "dead-assert": "!", "some-rows": "?", "not-tried": "?"}


def suite_text(proof: SuiteProof) -> str:
    rows = [f"{_SIGNS[each.shown]} {_say(each)}" for shown in _SIGNS for each in proof.of(shown)]
    return show_rows([*rows, _sum_up(proof)])


def suite_markdown(proof: SuiteProof) -> str:
    rows = [f"- {_say(each)}" for shown in _SIGNS for each in proof.of(shown)]
    return show_rows(["## Checks that can't fail", "", *rows, *([""] if rows else []), _sum_up(proof), ""])


def suite_places(proof: SuiteProof) -> list[Place]:
    """Return the lines to annotate in CI."""
    return [
        Place(file=each.file, line=each.line, text=_say(each), is_error=each.shown in _CLOSING)
        for shown in _SIGNS
        for each in proof.of(shown)
    ]


def suite_document(proof: SuiteProof) -> dict[str, Any]:
    """Return it for machines: numbers, and each finding with its place."""
    numbers = {name: getattr(proof, name) for name in ("tests", "passing", "problem", "seconds", "starts")}
    rows = [spell_out(each) for shown in _SIGNS for each in proof.of(shown)]
    return {**numbers, "altered": len(proof.altered), "findings": rows}


def _say(each: AlteredProof) -> str:
    return each.text or f"{each.file}:{each.line} could not be tried: {each.ids[0]} does not end, or ends pytest"


def _sum_up(proof: SuiteProof) -> str:
    if proof.problem:
        return f"nothing tried: {proof.problem}"
    found = f"{count(len(proof.of('still-passes')), 'test')} can't fail"
    dead = len(proof.of("dead-assert"))
    found += f", {count(dead, 'assert')} {'is' if dead == 1 else 'are'} never run" if dead else ""
    return (
        f"{found}; {len(proof.altered)} of {count(proof.passing, 'passing test')} had something to alter"
        f" ({count(proof.starts, 'run')} of pytest in {proof.seconds:g} s)"
    )
