"""The bodies of tests at git's HEAD: a passing test that is as it was committed is not what this step is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phase_gate.gate.inventory import Inventory, bare_name
from phase_gate.source.tests import find_tests
from phase_gate.storage.tree.filtered_files import as_indexed
from phase_gate.storage.tree.git import NoGitError, try_git


def bodies_at_head(root: Path, inventory: Inventory, tree_files: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return path -> bare name -> body hash at HEAD; empty without git or without a commit."""
    paths = [path for path in inventory.files if not path.startswith("../")]
    committed = _blobs_at_head(root)
    in_doubt = [path for path in paths if path in committed and tree_files.get(path) != committed[path]]
    known = {**tree_files, **_as_indexed(root, in_doubt)}
    found: dict[str, Mapping[str, str]] = {}
    for path in paths:
        blob = committed.get(path)
        if blob is None:
            continue
        if known.get(path) == blob:
            # Unchanged as a whole: also the tests whose bodies stand elsewhere, inherited or made at run time.
            file = inventory.files[path]
            found[path] = {bare_name(name): file.bodies.get(bare_name(name), "") for name in file.ids}
            continue
        source = try_git(root, "cat-file", "blob", blob)
        if source is None:
            continue
        try:
            # As wide as pytest's patterns may be: a name that is no test is never asked for.
            tests = find_tests(source, functions=("*",), classes=("*",))
        except SyntaxError:
            continue
        found[path] = {test.name: test.body for test in tests}
    return found


def _as_indexed(root: Path, paths: list[str]) -> Mapping[str, str]:
    """Return the blobs of files that the tree has by their own bytes, and that are as git's index has them."""
    try:
        return as_indexed(str(root), paths) if paths else {}
    except NoGitError:
        return {}


def _blobs_at_head(root: Path) -> dict[str, str]:
    listing = try_git(root, "ls-tree", "-r", "-z", "HEAD")
    if listing is None:
        return {}
    blobs = {}
    for row in listing.split(b"\0"):
        information, _, path = row.partition(b"\t")
        words = information.split()
        if len(words) == 3 and words[1] == b"blob":
            blobs[path.decode("utf-8", "surrogateescape")] = words[2].decode("ascii")
    return blobs
