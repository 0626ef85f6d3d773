"""The existing tests: ids by file, with the hash of each test's body; and their freeze.

Pure. An id is a path relative to the root, `::`, and the name with its parameters: `tests/test_a.py::test_x[1]`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from functools import partial

from phase_gate.bound import sha256
from phase_gate.codec import from_json, to_json
from phase_gate.gate.measured import Finding
from phase_gate.values import Value, field, replace
from phase_gate.visible import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.source.module_code import ModuleStatement


class TestFile(Value):
    """One file with tests or with code that they use: the id of its content, and the parts that matter."""

    #: pytest would collect a class of this name as a test.
    __test__ = False

    content: str
    #: The tests that were collected from it.
    ids: tuple[str, ...] = ()
    #: Hashes of tests by bare name; of pieces of a source by their qualified names.
    bodies: Mapping[str, str] = field(default_factory=dict)
    #: Collected only for its examples: its code is the code under test.
    is_source: bool = False
    #: Hashes of the code around the tests: imports, constants, helpers, fixtures; None if it is not Python.
    statements: tuple[str, ...] | None = None
    #: Fixtures that its tests and fixtures request.
    requests: tuple[str, ...] = ()


def spell_ids(path: str, file: TestFile) -> list[str]:
    """Return the ids of a file's tests."""
    start = f"{path}::"
    return [start + name if name else path for name in file.ids]


class Inventory(Value, kw_only=False):
    files: Mapping[str, TestFile]

    @property
    def number(self) -> int:
        return sum(len(file.ids) for file in self.files.values())

    def ids(self) -> Iterator[str]:
        for path, file in self.files.items():
            yield from spell_ids(path, file)

    def body(self, test_id: str) -> str:
        """Return the hash of the test's body; empty if it is not in the source (doctests, generated tests)."""
        path, name = split_id(test_id)
        file = self.files.get(path)
        return "" if file is None else file.bodies.get(bare_name(name), "")


def content_id(source: bytes) -> str:
    """Return the id of a content for which git has no id, or may have a different one."""
    return f"sha256:{sha256(source).hexdigest()}"


def split_id(test_id: str) -> tuple[str, str]:
    """Return path and name of an id; the name is empty if the file itself is the test."""
    path, _, name = test_id.partition("::")
    return path, name


def join_id(path: str, name: str) -> str:
    return f"{path}::{name}" if name else path


def bare_name(name: str) -> str:
    """Return the name without its parameters. They may contain anything, even `::`, so cut at the first bracket."""
    return name.partition("[")[0]


def bare_id(test_id: str) -> str:
    path, name = split_id(test_id)
    return join_id(path, bare_name(name))


def merge_inventories(known: Inventory, found: Inventory) -> Inventory:
    """Return the union of both; if a file is in both, its bodies and content are the found ones."""
    files = dict(known.files)
    for path, file in found.files.items():
        before = files.get(path)
        if before is None or before == file:
            files[path] = file
            continue
        kept = dict.fromkeys((*before.ids, *file.ids))
        files[path] = replace(file, ids=tuple(sorted(kept)), bodies={**before.bodies, **file.bodies})
    return Inventory(files)


# --- the freeze: the tests, and the code, data and settings that determine their meaning, compared with those of a run

#: The setting whose change is reported, but does not close the gate.
PROFILE = "profile of hypothesis"


class Meaning(Value):
    """The meaning of the tests at one moment: everything that affects them except their own bodies."""

    #: Statements of the test files that differ from their frozen content.
    modules: Mapping[str, tuple[ModuleStatement, ...]] = field(default_factory=dict)
    #: Content and, for Python, statements of the files that tests use.
    support: Mapping[str, tuple[str, tuple[ModuleStatement, ...] | None]] = field(default_factory=dict)
    #: Files in the same folders that a run has written: they are its output, and never frozen.
    written: frozenset[str] = frozenset()
    #: Files that are themselves tests, and were different at the start of the run.
    rewritten: tuple[str, ...] = ()
    #: pytest's settings and our own rules, by name.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Pieces of tests in the sources, by file.
    pieces: Mapping[str, TestFile] = field(default_factory=dict)


