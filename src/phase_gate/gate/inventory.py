"""The existing tests: ids by file, with the hash of each test's body.

Pure values. An id is a path relative to the root, `::`, and the name with its parameters: `tests/test_a.py::test_x[1]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.bound import sha256
from phase_gate.codec import from_json, spell_out
from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        files[path] = TestFile(
            content=file.content,
            ids=tuple(sorted(kept)),
            bodies={**before.bodies, **file.bodies},
            is_source=file.is_source,
            statements=file.statements,
            requests=file.requests,
        )
    return Inventory(files)


def inventory_to_json(inventory: Inventory) -> dict[str, Any]:
    return spell_out(Inventory(dict(sorted(inventory.files.items()))))


def inventory_from_json(document: Mapping[str, Any]) -> Inventory:
    return from_json(Inventory, document)


# --- ids that differ in every run: made from a set, which the hash seed orders, or with an address in them


def find_renamed(missing: Iterable[str], present: Iterable[str]) -> frozenset[str]:
    """Return the missing ids that are present with the same letters in another order, or with another address."""
    missing = frozenset(missing)
    shapes = {_shape(test_id) for test_id in present if test_id not in missing and "[" in test_id}
    return frozenset(test_id for test_id in missing if "[" in test_id and _shape(test_id) in shapes)


def _shape(test_id: str) -> tuple[str, ...]:
    function = bare_id(test_id)
    rows = re.sub(r"0x[0-9a-fA-F]+|-?\d{15,}", "", test_id[len(function) :])
    return (function, *sorted(rows))
