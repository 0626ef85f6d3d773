"""The negative control: does a target notice when the new code does nothing?

For each function that is new or changed and that targets call, its body goes, and those targets run again. Several
functions go at once where no target calls two of them. For what can't be emptied something else stands in, where a test
takes it from a changed module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, get_args

from phase_gate.gate.inventory import split_id
from phase_gate.proof.boundary import Taken, find_line, find_taken
from phase_gate.proof.emptying import empty, put_back
from phase_gate.proof.experiment import fails_by_check, reports_of
from phase_gate.proof.model import FunctionProof, TargetProof, Verdict
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.testing import SandboxRun
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.functions import Function
from phase_gate.source.tests import parse_source
from phase_gate.values import Value, replace

#: What stands in a function's place: a value that is false, or true, what spoils its arguments, or what it was.
_Way = Literal["false", "true", "spoiling", "as before"]
_WAYS: tuple[_Way, ...] = get_args(_Way)
#: Those in which the function does nothing.
_IDLE: tuple[_Way, ...] = ("false", "true")

#: What a run with emptied functions may take: so many seconds, or so many times as long as with the change. Code that
#: does nothing may never end: a loop waits for a value that does not come.
_LEAST_SECONDS, _TIMES = 10.0, 5.0
#: Names of one target that something stands in for.
_NAMES = 3


class ChangedCode(Value):
    """The sources that a step has changed."""

    #: Path -> text, as it is now, and as it was where it was there.
    texts: Mapping[str, bytes]
    before: Mapping[str, bytes]
    #: Those functions that are new or changed, by file.
    functions: Mapping[str, list[Function]]


def find_vacuous(
    targets: tuple[TargetProof, ...],
    code: ChangedCode,
    treatment: SandboxRun,
    sandbox: Sandbox,
    enter: Callable[..., SandboxRun],
    checked: Collection[str],
    read: Callable[[str], bytes],
) -> tuple[tuple[TargetProof, ...], tuple[FunctionProof, ...]]:
    """Return the targets with what they notice, and the functions with the targets that notice them.

    :param treatment: the run with the change: it shows which functions each target calls.
    :param enter: runs targets in a sandbox.
    :param checked: the files in whose lines a target fails by its own check.
    :param read: gives the text of a frozen file.
    """
    proven = [each for each in targets if each.verdict == "proven"]
    tests = {each.id: _SourceTest(each.id, read) for each in proven}
    control = _NegativeControl(code, treatment, sandbox, enter, checked, tests)
    control.run([each.id for each in proven])
    # A target that failed by its own check without the change needs no stand-in.
    control.stand_in([each.id for each in proven if each.is_structural and tests[each.id].has_check])
    judged = tuple(control.judge(each) for each in targets)
    # A test that nothing happens in some case has to pass where the code does nothing: its check can fail all the same.
    judged = tuple(
        replace(each, is_structural=False) if each.verdict == "checks-nothing" and each.altered == "fails" else each
        for each in judged
    )
    return judged, (*control.functions(), *control.names())


class _SourceTest:
    """What the source of a target says."""

    def __init__(self, target: str, read: Callable[[str], bytes]) -> None:
        file, name = split_id(target)
        self.taken: list[Taken] = []
        #: In doubt it has: a test may be inherited, or made by code.
        self.has_check = True
        try:
            tree = parse_source(read(file))
        except (OSError, SyntaxError, ValueError):
            return
        if (function := find_function(tree, name)) is not None:
            self.taken = find_taken(function, tree)
            self.has_check = has_check(function, tree, under_test={each.alias or each.name for each in self.taken})


class _NegativeControl:
    def __init__(
        self,
        code: ChangedCode,
        treatment: SandboxRun,
        sandbox: Sandbox,
        enter: Callable[..., SandboxRun],
        checked: Collection[str],
        tests: Mapping[str, _SourceTest],
    ) -> None:
        self._code, self._sandbox, self._enter, self._checked, self._tests = code, sandbox, enter, checked, tests
        self._names = {f"{path}::{each.name}": (path, each) for path, rows in code.functions.items() for each in rows}
        #: Function -> targets that call it.
        self._callers: dict[str, set[str]] = {name: set() for name in self._names}
        for test_id, names in treatment.reached.items():
            for name in names:
                self._callers.setdefault(name, set()).add(test_id.partition("[")[0])
        #: Function -> targets that noticed; those that passed without it; those that failed by something else.
        self._noticed: dict[str, set[str]] = {}
        self._passed: dict[str, set[str]] = {}
        self._disturbed: dict[str, set[str]] = {}
        #: Functions without which a target did not end.
        self._endless: set[str] = set()
        self._tried: set[str] = set()
        self._called_by_import = treatment.called_by_import
        self._limit = max(_LEAST_SECONDS, _TIMES * treatment.seconds)
        #: Some target is proven as far as that goes, so that what none of them calls can be told.
        self._has_targets = bool(tests)

    def run(self, targets: list[str]) -> None:
        """Empty every function that targets call, until each of them has noticed one, or nothing is left to try."""
        wanted = frozenset(targets)
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

    def stand_in(self, targets: Iterable[str]) -> None:
        """Have something stand in for names that targets call, one of each target at a time."""
        waiting = {
            target: [each for each in self._tests[target].taken if self._label(each) not in self._tried][:_NAMES]
            for target in targets
        }
        while waiting := {target: rest for target, rest in waiting.items() if rest and not self._notices(target)}:
            names = {target: rest.pop(0) for target, rest in waiting.items()}
            for way in _IDLE:
                asked = {target: name for target, name in names.items() if not self._notices(target)}
                self._stand_in_for(asked, way)

    def _stand_in_for(self, names: Mapping[str, Taken], way: _Way) -> None:
        if not names:
            return
        asked = {
            target: {"module": each.module, "name": each.name, "alias": each.alias, "stub": way}
            for target, each in names.items()
        }
        run = self._enter(self._sandbox, sorted(names), limit=self._limit, stand_ins=asked)
        for target, each in names.items():
            if not run.problem and target not in run.left_alone:
                self._see(self._label(each), target, run, is_idle=True, by_assertion=True)

    def _label(self, taken: Taken) -> str:
        """Return what a name is called in a proof: with its file, as far as that can be told by its module."""
        module = taken.module.lstrip(".").replace(".", "/")
        ends = (f"/{module}.py", f"/{module}/__init__.py")
        return f"{next((path for path in self._code.texts if f'/{path}'.endswith(ends)), module)}::{taken.name}"

    def _can(self, name: str, way: _Way) -> bool:
        return way != "as before" or self._names[name][0] in self._code.before

    def _is_open(self, name: str, wanted: Collection[str]) -> bool:
        # A test without a check may have one in a helper: it is tried once.
        callers = {each for each in self._callers[name] & set(wanted) if self._tests[each].has_check}
        return bool(callers) and (not self._noticed.get(name) or not all(map(self._notices, callers)))

    def _notices(self, target: str) -> list[str]:
        return sorted(name for name, noticed in self._noticed.items() if target in noticed)

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
        source = self._code.texts[path].decode("utf-8")
        if way == "as before":
            return put_back(source, self._code.before[path].decode("utf-8"), inside).encode("utf-8")
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
                self._see(name, target, run, is_idle=way in _IDLE, by_assertion=way not in _IDLE)

    def _see(self, name: str, target: str, run: SandboxRun, *, is_idle: bool, by_assertion: bool) -> None:
        """Note what a target did without a function: it noticed if it failed by its own check.

        :param is_idle: the function did nothing: a target that passes then has not noticed.
        :param by_assertion: only an assertion counts. What an emptied function returns may go wrong in a test's own
            lines before they come to their check; RED's code may raise wherever it is called.
        """
        reports = list(reports_of(target, run.reports))
        failures = [report for report in reports if not report.has_passed and not report.is_skipped]
        is_any_enough = not by_assertion and self._tests[target].has_check
        if any(fails_by_check(each, self._checked, or_error=is_any_enough) for each in failures):
            self._noticed.setdefault(name, set()).add(target)
        elif failures and is_idle:
            self._disturbed.setdefault(name, set()).add(target)
        elif reports and is_idle:
            self._passed.setdefault(name, set()).add(target)

    def _why_untried(self, name: str) -> str:
        """Return why nothing is known of a function; empty where it was emptied, or no target calls it."""
        if name in self._endless and not self._noticed.get(name):
            return "without it a test does not end"
        callers = self._callers[name] & self._tests.keys()
        if callers and not any(self._tests[each].has_check for each in callers):
            return "the tests that call it show only that nothing is raised"
        if name in self._called_by_import and not self._callers[name]:
            return "it is called while modules are imported"
        if name in self._tried or (self._has_targets and not self._callers[name]):
            return ""
        return "it could not be tried"

    def functions(self) -> Iterable[FunctionProof]:
        """Yield what became of each function that is new or changed."""
        for name, (path, function) in self._names.items():
            yield FunctionProof(
                file=path,
                name=function.name,
                line=function.line,
                noticed_by=tuple(sorted(self._noticed.get(name, ()))),
                left_out="" if self._noticed.get(name) else function.left_out or self._why_untried(name),
            )

    def names(self) -> Iterable[FunctionProof]:
        """Yield what became of the names that something stood in for."""
        for label in sorted((self._noticed.keys() | self._passed.keys()) - self._names.keys()):
            path, _, name = label.partition("::")
            yield FunctionProof(
                file=path,
                name=name,
                line=find_line(self._code.texts.get(path, b""), name),
                noticed_by=tuple(sorted(self._noticed.get(label, ()))),
            )

    def judge(self, target: TargetProof) -> TargetProof:
        if target.verdict != "proven":
            return target
        reached = sorted(name for name, callers in self._callers.items() if target.id in callers)
        notices = tuple(self._notices(target.id))
        verdict: Verdict = "proven"
        why = ""
        is_vacuous = not notices and self._passes_without_all(target.id, reached)
        if target.is_structural and not notices and not self._tests[target.id].has_check:
            verdict = "nothing-raised"
        elif is_vacuous:
            verdict = "checks-nothing"
        elif target.is_structural and not notices:
            verdict, why = "unknown", "nothing of the new code could be emptied for it"
        return replace(
            target,
            reaches=tuple(reached),
            notices=notices,
            was_tried=bool(notices) or is_vacuous,
            verdict=verdict,
            why=why,
        )

    def _passes_without_all(self, target: str, reached: Iterable[str]) -> bool:
        """Tell whether a target passes without each function that it calls, and without what was stood in for."""
        passed = {name for name, targets in self._passed.items() if target in targets}
        disturbed = {name for name, targets in self._disturbed.items() if target in targets}
        # What Python itself calls is never tried, and may be just what the target is about; a class has its methods.
        changed = {name for name in reached if name in self._names and name.rpartition(".")[0] not in passed}
        return bool(passed) and not disturbed & passed and changed - self._endless <= passed
