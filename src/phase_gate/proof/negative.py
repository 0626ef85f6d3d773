"""The negative control: does a target notice when the new code does nothing?

For each function that is new or changed and that targets call, its body goes, and those targets run again. Several
functions go at once where no target calls two of them. For what can't be emptied something else stands in, where a test
takes it from a changed module.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, get_args

from phase_gate.proof.experiment import fails_by_check, reports_of
from phase_gate.proof.frozen_test import TargetSource, statements_of
from phase_gate.proof.model import FunctionProof, TargetProof, Verdict
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.testing import NOTHING, SandboxRun
from phase_gate.source.functions import Function, walk_functions
from phase_gate.source.names import FunctionNode, bound_names
from phase_gate.values import Value, replace

#: What an emptied function gives: something false, or something true; or it changes what it was given, and no more.
Stub = Literal["false", "true", "spoiling"]
STUBS: tuple[Stub, ...] = get_args(Stub)
#: Those that do nothing at all.
_IDLE: tuple[Stub, ...] = ("false", "true")
#: What a run with emptied functions may take: so many seconds, or so many times as long as with the change. Code that
#: does nothing may never end: a loop waits for a value that does not come.
_LEAST_SECONDS, _TIMES = 10.0, 5.0
#: Names of one target that something stands in for.
_NAMES = 3


class ChangedSource(Value):
    """A source that a step has changed, and those of its functions that are new or changed."""

    text: bytes
    functions: tuple[Function, ...] = ()


class NegativeControl:
    """The targets with functions that do nothing.

    :param targets: as far as they are proven by then.
    :param written: what the sources of the targets say.
    :param sources: the sources that the step has changed.
    :param treatment: the run with the change, in that sandbox: it shows which functions each target calls.
    :param enter: runs targets in a sandbox.
    :param checked: the files in whose lines a target fails by its own check.
    """

    def __init__(
        self,
        targets: tuple[TargetProof, ...],
        written: Mapping[str, TargetSource],
        sources: Mapping[str, ChangedSource],
        treatment: SandboxRun,
        sandbox: Sandbox,
        enter: Callable[..., SandboxRun],
        checked: Collection[str],
    ) -> None:
        self._all, self._sources, self._sandbox, self._enter = targets, sources, sandbox, enter
        self._targets = {each.id: written[each.id] for each in targets if each.verdict == "proven"}
        self._checked = checked
        self._names = {f"{path}::{each.name}": (path, each) for path, of in sources.items() for each in of.functions}
        #: Function -> tests that call it; those of them that are targets here.
        self._callers: dict[str, set[str]] = defaultdict(set)
        for test_id, names in treatment.reached.items():
            for name in names:
                self._callers[name].add(test_id.partition("[")[0])
        #: Function -> targets that noticed; those that passed without it; those that failed by something else.
        self._noticed: dict[str, set[str]] = defaultdict(set)
        self._passed: dict[str, set[str]] = defaultdict(set)
        self._disturbed: dict[str, set[str]] = defaultdict(set)
        #: Functions that were emptied, and those without which a target did not end.
        self._tried: set[str] = set()
        self._endless: set[str] = set()
        self._called_by_import = treatment.called_by_import
        self._limit = max(_LEAST_SECONDS, _TIMES * treatment.seconds)

    def run(self) -> tuple[tuple[TargetProof, ...], tuple[FunctionProof, ...]]:
        """Return the targets with what they notice, and the functions with the targets that notice them."""
        self._empty_functions()
        # A target that failed by its own check without the change needs no stand-in.
        self._stand_in([each.id for each in self._all if each.is_structural and each.id in self._targets])
        return tuple(map(self._judge, self._all)), (*self._functions(), *self._stood_in_for())

    def _callers_of(self, name: str) -> set[str]:
        return self._callers[name] & self._targets.keys()

    def _notices(self, target: str) -> list[str]:
        return sorted(name for name, noticed in self._noticed.items() if target in noticed)

    # --- functions that do nothing

    def _empty_functions(self) -> None:
        """Empty every function that targets call, until each of them has noticed one, or nothing is left to try."""
        names = [name for name, (_, each) in self._names.items() if not each.left_out and self._callers_of(name)]
        names.sort(key=lambda name: (-len(self._callers[name]), name))
        for stub in STUBS:
            # After the first only what was not noticed yet, or is called by targets that have not noticed anything.
            waiting = [name for name in names if stub == STUBS[0] or self._is_open(name)]
            for batch in self._batches(waiting):
                self._try(batch, stub)

    def _is_open(self, name: str) -> bool:
        # A test without a check may have one in a helper: it is tried once.
        callers = {each for each in self._callers_of(name) if self._targets[each].has_check}
        is_done = bool(self._noticed[name]) and all(map(self._notices, callers))
        return bool(callers) and not is_done and name not in self._endless

    def _batches(self, names: Iterable[str]) -> list[list[str]]:
        """Return the names in groups: no target calls two functions of a group."""
        groups: list[tuple[list[str], set[str]]] = []
        for name in names:
            callers = self._callers_of(name)
            members, taken = next((each for each in groups if not callers & each[1]), ([], set()))
            if not members:
                groups.append((members, taken))
            members.append(name)
            taken |= callers
        return [members for members, _ in groups]

    def _try(self, names: list[str], stub: Stub) -> None:
        if not names:
            return
        contents = dict(self._sandbox.contents)
        try:
            for path in {name.partition("::")[0] for name in names}:
                inside = {name.partition("::")[2] for name in names if name.startswith(f"{path}::")}
                contents[path] = empty(self._sources[path].text, inside, stub)
        except (SyntaxError, ValueError, RecursionError):
            return  # not every syntax tree can be written again
        callers = sorted({target for name in names for target in self._callers_of(name)})
        run = self._enter(replace(self._sandbox, contents=contents), callers, limit=self._limit)
        if run.is_late and len(names) > 1:
            for name in names:
                self._try([name], stub)
            return
        if run.is_late:
            self._endless |= set(names)
        if not run.problem:
            self._tried |= set(names)
            for name in names:
                for target in self._callers_of(name):
                    self._see(name, target, run, stub)

    def _see(self, name: str, target: str, run: SandboxRun, stub: Stub) -> None:
        """Note what a target did without a function: it noticed if it failed by its own check."""
        reports = list(reports_of(target, run.reports))
        failures = [report for report in reports if not report.has_passed and not report.is_skipped]
        # Of a function that does nothing, any exception in the lines of a test with a check is one. What is there
        # instead otherwise may go wrong in these lines before they come to their check.
        is_any_enough = stub in _IDLE and name in self._names and self._targets[target].has_check
        if any(fails_by_check(each, self._checked, or_error=is_any_enough) for each in failures):
            self._noticed[name].add(target)
        elif reports and stub in _IDLE:
            (self._disturbed if failures else self._passed)[name].add(target)

    # --- what stands in for code that can't be emptied

    def _stand_in(self, targets: Iterable[str]) -> None:
        """Have something stand in for names that targets with a check take from changed modules, and call."""
        names: dict[str, None] = {}
        for target in targets:
            taken = self._targets[target].taken
            found = [f"{path}::{each.name}" for each in taken for path in self._sources if each.is_from(path)]
            untried = [label for label in found if label not in self._tried]
            for label in untried[:_NAMES] if self._targets[target].has_check and not self._notices(target) else ():
                names.setdefault(label)
                self._callers[label].add(target)
        for batch in self._batches(names):
            for stub in _IDLE:
                self._try([name for name in batch if not all(map(self._notices, self._callers_of(name)))], stub)

    # --- what that shows

    def _functions(self) -> Iterable[FunctionProof]:
        """Yield what became of each function that is new or changed."""
        for name, (path, function) in self._names.items():
            yield FunctionProof(
                file=path,
                name=function.name,
                line=function.line,
                noticed_by=tuple(sorted(self._noticed[name])),
                left_out="" if self._noticed[name] else function.left_out or self._why_untried(name),
            )

    def _why_untried(self, name: str) -> str:
        """Return why nothing is known of a function; empty where it was emptied, or no target calls it."""
        callers = self._callers_of(name)
        if name in self._endless:
            return "without it a test does not end"
        if callers and not any(self._targets[each].has_check for each in callers):
            return "the tests that call it show only that nothing is raised"
        if name in self._called_by_import and not self._callers[name]:
            return "it is called while modules are imported"
        # Where some target is proven as far as that goes, what none of them calls can be told.
        return "" if name in self._tried or (self._targets and not self._callers[name]) else "it could not be tried"

    def _stood_in_for(self) -> Iterable[FunctionProof]:
        """Yield what became of the names that something stood in for."""
        for label in sorted(self._tried - self._names.keys()):
            if self._noticed[label] or self._passed[label]:
                path, _, name = label.partition("::")
                line = _find_line(self._sources[path].text, name)
                yield FunctionProof(file=path, name=name, line=line, noticed_by=tuple(sorted(self._noticed[label])))

    def _judge(self, target: TargetProof) -> TargetProof:
        if target.id not in self._targets:
            return target
        reached = tuple(sorted(name for name, callers in self._callers.items() if target.id in callers))
        notices = tuple(self._notices(target.id))
        is_vacuous = not notices and self._passes_without_all(target.id, reached)
        verdict: Verdict = "proven"
        why, is_structural = "", target.is_structural
        if is_structural and not notices and not self._targets[target.id].has_check:
            verdict = "nothing-raised"
        elif is_vacuous:
            verdict = "checks-nothing"
            # A test that nothing happens in some case has to pass where the code does nothing: its check can fail.
            is_structural = is_structural and target.altered != "fails"
        elif is_structural and not notices:
            verdict, why = "unknown", "nothing of the new code could be emptied for it"
        return replace(
            target,
            verdict=verdict,
            why=why,
            reaches=reached,
            notices=notices,
            was_tried=bool(notices) or is_vacuous,
            is_structural=is_structural,
        )

    def _passes_without_all(self, target: str, reached: Iterable[str]) -> bool:
        """Tell whether a target passes without each function that it calls, and without what was stood in for."""
        passed = {name for name, targets in self._passed.items() if target in targets}
        disturbed = {name for name, targets in self._disturbed.items() if target in targets}
        # What Python itself calls is never tried, and may be just what the target is about; a class has its methods.
        changed = {name for name in reached if name in self._names and name.rpartition(".")[0] not in passed}
        return bool(passed) and not disturbed & passed and changed - self._endless <= passed


def _find_line(source: bytes, name: str) -> int:
    """Return the line in which a module gets this name; 1 where that can't be told."""
    return next((node.lineno for node in statements_of(source) if name in bound_names(node)), 1)


