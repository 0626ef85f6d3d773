"""What became of the tests that were there before a task was worked on.

Pure: texts of Python files in, answers out. A test is told by its body, so that a moved or renamed one is still there.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Mapping
from typing import Literal

from phase_gate.gate.inventory import join_id
from phase_gate.source.checks import find_function, has_check
from phase_gate.source.module_code import find_changes, module_code
from phase_gate.source.tests import SourceTest, find_tests, parse_source
from phase_gate.values import Value
from phase_gate.verification.texts import TextChange

#: emptied: it checked something, and checks nothing now. gone: neither it nor its body is there. changed: it has
#: another body, which may be right. around: helpers, fixtures or constants of its file are not what they were.
Kind = Literal["emptied", "gone", "changed", "around"]

WORDS: Mapping[Kind, str] = {
    "emptied": "it checks nothing any more",
    "gone": "it is gone",
    "changed": "it has another body",
    "around": "the code around its tests changed",
}

#: Those that make a pass a weak one. What is only changed is the reviewer's to judge.
DOUBTFUL: frozenset[Kind] = frozenset({"emptied", "gone"})


class AlteredTest(Value):
    kind: Kind
    #: Of the test; for what is around several, the file.
    id: str

    @property
    def text(self) -> str:
        return f"{self.id}: {WORDS[self.kind]}"


def find_altered_tests(changes: Iterable[TextChange]) -> tuple[AlteredTest, ...]:
    """Return what became of the tests in files that changed, the worst first."""
    files = [each for each in changes if each.path.endswith(".py") and not each.problem]
    then = {each.path: _Module(each.before) for each in files}
    there = {each.path: _Module(each.now) for each in files}
    new = {
        test.body
        for path, module in there.items()
        for name, test in module.tests.items()
        if name not in then[path].tests
    }
    found = []
    for path, before in then.items():
        now = there[path]
        for name, test in before.tests.items():
            kind = _kind(test, before, now, new)
            if kind is not None:
                found.append(AlteredTest(kind=kind, id=join_id(path, name)))
        if _is_changed_around(path, before, now):
            found.append(AlteredTest(kind="around", id=path))
    return tuple(sorted(found, key=lambda each: (list(WORDS).index(each.kind), each.id)))


class _Module:
    """The tests of one text; none of what is no Python."""

    def __init__(self, text: str | None) -> None:
        self.tree = ast.Module([], [])
        if text is not None:
            with contextlib.suppress(SyntaxError):
                self.tree = parse_source(text)
        # Any class: which names are tests is the project's to say.
        self.tests: dict[str, SourceTest] = {test.name: test for test in find_tests(self.tree, classes=("*",))}

    def checks(self, name: str) -> bool:
        function = find_function(self.tree, name)
        return function is None or has_check(function, self.tree)


def _is_changed_around(path: str, before: _Module, now: _Module) -> bool:
    if not now.tree.body or not (before.tests or path.endswith("conftest.py")):
        return False
    names = {*before.tests, *now.tests}
    then = [statement.hash for statement in module_code(before.tree, tests=names)]
    return bool(find_changes(then, module_code(now.tree, tests=names)))


def _kind(test: SourceTest, before: _Module, now: _Module, new: set[str]) -> Kind | None:
    found = now.tests.get(test.name)
    if found is None:
        return None if test.body in new else "gone"
    if not before.checks(test.name) or now.checks(test.name):
        return None if found.body == test.body else "changed"
    # Its own body, or that of a helper in the file which it leaves the checking to.
    return "emptied"