class Frozen(Value):
    """The tests and their meaning at the time of the freeze."""

    inventory: Inventory
    support: Mapping[str, TestFile]
    settings: Mapping[str, str]
    pieces: Mapping[str, TestFile] = field(default_factory=dict)
    #: Older tests that RED removed or changed: reported until the cycle ends.
    weakened: tuple[Finding, ...] = ()


def freeze(inventory: Inventory, meaning: Meaning, weakened: tuple[Finding, ...] = ()) -> Frozen:
    return Frozen(
        weakened=weakened,
        inventory=inventory,
        support={
            path: TestFile(
                content=content,
                statements=None if rows is None else tuple(row.hash for row in rows),
                requests=tuple(sorted({name for row in rows or () for name in row.requests})),
            )
            for path, (content, rows) in meaning.support.items()
        },
        settings=dict(meaning.settings),
        pieces=dict(meaning.pieces),
    )


#: A change to the frozen tests, or to what gives them their meaning.
_altered = partial(Finding, slug="tests-unchanged", tier="hard", change="altered")


def find_altered(frozen: Frozen, inventory: Inventory, meaning: Meaning) -> list[Finding]:
    """Return the changes to the frozen tests and to the code and data around them."""
    return [
        *_altered_bodies(frozen.inventory, inventory),
        *_altered_modules(frozen, meaning),
        *_altered_support(frozen, meaning),
        *(_altered(file=path, detail="was changed during the run") for path in meaning.rewritten),
        *_find_added(frozen, inventory, meaning),
        *find_altered_pieces(frozen.pieces, meaning.pieces),
    ]


def _altered_modules(frozen: Frozen, meaning: Meaning) -> Iterator[Finding]:
    """Yield the changes around the tests, in their own files."""
    asked_around = {name for file in frozen.support.values() for name in file.requests}
    for path, now in meaning.modules.items():
        before = frozen.inventory.files.get(path)
        if before is not None:
            names = frozenset(name.partition("::")[0] for name in before.bodies)
            asked = asked_around.union(before.requests)
            what = "was changed after RED, around the tests"
            yield from _code_changes(path, before.statements or (), now, what, tests=names, requested=asked)


def _altered_support(frozen: Frozen, meaning: Meaning) -> Iterator[Finding]:
    """Yield the changes to the files that tests use."""
    what = "is used by the tests, and was changed after RED"
    for path, file in frozen.support.items():
        if path not in meaning.support:
            yield _altered(file=path, detail="is used by the tests, and is gone", change="gone")
            continue
        content, now = meaning.support[path]
        if content != file.content and file.statements is not None and now is not None:
            files = [*frozen.inventory.files.items(), *frozen.support.items()]
            asked = {name for used, each in files if _is_below(path, used) for name in each.requests}
            yield from _code_changes(path, file.statements, now, what, requested=asked)
        elif content != file.content:
            yield _altered(file=path, detail=what, proof=content)


def _is_below(conftest: str, path: str) -> bool:
    """Return whether a file is in the folder of another one, or below it: the scope of a conftest."""
    return path.startswith(conftest[: conftest.rfind("/") + 1])


def _altered_bodies(frozen: Inventory, now: Inventory) -> list[Finding]:
    findings = []
    for path, file in frozen.files.items():
        found = now.files.get(path)
        if found is None or found.content == file.content:
            continue
        if not path.endswith(".py"):
            # The file itself is the test; in a text, its examples are.
            if file.bodies and found.bodies == file.bodies:
                continue
            findings.append(_altered(file=path, detail="was changed after RED", proof=found.content))
            continue
        present = {bare_name(name) for name in found.ids}
        # A test without a body here was inherited, or made at run time: a new body in this file replaces it.
        for name, body in {**{bare_name(each): "" for each in file.ids}, **file.bodies}.items():
            proof = found.bodies.get(name, "")
            if name in present and proof != body:
                test_id = join_id(path, name)
                findings.append(_altered(id=test_id, file=path, detail="was changed after RED", proof=proof))
    return findings


