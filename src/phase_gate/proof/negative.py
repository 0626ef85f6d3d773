"""The negative control: does a target notice when the new code does nothing?

Each new or changed function that targets call is emptied, and those targets run again. Functions are emptied together
if no target calls two of them. A name that can't be emptied is replaced by a sentinel if a test imports it from a
changed module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, get_args

from phase_gate.gate.inventory import split_id
from phase_gate.proof.sandbox import Sandbox
from phase_gate.proof.sandbox_runs import SENTINEL, Laboratory, SandboxRun
from phase_gate.proof.verdicts import FunctionProof, TargetProof, Targets, Verdict
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.functions import Function, walk_functions
from phase_gate.source.syntax_names import FunctionNode, bound_names, last_name
from phase_gate.source.tests import parse_source
from phase_gate.values import Value, replace

#: What an emptied function does: return a false value, return a true value, or modify its arguments.
Stub = Literal["false", "true", "spoiling"]
STUBS: tuple[Stub, ...] = get_args(Stub)
#: Stubs without side effects.
_IDLE: tuple[Stub, ...] = ("false", "true")
#: What a target does if a function is emptied: fail by its own check, pass, or fail for another reason.
Reaction = Literal["noticed", "passed", "disturbed"]
#: Limits of a run with emptied functions: seconds, or a multiple of the time with the change. Such a run may never end,
#: for example if a loop waits for a value.
_LEAST_SECONDS, _TIMES = 10.0, 5.0


class ChangedSource(Value):
    """A source that a step has changed, and its new or changed functions."""

    text: bytes
    functions: tuple[Function, ...] = ()


class _Unit:
    """A new or changed function, or another name that targets call, with the reactions of these targets."""

    def __init__(self, path: str, name: str, function: Function | None = None) -> None:
        self.path, self.name, self.function = path, name, function
        self.label = f"{path}::{name}"
        #: Targets that call it -> their reactions.
        self.callers: dict[str, set[Reaction]] = {}
        #: Whether it was emptied, and whether a target did not end then.
        self.was_tried = self.is_endless = False

    def of(self, reaction: Reaction) -> set[str]:
        return {target for target, seen in self.callers.items() if reaction in seen}


class NegativeControl:
    """Runs the targets with functions that do nothing.

    :param targets: the targets with their verdicts so far. Only proven ones are tried.
    :param sources: the sources that the step has changed.
    :param treatment: the run with the change in `sandbox`. It contains the functions that each target calls.
    :param checked: files whose lines count as a target's own check.
    """

    def __init__(
        self,
        targets: Targets,
        sources: Mapping[str, ChangedSource],
        treatment: SandboxRun,
        sandbox: Sandbox,
        laboratory: Laboratory,
        checked: Collection[str],
    ) -> None:
        self._all, self._sources, self._sandbox, self._laboratory = targets, sources, sandbox, laboratory
        self._targets = {each.id: read_target(each.id, sandbox.read) for each in targets if each.verdict == "proven"}
        self._checked = checked
        self._limit = max(_LEAST_SECONDS, _TIMES * treatment.seconds)
        functions = [_Unit(path, each.name, each) for path, source in sources.items() for each in source.functions]
        self._units = {each.label: each for each in functions}
        for target in self._targets:
            for label in {label for test in treatment.functions.get(target, ()) for label in test.reached}:
                self._units[label].callers[target] = set()

    def run(self) -> tuple[Targets, tuple[FunctionProof, ...]]:
        """Return the targets with the functions that they notice, and the functions with the targets that notice."""
        functions = [each for each in self._units.values() if each.function and not each.function.left_out]
        units = [each for each in functions if each.callers]
        for stub in STUBS:
            # After the first stub, try only functions that are unnoticed, or called by targets that have noticed none.
            self._try_all([each for each in units if stub == STUBS[0] or self._is_open(each)], stub)
        others = self._find_others()
        for stub in _IDLE:
            self._try_all([each for each in others if not all(map(self._notices, each.callers))], stub)
        return tuple(map(self._judge, self._all)), tuple(self._functions())

    def _notices(self, target: str) -> list[str]:
        return sorted(each.label for each in self._units.values() if "noticed" in each.callers.get(target, ()))

    def _is_open(self, unit: _Unit) -> bool:
        # A test without a check may have one in a helper, so it is tried once.
        callers = {each for each in unit.callers if self._targets[each].has_check}
        is_done = unit.of("noticed") and all(map(self._notices, callers))
        return bool(callers) and not is_done and not unit.is_endless

    def _find_others(self) -> list[_Unit]:
        """Return names that can't be emptied, and that targets import from changed modules and call.

        Targets without a check, or that failed by their own check without the change, are left out.
        """
        found = []
        for target in self._all:
            written = self._targets.get(target.id)
            if written is None or not target.is_structural or not written.has_check or self._notices(target.id):
                continue
            for module, name in (each.rsplit(".", 1) for each in written.taken):
                files = (f"/{module.replace('.', '/')}.py", f"/{module.replace('.', '/')}/__init__.py")
                for path in (path for path in self._sources if f"/{path}".endswith(files)):
                    unit = self._units.setdefault(f"{path}::{name}", _Unit(path, name))
                    unit.callers.setdefault(target.id, set())
                    found.append(unit)
        return list(dict.fromkeys(found))

    def _try_all(self, units: Iterable[_Unit], stub: Stub) -> None:
        """Try the units in groups, such that no target calls two units of a group."""
        groups: list[list[_Unit]] = []
        for unit in units:
            callers = unit.callers.keys()
            for group in groups:
                if all(callers.isdisjoint(other.callers) for other in group):
                    group.append(unit)
                    break
            else:
                groups.append([unit])
        for group in groups:
            self._try(group, stub)

    def _try(self, units: list[_Unit], stub: Stub) -> None:
        contents = dict(self._sandbox.contents)
        try:
            for path in {unit.path for unit in units}:
                names = {unit.name for unit in units if unit.path == path}
                contents[path] = empty(self._sources[path].text, names, stub)
        except (SyntaxError, ValueError, RecursionError):
            return  # not every syntax tree can be unparsed
        callers = sorted({target for unit in units for target in unit.callers})
        run = self._laboratory.run(replace(self._sandbox, contents=contents), callers, limit=self._limit)
        for unit in units:
            unit.is_endless |= run.is_late
            unit.was_tried |= not run.problem
            for target in unit.callers if not run.problem else ():
                self._see(unit, target, run, stub)

    def _see(self, unit: _Unit, target: str, run: SandboxRun, stub: Stub) -> None:
        """Record a target's reaction to an emptied unit. It noticed if it failed by its own check."""
        reports = run.of(target)
        # If a function does nothing, any exception in the lines of a test with a check counts. Other replacements may
        # cause errors in these lines before the check runs.
        is_any_enough = stub in _IDLE and unit.function is not None and self._targets[target].has_check
        if any(each.is_own_check(self._checked, or_error=is_any_enough) for each in reports):
            unit.callers[target].add("noticed")
        elif reports and stub in _IDLE:
            unit.callers[target].add("disturbed" if any(each.has_failed for each in reports) else "passed")

    # --- results

    def _functions(self) -> Iterator[FunctionProof]:
        """Yield the result for each new or changed function, and for each replaced name."""
        for unit in self._units.values():
            noticed_by = tuple(sorted(unit.of("noticed")))
            if unit.function or noticed_by or unit.of("passed"):
                yield FunctionProof(
                    file=unit.path,
                    name=unit.name,
                    line=unit.function.line if unit.function else _find_line(self._sources[unit.path].text, unit.name),
                    noticed_by=noticed_by,
                    left_out=not noticed_by and not self._has_result(unit),
                )

    def _has_result(self, unit: _Unit) -> bool:
        """Return whether a target with a check could have noticed that a function does nothing."""
        has_check = any(self._targets[each].has_check for each in unit.callers)
        return unit.was_tried and has_check and not unit.is_endless

    def _judge(self, target: TargetProof) -> TargetProof:
        if target.id not in self._targets:
            return target
        reached = [unit for unit in self._units.values() if target.id in unit.callers]
        notices = tuple(self._notices(target.id))
        is_vacuous = not notices and _passes_without_all(target.id, reached)
        verdict: Verdict = "proven"
        why, is_structural = "", target.is_structural
        if is_structural and not notices and not self._targets[target.id].has_check:
            verdict = "nothing-raised"
        elif is_vacuous:
            verdict, why = "checks-nothing", "its check holds for any answer, so compare the answer with a value"
            # A test that expects no effect has to pass if the code does nothing, although its check can fail.
            is_structural = is_structural and target.altered != "fails"
        elif is_structural and not notices:
            verdict, why = "unknown", "nothing of the new code could be emptied for it"
        return replace(
            target,
            verdict=verdict,
            why=why,
            notices=notices,
            was_tried=bool(notices) or is_vacuous,
            is_structural=is_structural,
        )


