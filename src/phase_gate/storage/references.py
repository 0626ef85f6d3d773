"""What a run is compared with, loaded from stored objects and from git, as far as the state names it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from phase_gate.gate.freeze import Frozen, frozen_from_json
from phase_gate.gate.inventory import Inventory
from phase_gate.gate.outcomes import Bucket, Past, References
from phase_gate.gate.state import Snapshot, State
from phase_gate.storage.objects import ObjectStore


def load_references(
    objects: ObjectStore,
    state: State,
    *,
    root: Path,
    tree_files: Mapping[str, str],
    inventory: Inventory,
    surroundings: str,
    in_first_phase: bool,
    rewinds: bool = False,
) -> References:
    """Return everything that outcomes are compared with.

    :param rewinds: the run goes back to the first phase when it ends; it is judged as if it had done so already.
    """

    def past(snapshot: Snapshot | None) -> Past | None:
        if snapshot is None:
            return None
        outcomes = {test_id: Bucket(text) for test_id, text in objects.load(snapshot.outcomes).items()}
        return Past(
            objects.load_inventory(snapshot.inventory), outcomes, ids_of(snapshot.inventory), snapshot.surroundings
        )

    @cache
    def ids_of(inventory: str) -> frozenset[str]:
        return frozenset(objects.load_inventory(inventory).ids())

    known = None if state.snapshots.known is None else objects.load_inventory(state.snapshots.known)
    head: Mapping[str, Mapping[str, str]] = {}
    if in_first_phase:
        from phase_gate.storage.tree.git_head import bodies_at_head

        head = bodies_at_head(root, inventory, tree_files)
    return References(
        baseline=past(state.snapshots.baseline),
        first=past(state.snapshots.first),
        latest=past(state.snapshots.latest),
        known=known,
        known_ids=frozenset() if state.snapshots.known is None else ids_of(state.snapshots.known),
        head=head,
        targets=None if in_first_phase or state.aim.targets is None else frozenset(objects.load(state.aim.targets)),
        recovered=frozenset(state.aim.recovered),
        frozen=load_frozen(objects, state.freeze.current),
        withdrawn=_load_withdrawn(objects, state.freeze.would_withdraw if rewinds else state.freeze.withdrawn),
        surroundings=surroundings,
        red={} if state.freeze.red_bodies is None else objects.load(state.freeze.red_bodies)["bodies"],
    )


def load_frozen(objects: ObjectStore, name: str | None) -> Frozen | None:
    """Return the freeze of that name; None if there is none."""
    if name is None:
        return None
    document = objects.load(name)
    return frozen_from_json(document, objects.load_inventory(document["inventory"]))


def _load_withdrawn(objects: ObjectStore, name: str | None) -> Inventory | None:
    return None if name is None else objects.load_inventory(objects.load(name)["inventory"])
