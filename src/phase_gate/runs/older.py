"""Changes in RED to code and data that older tests use: fixtures, helpers, constants and data.

Compared with the files at the start of the cycle. Code that no unchanged test uses may change.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.gate.inventory import Inventory, Meaning, bare_name
from phase_gate.gate.measured import SUPPORT_CHANGED, Finding
from phase_gate.source.body_hash import hash_body
from phase_gate.source.module_code import module_code
from phase_gate.source.tests import parse_source
from phase_gate.storage.snapshots import FileSnapshot, SnapshotError, files_at_cycle_start, read_snapshot
from phase_gate.task import Task

_DETAIL = "changed in RED, and tests that were there before use it: they mean something else now"


def find_weakened(task: Task, files: Mapping[str, str], inventory: Inventory, meaning: Meaning) -> tuple[Finding, ...]:
    """Return the changes since the cycle began to code and data that older tests use.

    :param files: path -> content id, as they are now.
    """
    root, objects, state = task.project.root, task.store.objects, task.state
    began = files_at_cycle_start(objects, state, root, files) or FileSnapshot()
    frozen = objects.load_frozen(state.freeze.before)
    # Without git, the tree has no data files: use those that the last cycle froze.
    data = {} if frozen is None else {path: each.content for path, each in frozen.support.items()}
    before = {**data, **began.files}
    now = {**{path: content for path, (content, _) in meaning.support.items()}, **files}
    used = {*inventory.files, *meaning.support} & before.keys() & now.keys()
    changed = sorted(path for path in used if before[path] != now[path])
    if not changed:
        return ()
    try:
        texts = read_snapshot(began, root, [path for path in changed if path.endswith(".py") and path in began.files])
    except SnapshotError:
        return ()
    older = _Older(root, inventory, [path for path in used if path.endswith(".py")], texts)
    return tuple(
        Finding(
            slug=SUPPORT_CHANGED,
            tier="advisory",
            file=path,
            line=line,
            detail=f"{name} {_DETAIL}".strip(),
            proof=now[path],
        )
        for path in changed
        for name, line in older.changes_in(path)
    )


class _Older:
    """The unchanged tests, and the words of unchanged code."""

    def __init__(self, root: Path, inventory: Inventory, paths: list[str], contents: Mapping[str, bytes]) -> None:
        self._now: dict[str, ast.Module] = {}
        self._then: dict[str, ast.Module] = {}
        self._tests: dict[str, set[str]] = {}
        self._words: set[str] = set()
        self._has_tests = False
        for path in paths:
            try:
                now = self._now[path] = parse_source((root / path).read_bytes())
                then = self._then[path] = parse_source(contents[path]) if path in contents else now
            except (OSError, SyntaxError):
                continue
            file = inventory.files.get(path)
            tests = self._tests[path] = set() if file is None else {bare_name(name) for name in file.ids}
            known = {hash_body(part) for _, part in _parts(then)}
            for name, part in _parts(now):
                if hash_body(part) in known:
                    self._words |= {*re.findall(r"\w+", f"{name} {posixpath.basename(path)} {ast.unparse(part)}")}
                    self._has_tests |= name in tests

    def changes_in(self, path: str) -> Iterator[tuple[str, int | None]]:
        """Yield the names whose meaning has changed, and their lines; a data file has no names."""
        if not self._has_tests:
            return
        if not path.endswith(".py"):
            stem = posixpath.splitext(posixpath.basename(path))[0]
            if {*re.findall(r"\w+", stem)} <= self._words:
                yield "", None
        elif path in self._then:
            then, now = (module_code(tree[path], tests=self._tests[path]) for tree in (self._then, self._now))
            here, there = {each.hash for each in now}, {each.hash for each in then}
            bound = {name for each in then if each.hash not in here for name in (*each.binds, each.provides) if name}
            for each in (each for each in now if each.hash not in there):
                names = bound & {*each.binds, each.provides}
                found = sorted(names & self._words) or sorted(names) * (not each.is_harmless)
                if found:
                    yield found[0], each.line


def _parts(tree: ast.Module, prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield functions, methods and other statements, with names as in test ids; a class also yields its header."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, ast.ClassDef(node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list)
            yield from _parts(ast.Module(node.body, []), f"{prefix}{node.name}::")
        else:
            yield f"{prefix}{getattr(node, 'name', '')}", node