# --- a source in which functions do nothing


def empty(source: bytes, names: Collection[str], stub: Stub) -> bytes:
    """Return the source with these functions emptied; what such a function returns stands in for other names."""
    tree = ast.parse(source)
    found = [(function, node) for function, node in walk_functions(tree) if function.name in names]
    for function, node in found:
        # The examples in a docstring are tests of it.
        documented = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        node.body = [*documented, *ast.parse(_body(function.name, node, stub)).body]
    others = sorted({*names} - {function.name for function, _ in found})
    tree.body += ast.parse("\n".join(f"{name} = {_value(stub)}" for name in others)).body
    return ast.unparse(tree).encode("utf-8")


def _value(stub: Stub) -> str:
    nothing = f"__import__({NOTHING!r}, fromlist=['x'])"
    return f"{nothing}.spoil(locals())" if stub == "spoiling" else f"{nothing}.{stub.upper()}"


def _body(name: str, node: FunctionNode, stub: Stub) -> str:
    value, last = _value(stub), name.rpartition(".")[2]
    if _is_generator(node):
        # What is iterated over is empty, or has the value in it: a test may want that nothing comes.
        return "return\nyield" if stub == "false" else f"yield {value}"
    if last == "__init__":
        # With its attributes, so that methods find something, and the test's own line fails.
        return "\n".join([*(f"{each} = {value}" for each in _attributes(node)), "return None"])
    return "return None" if last in ("__exit__", "__aexit__") else f"return {value}"


def _attributes(node: FunctionNode) -> list[str]:
    """Return what a constructor gives its object: `self.name`, each once."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    own = parameters[0].arg if parameters else ""
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    found = (f"{own}.{each.attr}" for each in stored if isinstance(each.value, ast.Name) and each.value.id == own)
    return list(dict.fromkeys(found))


def _is_generator(node: FunctionNode) -> bool:
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(each))
    return False