def _code_changes(
    path: str,
    before: tuple[str, ...],
    now: tuple[ModuleStatement, ...],
    what: str,
    *,
    tests: Collection[str] = frozenset(),
    requested: Collection[str],
) -> list[Finding]:
    from phase_gate.source.module_code import find_changes

    # Of the code, not of the text: reformatted code is still covered by a waiver.
    proof = sha256("\n".join(row.hash for row in now).encode()).hexdigest()
    lines = find_changes(before, now, tests, requested)
    return [_altered(file=path, detail=what, line=line or None, proof=proof) for line in lines]


def _module_name(path: str, packages: Collection[str]) -> str:
    """Return the import name of a file: dotted as far up as there are packages."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    start = len(parts) - 1
    while start > 0 and "/".join(parts[:start]) in packages:
        start -= 1
    return ".".join(parts[start:])


def _find_added(frozen: Frozen, inventory: Inventory, meaning: Meaning) -> Iterator[Finding]:
    """Yield new files that change tests: a conftest.py above them, a module that hides one that they use."""
    contents = {path: file.content for path, file in inventory.files.items()}
    contents |= {path: content for path, (content, _) in meaning.support.items()}
    present = {path for path in contents if path.endswith(".py")}
    packages = {path.removesuffix("/__init__.py") for path in present if path.endswith("/__init__.py")}
    before = {_module_name(path, packages): path for path in frozen.support if path.endswith(".py")}
    for path in sorted(present - frozen.support.keys()):
        hidden = before.get(_module_name(path, packages))
        if path.endswith("conftest.py"):
            is_above = path in meaning.support and any(_is_below(path, each) for each in frozen.inventory.files)
            what = "is a new conftest.py above frozen tests" if is_above else ""
        else:
            is_new = hidden is not None and path not in frozen.inventory.files
            what = f"is a new module of the same name as {hidden}" if is_new else ""
        if what:
            yield _altered(file=path, detail=what, proof=contents[path], change="added")


def find_changed_settings(frozen: Mapping[str, str], now: Mapping[str, str]) -> list[Finding]:
    """Return the changed settings: pytest's and our own."""
    return [
        Finding(
            slug="rules-unchanged",
            # The environment may choose the profile, for example in CI. The experiment finds tests with fewer inputs.
            tier="advisory" if name == PROFILE else "hard",
            id=name,
            detail=_show_change(frozen.get(name), now.get(name)),
            proof=sha256(repr(now.get(name)).encode("utf-8", "replace")).hexdigest(),
            change="added" if name not in frozen else "altered" if name in now else "gone",
        )
        for name in sorted({*frozen, *now})
        if frozen.get(name) != now.get(name)
        # A test that adds or removes hypothesis does not change the profile.
        and (name != PROFILE or (name in frozen and name in now))
    ]


def _show_change(before: str | None, now: str | None) -> str:
    """Return both values; of long ones, the part where they differ."""
    values = (before or "", now or "")
    start = max(0, len(posixpath.commonprefix(values)) - 20) if max(map(len, values)) > 60 else 0
    shown = ("not set" if each is None else repr(cut(f"…{each[start:]}" if start else each)) for each in (before, now))
    return "was {}, is {}".format(*shown)


def frozen_to_json(frozen: Frozen, *, inventory: str) -> dict[str, Any]:
    """Return the freeze as a document; it contains the digest of the inventory."""
    return {**to_json(replace(frozen, inventory=Inventory({}))), "inventory": inventory}


def frozen_from_json(document: Mapping[str, Any], inventory: Inventory) -> Frozen:
    return replace(from_json(Frozen, {**document, "inventory": {"files": {}}}), inventory=inventory)


def find_altered_pieces(frozen: Mapping[str, TestFile], now: Mapping[str, TestFile]) -> Iterator[Finding]:
    """Yield the changed pieces."""
    for path, file in frozen.items():
        present = now.get(path, TestFile(content="")).bodies
        for name, before in file.bodies.items():
            found = present.get(name, "")
            if found != before:
                what = f"the tests use {name}, and it {'was changed after RED' if found else 'is gone'}"
                yield _altered(file=path, detail=what, proof=found, change="altered" if found else "gone")
