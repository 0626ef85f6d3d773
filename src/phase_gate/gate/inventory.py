"""What tests exist: ids by file, with the hash of each test's body.

Pure values. An id is a path relative to the root, `::`, and the name with its parameters: `tests/test_a.py::test_x[1]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.codec import from_json, spell_out
from phase_gate.values import Value, field


class TestFile(Value):
    """One file with tests: the id of its content, bodies by bare name, and the ids that were collected from it."""

    #: pytest would take a class of this name for a test.
    __test__ = False

    content: str
    ids: tuple[str, ...]
    bodies: Mapping[str, str] = field(default_factory=dict)
    #: Tests that a later definition of the same name hides.
    hidden: tuple[str, ...] = ()
    #: Hashes of what is around the tests: imports, constants, helpers, fixtures.
    statements: tuple[str, ...] = ()
    #: Fixtures that its tests and fixtures ask for.
    requests: tuple[str, ...] = ()
    #: Data in other modules that rows of its parameters come from, as `module:name`.
    rows_from: tuple[str, ...] = ()


class Inventory(Value, kw_only=False):
    files: Mapping[str, TestFile]

    def ids(self) -> Iterator[str]:
        for path, file in self.files.items():
            for name in file.ids:
                yield join_id(path, name)

    def body(self, test_id: str) -> str:
        """Return the hash of the test's body; empty where the source does not show it (doctests, generated tests)."""
        path, name = split_id(test_id)
        file = self.files.get(path)
        return "" if file is None else file.bodies.get(bare_name(name), "")


def split_id(test_id: str) -> tuple[str, str]:
    """Return path and name of an id; the name is empty where the file itself is the test."""
    path, _, name = test_id.partition("::")
    return path, name


def join_id(path: str, name: str) -> str:
    return f"{path}::{name}" if name else path


def bare_name(name: str) -> str:
    """Return the name without its parameters. They may hold anything, `::` too, so cut at the first bracket."""
    return name.partition("[")[0]


def bare_id(test_id: str) -> str:
    path, name = split_id(test_id)
    return join_id(path, bare_name(name))


def merge_inventories(known: Inventory, found: Inventory) -> Inventory:
    """Return everything known, with what was found now: bodies and contents are the found ones where both have them."""
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
            hidden=file.hidden,
            statements=file.statements,
            requests=file.requests,
            rows_from=file.rows_from,
        )
    return Inventory(files)


def inventory_to_json(inventory: Inventory) -> dict[str, Any]:
    return spell_out(Inventory(dict(sorted(inventory.files.items()))))


def inventory_from_json(document: Mapping[str, Any]) -> Inventory:
    return from_json(Inventory, document)
