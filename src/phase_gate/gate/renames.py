"""Tests with a new location: moved with their file, moved to another file, or renamed.

Pure. The references of a run are changed to the current names of tests.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from phase_gate.gate.inventory import Frozen, Inventory, TestFile, bare_id, bare_name, split_id
from phase_gate.gate.outcomes import Past, References
from phase_gate.gate.record import RunRecord
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

#: Old bare ids with the new ones.
Moves = Mapping[str, str]


def follow_moves(past: References, record: RunRecord, *, in_first_phase: bool) -> tuple[References, Moves]:
    """Return the references of a run with the current names of tests; and the moves.

    They are the moves since the cycle began, and since the freeze, which the first phase replaces.
    """
    frozen = None if in_first_phase or past.frozen is None else past.frozen.inventory
    baseline = None if past.baseline is None else past.baseline.inventory
    ran, unselected = record.session.outcomes, frozenset(record.unselected)
    moves: dict[str, str] = {}
    for before in (frozen, past.withdrawn, baseline):
        if before is not None:
            absent = (each for each in before.ids() if each not in ran and each not in unselected)
            moves |= find_moves(before, record.inventory, map(bare_id, absent))
    return (_rename(past, moves, record), moves) if moves else (past, moves)


def find_moves(before: Inventory, now: Inventory, gone: Iterable[str]) -> Moves:
    """Return the new locations of tests that are no longer at their old ones.

    :param gone: bare ids of tests that did not run at their old location.
    """
    gone = set(gone)
    if not gone:
        return {}
    here, there = set(map(bare_id, now.ids())), set(map(bare_id, before.ids()))
    old, new = gone - here, here - there
    moves: dict[str, str] = {}
    # First the tests with an unchanged name, then the renamed ones.
    for named in (True, False):
        sides = [
            _by_likeness(old - moves.keys(), before, named=named),
            _by_likeness(new - {*moves.values()}, now, named=named),
        ]
        for key in sides[0].keys() & sides[1].keys():
            ones, others = sides[0][key], sides[1][key]
            # Exactly one on each side: a copy replaces no test.
            if len(ones) == len(others) == 1 and _has_the_same_rows(ones[0], before, others[0], now):
                moves[ones[0]] = others[0]
    return moves


def _by_likeness(ids: Iterable[str], inventory: Inventory, *, named: bool) -> dict[Hashable, list[str]]:
    """Return the tests by their bodies and names; without names only those with a body in the sources."""
    found: dict[Hashable, list[str]] = {}
    for test_id in ids:
        path, name = split_id(test_id)
        body = inventory.body(test_id)
        if not body and named and path in inventory.files:
            # Inherited, made at run time, or a text with examples: the whole file has to be the same.
            body, name = inventory.files[path].content, name if path.endswith(".py") else ""
        if body:
            found.setdefault((body, name if named else ""), []).append(test_id)
    return found


def _has_the_same_rows(old: str, before: Inventory, new: str, now: Inventory) -> bool:
    (path, name), (new_path, new_name) = split_id(old), split_id(new)
    rows = _rows(before.files[path], name)
    return rows in ({""}, _rows(now.files[new_path], new_name))


def _rows(file: TestFile, name: str) -> set[str]:
    """Return the parameters of a test from its ids; empty while its module can't be imported."""
    return {each[len(name) :] for each in file.ids if bare_name(each) == name}


# --- the same history under new names


def renamed(test_id: str, moves: Moves) -> str:
    bare = bare_id(test_id)
    return moves[bare] + test_id[len(bare) :] if bare in moves else test_id


def move_tests(inventory: Inventory, moves: Moves) -> Inventory:
    """Return the inventory with tests at their new locations."""
    files = dict(inventory.files)
    for old, new in moves.items():
        (path, name), (new_path, new_name) = split_id(old), split_id(new)
        source = files.get(path)
        rows = set() if source is None else _rows(source, name)
        if source is None or not rows:
            continue
        bodies = dict(source.bodies)
        body = bodies.pop(name, None)
        left = tuple(each for each in source.ids if bare_name(each) != name)
        files[path] = replace(source, ids=left, bodies=bodies)
        home = files.get(new_path) or replace(source, ids=(), bodies={})
        files[new_path] = replace(
            home,
            ids=tuple(sorted((*home.ids, *(new_name + row for row in rows)))),
            bodies=home.bodies if body is None else {**home.bodies, new_name: body},
            requests=tuple(sorted({*home.requests, *source.requests})),
        )
    return Inventory({path: file for path, file in files.items() if file.ids})


def _rename(past: References, moves: Moves, record: RunRecord) -> References:
    def of_tests(inventory: Inventory | None) -> Inventory | None:
        return None if inventory is None else move_tests(inventory, moves)

    def of_run(then: Past | None) -> Past | None:
        if then is None:
            return None
        return replace(then, inventory=of_tests(then.inventory), outcomes=_rename_keys(then.outcomes, moves))

    return replace(
        past,
        baseline=of_run(past.baseline),
        first=of_run(past.first),
        latest=of_run(past.latest),
        known=of_tests(past.known),
        targets=None if past.targets is None else frozenset(renamed(each, moves) for each in past.targets),
        recovered=frozenset(renamed(each, moves) for each in past.recovered),
        frozen=None if past.frozen is None else _rename_frozen(past.frozen, moves, record),
        withdrawn=of_tests(past.withdrawn),
        red=_rename_keys(past.red, moves),
    )


def _rename_keys(rows: Mapping[str, T], moves: Moves) -> dict[str, T]:
    return {renamed(test_id, moves): held for test_id, held in rows.items()}


def _rename_frozen(frozen: Frozen, moves: Moves, record: RunRecord) -> Frozen:
    inventory = move_tests(frozen.inventory, moves)
    # A file that lost its tests, and is still there: others may use its code, which stays frozen.
    lost = {path: file for path, file in frozen.inventory.files.items() if path not in inventory.files}
    support = {path: file for path, file in lost.items() if path in record.files and path not in record.inventory.files}
    return replace(frozen, inventory=inventory, support={**frozen.support, **support})
