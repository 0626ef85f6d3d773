"""Tests with a new location: moved with their file, moved to another file, or renamed.

Pure. The references of a run are changed to the current names of tests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

from phase_gate.gate.freeze import Frozen
from phase_gate.gate.inventory import Inventory, TestFile, bare_id, bare_name, split_id
from phase_gate.gate.outcomes import Past, References
from phase_gate.gate.record import RunRecord
from phase_gate.values import replace

#: Old bare ids with the new ones.
Moves = Mapping[str, str]


def follow_moves(past: References, record: RunRecord, *, in_first_phase: bool) -> tuple[References, Moves]:
    """Return the references of a run with the current names of tests; and the moves.

    The moves are those since the freeze; in the first phase those since the cycle began.
    """
    moves: Moves = {}
    if past.frozen is not None and not in_first_phase:
        moves = _moves_since(past.frozen, record)
        past = _rename(past, moves, record)
    if past.withdrawn is not None:
        # A test that was red and now passes is finished, even if it was moved: RED compares only bodies.
        left = _bare(each for each in past.withdrawn.ids() if each not in record.session.outcomes)
        back = find_moves(past.withdrawn, record.inventory, left)
        past = replace(past, withdrawn=move_tests(past.withdrawn, back))
    if past.baseline is not None:
        outcomes, known = record.session.outcomes, past.known_ids
        missing = (each for each in past.baseline.ids if each not in outcomes and each not in known)
        gone = _bare(record.missing_since if in_first_phase else missing)
        old = _moves_of_baseline(past.baseline, past, record, gone) if gone else {}
        past = replace(past, baseline=_rename_past(past.baseline, old))
        moves = {**old, **moves} if in_first_phase else moves
    return past, moves


def _moves_since(frozen: Frozen, record: RunRecord) -> Moves:
    moves = find_moves(frozen.inventory, record.inventory, _bare(record.missing))
    # Other tests may use the code of a file that has lost its own tests, so its changes still count.
    stay = {*record.files} - {*record.inventory.files} - {*record.meaning.support} if moves else set()
    return {old: new for old, new in moves.items() if split_id(old)[0] not in stay}


def _moves_of_baseline(baseline: Past, past: References, record: RunRecord, gone: Collection[str]) -> Moves:
    """Return the moves of old tests. Targets that RED has already chosen are not among them."""
    targets = _bare(past.targets or ())
    moves = find_moves(baseline.inventory, record.inventory, gone)
    return {old: new for old, new in moves.items() if new not in targets}


def find_moves(before: Inventory, now: Inventory, gone: Collection[str]) -> Moves:
    """Return the new locations of tests that are no longer at their old ones.

    :param gone: bare ids of tests that are no longer in the sources at their old location.
    """
    if not gone:
        return {}
    here, there = _bare(now.ids()), _bare(before.ids())
    old, new = set(gone) & there - here, here - there
    moves: dict[str, str] = {}
    for likeness in (_body_and_name, _body):
        pairs = _pair(old - moves.keys(), before, new - set(moves.values()), now, likeness)
        moves |= {one: other for one, other in pairs if _has_the_same_rows(one, before, other, now)}
    return moves


def _has_the_same_rows(old: str, before: Inventory, new: str, now: Inventory) -> bool:
    (path, name), (new_path, new_name) = split_id(old), split_id(new)
    rows = _rows(before.files[path], name)
    return rows in ({""}, _rows(now.files[new_path], new_name))


def _rows(file: TestFile, name: str) -> set[str]:
    """Return the parameters of a test from its ids; empty while its module can't be imported."""
    return {each[len(name) :] for each in file.ids if bare_name(each) == name}


def _body_and_name(test_id: str, inventory: Inventory) -> Hashable:
    """Return a key that identifies a test in another file; the content of the file if the source has no body."""
    path, name = split_id(test_id)
    body = inventory.body(test_id)
    if body:
        return body, name
    file = inventory.files.get(path)
    return "", name if path.endswith(".py") else "", "" if file is None else file.content