def _passes_without_all(target: str, reached: Collection[_Unit]) -> bool:
    """Return whether a target passes without each function that it calls, and with each name replaced."""
    passed = {unit.label: unit for unit in reached if "passed" in unit.callers[target]}
    if not passed or any("disturbed" in unit.callers[target] for unit in passed.values()):
        return False
    # Functions that Python itself calls are never emptied, and the target may test just these. A class that was
    # replaced includes its methods.
    changed = [each for each in reached if each.function and each.label.rpartition(".")[0] not in passed]
    return all(unit.label in passed or unit.is_endless for unit in changed)


def _find_line(source: bytes, name: str) -> int:
    """Return the line in which a module binds this name. 1 if that is unknown."""
    return next((node.lineno for node in parse_source(source).body if name in bound_names(node)), 1)


# --- the source of a target


class TargetSource(Value):
    """The parts of a target's source that the negative control needs."""

    #: The imported names that it calls, directly or in functions of its file: `module.name`, in the order of the calls.
    taken: tuple[str, ...] = ()
    #: True if unknown: a test may be inherited or generated.
    has_check: bool = True


def read_target(target: str, read: Callable[[str], bytes]) -> TargetSource:
    """Parse the source of a target.

    :param read: returns the content of a file.
    """
    file, name = split_id(target)
    try:
        tree = parse_source(read(file))
    except (OSError, SyntaxError, ValueError):
        return TargetSource()
    if (test := find_function(tree, name)) is None:
        return TargetSource()
    imports = dict(_walk_imports(tree))
    taken: dict[str, str] = {}
    for call in _walk_calls(test, tree):
        module, dot, called = ast.unparse(call.func).rpartition(".")
        imported = imports.get(module if dot else called, "")
        full = f"{imported}.{called}" if dot and imported else imported
        if "." in full:
            taken[full] = called
    return TargetSource(taken=tuple(taken), has_check=has_check(test, tree, under_test=set(taken.values())))


