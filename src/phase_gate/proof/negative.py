"""The negative control: does a target notice when the new code does nothing?

For each function that is new or changed and that targets call, its body goes, and those targets run again. Several
functions go at once where no target calls two of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, Protocol, get_args

from phase_gate.proof.emptying import empty, put_back
from phase_gate.proof.experiment import reports_of
from phase_gate.proof.model import FunctionProof, TargetProof
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.testing import SandboxRun
from phase_gate.source.functions import Function
from phase_gate.values import replace

#: What stands in a function's place: a value that is false, one that is true, or what it was in RED.
_Way = Literal["false", "true", "as before"]
_WAYS: tuple[_Way, ...] = get_args(_Way)

#: What a run with emptied functions may take: so many seconds, or so many times as long as with the change. Code that
#: does nothing may never end: a loop waits for a value that does not come.
_LEAST_SECONDS, _TIMES = 10.0, 5.0


class Enter(Protocol):
    """Runs targets in a sandbox."""

    def __call__(self, sandbox: Sandbox, targets: Iterable[str], *, limit: float) -> SandboxRun: ...


def find_vacuous(
    targets: tuple[TargetProof, ...],
    functions: Mapping[str, list[Function]],
    texts: Mapping[str, bytes],
    before: Mapping[str, bytes],
    treatment: SandboxRun,
    sandbox: Sandbox,
    enter: Enter,
    frozen: Collection[str],
) -> tuple[tuple[TargetProof, ...], tuple[FunctionProof, ...]]:
    """Return the targets with what they notice, and the functions with the targets that notice them.

    :param functions: those that are new or changed, by file.
    :param before: what the files were, as far as they were there.
    :param treatment: the run with the change: it shows which functions each target calls.
    :param enter: runs targets in a sandbox.
    """
    control = _NegativeControl(functions, texts, before, treatment, sandbox, enter, frozen)
    control.run([each.id for each in targets if each.verdict == "proven"])
    return (
        tuple(control.judge(each) for each in targets),
        tuple(
            FunctionProof(
                file=path,
                name=function.name,
                line=function.line,
                noticed_by=tuple(sorted(control.noticed.get(f"{path}::{function.name}", ()))),
                left_out=function.left_out or control.why_untried(f"{path}::{function.name}"),
            )
            for path, rows in functions.items()
            for function in rows
        ),
    )


class _NegativeControl:
    def __init__(
        self,
        functions: Mapping[str, list[Function]],
        texts: Mapping[str, bytes],
        before: Mapping[str, bytes],
        treatment: SandboxRun,
        sandbox: Sandbox,
        enter: Enter,
        frozen: Collection[str],
    ) -> None:
        self._texts, self._before, self._sandbox, self._enter, self._frozen = texts, before, sandbox, enter, frozen
        self._names = {f"{path}::{each.name}": (path, each) for path, rows in functions.items() for each in rows}
        #: Function -> targets that call it.
        self._callers: dict[str, set[str]] = {name: set() for name in self._names}
        for test_id, names in treatment.reached.items():
            for name in names:
                self._callers.setdefault(name, set()).add(test_id.partition("[")[0])
        #: Function -> targets that noticed.
        self.noticed: dict[str, set[str]] = {}
        self._tried: set[str] = set()
        #: Functions without which a target did not end.
        self._endless: set[str] = set()
        self._called_by_import = treatment.called_by_import
        self._limit = max(_LEAST_SECONDS, _TIMES * treatment.seconds)
        #: Some target is proven as far as that goes, so that what none of them calls can be told.
        self._has_targets = False

    def run(self, targets: list[str]) -> None:
        """Empty every function that targets call, until each of them has noticed one, or nothing is left to try."""
        wanted = frozenset(targets)
        self._has_targets = bool(wanted)
        names = [
            name
            for name in sorted(self._names, key=lambda each: (-len(self._callers[each]), each))
            if not self._names[name][1].left_out and self._callers[name] & wanted
        ]
        for way in _WAYS:
            # In other ways only what was not noticed yet, or is called by targets that have not noticed anything.
            waiting = [name for name in names if way == _WAYS[0] or self._is_open(name, wanted)]
            waiting = [name for name in waiting if name not in self._endless]
            for batch in self._batches([name for name in waiting if self._can(name, way)], wanted):
                self._try(batch, way, wanted)

    def _can(self, name: str, way: _Way) -> bool:
        return way != "as before" or self._names[name][0] in self._before

    def _is_open(self, name: str, wanted: Collection[str]) -> bool:
        callers = self._callers[name] & set(wanted)
        return not self.noticed.get(name) or any(not self._notices(target) for target in callers)

    def _notices(self, target: str) -> list[str]:
        return sorted(name for name, noticed in self.noticed.items() if target in noticed)

    def _batches(self, names: list[str], wanted: Collection[str]) -> list[list[str]]:
        """Return the names in groups: no target calls two functions of a group."""
        groups: list[tuple[list[str], set[str]]] = []
        for name in names:
            callers = self._callers[name] & set(wanted)
            for members, taken in groups:
                if not callers & taken:
                    members.append(name)
                    taken |= callers
                    break
            else:
                groups.append(([name], set(callers)))
        return [members for members, _ in groups]

    def _alter(self, path: str, inside: Collection[str], way: _Way) -> bytes:
        source = self._texts[path].decode("utf-8")
        if way == "as before":
            return put_back(source, self._before[path].decode("utf-8"), inside).encode("utf-8")
        return empty(source, inside, way).encode("utf-8")

    def _try(self, names: list[str], way: _Way, wanted: Collection[str]) -> None:
        contents = dict(self._sandbox.contents)
        for path in {self._names[name][0] for name in names}:
            inside = {self._names[name][1].name for name in names if self._names[name][0] == path}
            contents[path] = self._alter(path, inside, way)
        callers = sorted({target for name in names for target in self._callers[name] & set(wanted)})
        run = self._enter(replace(self._sandbox, contents=contents), callers, limit=self._limit)
        if run.is_late and len(names) > 1:
            for name in names:
                self._try([name], way, wanted)
            return
        if run.is_late:
            self._endless |= set(names)
        if run.problem:
            return
        for name in names:
            self._tried.add(name)
            for target in self._callers[name] & set(wanted):
                if self._is_noticed(target, run, way):
                    self.noticed.setdefault(name, set()).add(target)

    def _is_noticed(self, target: str, run: SandboxRun, way: _Way) -> bool:
        """Tell whether a target failed by its own check: in a line of the frozen tests."""
        reports = reports_of(target, run.reports)
        failures = [report for report in reports if not report.has_passed and not report.is_skipped]
        # With the old code in place any failure counts: some tests only show that nothing is raised.
        return any(report.place in self._frozen or way == "as before" for report in failures)

    def why_untried(self, name: str) -> str:
        """Return why nothing is known of a function; empty where it was emptied, or no target calls it."""
        if name in self._endless and not self.noticed.get(name):
            return "without it a test does not end"
        if name in self._called_by_import and not self._callers[name]:
            return "it is called while modules are imported"
        if name in self._tried or (self._has_targets and not self._callers[name]):
            return ""
        return "it could not be tried"

    def judge(self, target: TargetProof) -> TargetProof:
        if target.verdict != "proven":
            return target
        reached = sorted(name for name, callers in self._callers.items() if target.id in callers)
        changed = [name for name in reached if name in self._names]
        notices = tuple(name for name in self._notices(target.id))
        # What Python itself calls is never tried, and may be just what the target is about.
        was_tried = bool(notices) or (bool(changed) and (self._tried - self._endless).issuperset(changed))
        return replace(
            target,
            reaches=tuple(reached),
            notices=notices,
            was_tried=was_tried,
            verdict="checks-nothing" if was_tried and not notices else "proven",
        )
