"""Read the source of a target, and find what it uses from the sources under test.

Pure. Finds the imported names that a target calls, so that names that can't be emptied can be replaced; whether it has
a check; and the values that it compares results with. References, values of rows and settings may also come from the
sources under test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.sandbox_runs import Runs, SandboxRun
from phase_gate.proof.verdicts import Targets
from phase_gate.source.body_hash import hash_body
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.functions import find_functions
from phase_gate.source.syntax_names import FunctionNode, bound_names, last_name, named_functions
from phase_gate.source.tests import parse_source
from phase_gate.values import Value, replace
from phase_gate.visible import cut


class Taken(Value):
    """A name that a test imports from a module."""

    #: As written in the import, with leading dots if it is relative.
    module: str
    name: str
    #: The name in the test's module. Empty if the test uses it as an attribute of the module.
    alias: str = ""

    def is_from(self, path: str) -> bool:
        """Return whether a file may be the module."""
        module = self.module.lstrip(".").replace(".", "/")
        return f"/{path}".endswith((f"/{module}.py", f"/{module}/__init__.py"))


class TargetSource(Value):
    """The parts of a target's source that a proof needs."""

    #: The imported names that it calls, directly or in functions of its file, in the order of the calls.
    taken: tuple[Taken, ...] = ()
    #: True if unknown: a test may be inherited or generated.
    has_check: bool = True
    #: Lines with a comparison, and the imported names that compare, or that the result is compared with.
    compared: tuple[tuple[int, frozenset[Taken]], ...] = ()


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
    imports = _Imports(tree)
    found = (imports.find(call.func) for call in _walk_calls(test, tree))
    taken = tuple(dict.fromkeys(each for each in found if each is not None))
    return TargetSource(
        taken=taken,
        has_check=has_check(test, tree, under_test={each.alias or each.name for each in taken}),
        compared=tuple(_walk_compared(test, imports)),
    )


class _Imports:
    """The imports of a test file."""

    def __init__(self, tree: ast.Module) -> None:
        #: Name in the file -> module, and name in the file -> imported name.
        self._modules: dict[str, str] = {}
        self._names: dict[str, Taken] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {each.asname or each.name: each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for each in node.names:
                    alias = each.asname or each.name
                    self._names[alias] = Taken(module=module, name=each.name, alias=alias)
                    # The name may also be a submodule of a package.
                    self._modules[alias] = f"{module}{'' if module.endswith('.') else '.'}{each.name}"

    def find(self, node: ast.AST) -> Taken | None:
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute) and (module := self._modules.get(ast.unparse(node.value))):
            return Taken(module=module, name=node.attr)
        return None

    def find_all(self, *nodes: ast.expr) -> frozenset[Taken]:
        found = (self.find(each) for node in nodes for each in ast.walk(node))
        return frozenset(each for each in found if each is not None)


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


def _walk_compared(test: FunctionNode, imports: _Imports) -> Iterator[tuple[int, frozenset[Taken]]]:
    """Yield lines, and the names that results are compared with: references, bounds, or comparing functions."""
    for node in ast.walk(test):
        match node:
            case ast.Assert(test=ast.Compare(left=left, comparators=others)):
                yield node.lineno, imports.find_all(*others) - imports.find_all(left)
            case ast.Assert(test=ast.Call(func=compares, args=[_, _, *_], keywords=more)):
                yield node.lineno, imports.find_all(compares, *(each.value for each in more))


# --- references in the sources that have changed


def name_references(
    written: Mapping[str, TargetSource], before: Mapping[str, bytes], now: Mapping[str, bytes]
) -> Iterator[str]:
    """Yield a note for each comparison with a function or value of a source that has changed since RED.

    :param written: target -> its parsed source.
    :param before: path -> content in RED, of changed sources.
    :param now: path -> current content, of changed sources.
    """
    changed = {path: dict(_find_changed(before.get(path, b""), text)) for path, text in now.items()}
    for target, source in written.items():
        for line, names in source.compared:
            found = {
                f"{path}:{lines[each.name]} {each.name}"
                for each in names
                for path, lines in changed.items()
                if each.name in lines and each.is_from(path)
            }
            for each in sorted(found):
                yield f"{split_id(target)[0]}:{line} compares with {each}, which has changed since RED"


