"""What a run is compared with, loaded from stored objects and from git, as far as the state names it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from phase_gate.gate.inventory import Inventory, TestFile, bare_name, content_id
from phase_gate.gate.outcomes import Bucket, KnownIds, Past, References
from phase_gate.gate.state import Snapshot, State
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.tree.commits import files_of_commit
from phase_gate.storage.tree.git import try_git

#: By its text: to ask the enumeration for each of thousands takes five times as long.
_BUCKETS = {bucket.value: bucket for bucket in Bucket}


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
        outcomes = {test_id: _BUCKETS[text] for test_id, text in objects.load(snapshot.outcomes).items()}
        return Past(
            objects.load_inventory(snapshot.inventory), outcomes, ids_of(snapshot.inventory), snapshot.surroundings
        )

    @cache
    def ids_of(inventory: str) -> KnownIds:
        return KnownIds(objects.load_inventory(inventory))

    known = None if state.snapshots.known is None else objects.load_inventory(state.snapshots.known)
    head: Mapping[str, Mapping[str, str]] = {}
    if in_first_phase:
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
        frozen=objects.load_frozen(state.freeze.current),
        withdrawn=_load_withdrawn(objects, state.freeze.would_withdraw if rewinds else state.freeze.withdrawn),
        surroundings=surroundings,
        red={} if state.freeze.red_bodies is None else objects.load(state.freeze.red_bodies)["bodies"],
    )


def _load_withdrawn(objects: ObjectStore, name: str | None) -> Inventory | None:
    return None if name is None else objects.load_inventory(objects.load(name)["inventory"])


# --- the bodies of tests at git's HEAD: a passing test that is as it was committed is not what this step is about


def bodies_at_head(root: Path, inventory: Inventory, tree_files: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return path -> bare name -> body hash at HEAD; empty without git or without a commit."""
    paths = [path for path in inventory.files if not path.startswith("../")]
    committed = files_of_commit(root, "HEAD", tree_files)
    found: dict[str, Mapping[str, str]] = {}
    for path in paths:
        blob, file = committed.get(path), inventory.files[path]
        if blob is None:
            continue
        source = None if tree_files.get(path) == blob else try_git(root, "cat-file", "blob", blob)
        # A text with examples may be a document, which the tree leaves out.
        if tree_files.get(path) == blob or (source is not None and file.content == content_id(source)):
            # Unchanged as a whole: also the tests whose bodies stand elsewhere, inherited or made at run time.
            found[path] = {bare_name(name): file.bodies.get(bare_name(name), "") for name in file.ids}
            continue
        if source is None or not path.endswith(".py"):
            continue
        from phase_gate.source.tests import parse_source

        try:
            tree = parse_source(source)
        except SyntaxError:
            continue
        found[path] = _bodies(tree, path, file)
    return found


def _bodies(tree: ast.Module, path: str, now: TestFile) -> dict[str, str]:
    """Return what a file said at HEAD: its tests, its examples, and tests that no source shows."""
    from phase_gate.source.doctests import find_doctests
    from phase_gate.source.tests import find_tests

    tests = {test.name: test.body for test in find_tests(tree, functions=("*",), classes=("*",))}
    names = {bare_name(name) for name in now.ids}
    if names <= tests.keys():
        return tests
    classes = {name.partition("::")[0] for name in tests} | {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)
    }
    # Inherited, or made at run time: they are as old as the class, or the module, that they are put into.
    made = {
        name for name in names if not now.bodies.get(name) and ("::" not in name or name.partition("::")[0] in classes)
    }
    return {**dict.fromkeys(made, ""), **find_doctests(tree, path), **tests}