def _body(test_id: str, inventory: Inventory) -> Hashable:
    return inventory.body(test_id) or None


def _pair(
    old: Iterable[str],
    before: Inventory,
    new: Iterable[str],
    now: Inventory,
    likeness: Callable[[str, Inventory], Hashable],
) -> Iterable[tuple[str, str]]:
    """Yield pairs of equal tests, if there is exactly one on each side."""
    alike: dict[Hashable, tuple[list[str], list[str]]] = {}
    for side, (ids, inventory) in enumerate(((old, before), (new, now))):
        for test_id in ids:
            key = likeness(test_id, inventory)
            if key is not None:
                alike.setdefault(key, ([], []))[side].append(test_id)
    for ones, others in alike.values():
        if len(ones) == len(others) == 1:
            yield ones[0], others[0]


def _bare(ids: Iterable[str]) -> set[str]:
    return set(map(bare_id, ids))


# --- the same history under new names


def renamed(test_id: str, moves: Moves) -> str:
    bare = bare_id(test_id)
    return moves[bare] + test_id[len(bare) :] if bare in moves else test_id


def move_tests(inventory: Inventory, moves: Moves) -> Inventory:
    """Return the inventory with tests at their new locations."""
    if not moves:
        return inventory
    files = dict(inventory.files)
    for old, new in moves.items():
        (path, name), (new_path, new_name) = split_id(old), split_id(new)
        source = files[path]
        taken = [each for each in source.ids if bare_name(each) == name]
        bodies = {each: body for each, body in source.bodies.items() if each != name}
        left = tuple(each for each in source.ids if bare_name(each) != name)
        files[path] = replace(source, ids=left, bodies=bodies)
        home = files.get(new_path) or replace(source, ids=(), bodies={})
        body = {new_name: source.bodies[name]} if name in source.bodies else {}
        files[new_path] = replace(
            home,
            ids=tuple(sorted((*home.ids, *(new_name + each[len(name) :] for each in taken)))),
            bodies={**home.bodies, **body},
            requests=tuple(sorted({*home.requests, *source.requests})),
        )
    return Inventory({path: file for path, file in files.items() if file.ids})


def _rename(past: References, moves: Moves, record: RunRecord) -> References:
    if not moves or past.frozen is None:
        return past
    known = None if past.known is None else move_tests(past.known, _within(past.known, moves))
    return replace(
        past,
        baseline=_rename_past(past.baseline, moves),
        first=_rename_past(past.first, moves),
        latest=_rename_past(past.latest, moves),
        known=known,
        known_ids=past.known_ids if known is None else frozenset(known.ids()),
        targets=None if past.targets is None else frozenset(renamed(each, moves) for each in past.targets),
        recovered=frozenset(renamed(each, moves) for each in past.recovered),
        frozen=_rename_frozen(past.frozen, moves, record),
        red={renamed(each, moves): body for each, body in past.red.items()},
    )


def _rename_past(past: Past | None, moves: Moves) -> Past | None:
    moves = {} if past is None else _within(past.inventory, moves)
    if past is None or not moves:
        return past
    inventory = move_tests(past.inventory, moves)
    outcomes = {renamed(each, moves): bucket for each, bucket in past.outcomes.items()}
    return replace(past, inventory=inventory, outcomes=outcomes, ids=frozenset(inventory.ids()))


def _rename_frozen(frozen: Frozen, moves: Moves, record: RunRecord) -> Frozen:
    inventory = move_tests(frozen.inventory, moves)
    # A file that lost its tests, and is still used by others: its code stays frozen.
    support = {
        path: file
        for path, file in frozen.inventory.files.items()
        if path not in inventory.files and path in record.meaning.support
    }
    return replace(frozen, inventory=inventory, support={**frozen.support, **support})


def _within(inventory: Inventory, moves: Moves) -> Moves:
    """Return the moves of tests that this inventory has at their old locations."""
    there = _bare(inventory.ids()) if moves else set()
    return {old: new for old, new in moves.items() if old in there}