def _find_changed(before: bytes, now: bytes) -> Iterator[tuple[str, int]]:
    """Yield the changed functions and values of a module with their lines, except functions that were stubs."""
    stubs = {name for name, function in find_functions(before).items() if function.left_out}
    known = {name: hash_body(node) for name, node in _definitions(before)}
    for name, node in _definitions(now):
        if name in known and name not in stubs and known[name] != hash_body(node):
            yield name, node.lineno


def _definitions(source: bytes) -> Iterator[tuple[str, ast.stmt]]:
    for node in statements_of(source):
        if isinstance(node, FunctionNode | ast.Assign | ast.AnnAssign):
            yield from ((name, node) for name in bound_names(node))


def statements_of(source: bytes) -> list[ast.stmt]:
    """Return the statements of a source. Empty if it is not valid Python."""
    try:
        return parse_source(source).body
    except (SyntaxError, ValueError):
        return []


# --- values and settings that tests get from a source: changing them under the same test id changes the test, and no
# test file shows it


def find_changed_rows(controls: Runs, treatment: SandboxRun) -> Iterator[tuple[str, str, str, str]]:
    """Yield the parameter values that the change has altered, and that are the same in every control.

    Yields the test, the parameter, the old value and the new value.
    """
    values = [{test.id: test.values for test in run.tests} for run in controls]
    for test in treatment.tests if values else ():
        for name, after in test.values.items():
            known = {others.get(test.id, {}).get(name, after) for others in values}
            before = min(known)
            if len(known) == 1 and before != after:
                yield test.id, name, before, after


def _find_weaker(controls: Runs, treatment: SandboxRun) -> Iterator[tuple[str, str]]:
    """Yield the tests that hypothesis checks less thoroughly with the change, and the weakened setting."""
    efforts = {test.id: test.effort for run in controls for test in run.tests if test.effort}
    for test in treatment.tests:
        before, after = efforts.get(test.id, {}), test.effort
        if not before or not after:
            continue
        weaker = {
            "max_examples": after["max_examples"] < before["max_examples"],
            "phases": not {*before["phases"]} <= {*after["phases"]},
            "derandomize": after["derandomize"] and not before["derandomize"],
            "suppress_health_check": not {*after["suppress_health_check"]} <= {*before["suppress_health_check"]},
        }
        for name in (name for name, is_weaker in weaker.items() if is_weaker):
            message = f"hypothesis' {name} was {_show(before[name])} in RED, and is {_show(after[name])} now"
            yield bare_id(test.id), f"{message}; leave its settings to the tests"


def _show(setting: Any) -> str:
    return (", ".join(setting) or "empty") if isinstance(setting, list) else str(setting)


def judge_rows(
    targets: Targets,
    controls: Runs,
    treatment: SandboxRun,
    read: Callable[[str], bytes],
) -> tuple[Targets, list[str]]:
    """Return the targets, with those refuted whose rows have changed their values, and notes about other rows.

    Only rows whose id is written in a test file refute a target. Others may follow the sources, for example a registry.
    """
    refuted = dict(_find_weaker(controls, treatment))
    notes = []
    for test_id, name, before, after in find_changed_rows(controls, treatment):
        target, row = bare_id(test_id), test_id.partition("[")[2].removesuffix("]")
        message = f"[{row}] {name} was {cut(before)} in RED, and is {cut(after)} now"
        # One control does not show that the value is stable. None in RED means that the value was missing.
        is_plain = len(controls) > 1 and before != "None"
        written = _written_ids(read(split_id(test_id)[0]))
        if is_plain and not written.isdisjoint({row, *row.split("-")}):
            refuted.setdefault(target, f"{message}; write it into the test, or put it back")
        else:
            notes.append(f"a row has another value with the change: {target}{message}")
    judged = (
        replace(each, verdict="row-changed", why=refuted[each.id])
        if each.id in refuted and each.verdict == "proven"
        else each
        for each in targets
    )
    return tuple(judged), notes


def _written_ids(source: bytes) -> set[object]:
    """Return the ids of rows that are written in a test file. Such a row must not change its values."""
    found = set()
    for each in named_functions(statements_of(source)):
        for decorator in each.node.decorator_list:
            for given in ast.walk(decorator):
                if isinstance(given, ast.keyword) and given.arg in ("id", "ids"):
                    found |= {getattr(node, "value", None) for node in ast.walk(given.value)}
    return found