def _walk_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each imported name as the file calls it, and with its module. Leading dots are left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = f"{node.module}." if node.module else ""
            yield from ((each.asname or each.name, f"{prefix}{each.name}") for each in node.names)


def _walk_calls(test: FunctionNode, tree: ast.Module) -> Iterator[ast.Call]:
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    waiting, seen = [test], {test.name}
    while waiting:
        for statement in waiting.pop(0).body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.Call):
                    continue
                yield node
                name = last_name(node.func)
                if name in functions and name not in seen:
                    seen.add(name)
                    waiting.append(functions[name])


# --- emptying functions


def empty(source: bytes, names: Collection[str], stub: Stub) -> bytes:
    """Return the source with these functions emptied. Other names are bound to the value of an emptied function."""
    tree = parse_source(source)
    found = [(function, node) for function, node in walk_functions(tree) if function.name in names]
    for function, node in found:
        # Keep the docstring: its examples are tests.
        documented = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        node.body = [*documented, *ast.parse(_body(function.name, node, stub)).body]
    others = sorted({*names} - {function.name for function, _ in found})
    tree.body += ast.parse("\n".join(f"{name} = {_value(stub)}" for name in others)).body
    return ast.unparse(tree).encode("utf-8")


def _value(stub: Stub) -> str:
    nothing = f"__import__({SENTINEL!r}, fromlist=['x'])"
    return f"{nothing}.spoil(locals())" if stub == "spoiling" else f"{nothing}.{stub.upper()}"


def _body(name: str, node: FunctionNode, stub: Stub) -> str:
    value = _value(stub)
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)):
        # It yields nothing, or only the value: a test may expect an empty result.
        return "return\nyield" if stub == "false" else f"yield {value}"
    if name.rpartition(".")[2] == "__init__":
        # Set its attributes, so that methods find them and the test's own check fails.
        return "\n".join([*(f"{each} = {value}" for each in _attributes(node)), "return None"])
    return f"return {value}"


def _attributes(node: FunctionNode) -> list[str]:
    """Return the attributes that a constructor sets, as `self.name`, without duplicates."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    own = parameters[0].arg if parameters else ""
    found: dict[str, None] = {}
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if name == own:
                found[f"{own}.{each.attr}"] = None
    return list(found)
