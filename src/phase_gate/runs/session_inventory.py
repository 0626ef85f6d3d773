"""The inventory of a session: ids by file, with the bodies of new or changed tests read from the source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from phase_gate.gate.inventory import Inventory, TestFile, content_id, spell_ids, split_id
from phase_gate.values import replace


def take_inventory(
    ids: Collection[str], *, root: Path, contents: Mapping[str, str], known: Inventory | None
) -> Inventory:
    """Return the inventory. A file whose content is known is not parsed again.

    :param contents: content ids by path, from the tree.
    """
    if known is not None and _are_those_of(known, ids):
        names: Mapping[str, Sequence[str]] = {path: file.ids for path, file in known.files.items() if file.ids}
    else:
        names = _by_file(ids)
    return Inventory({path: _read_file(path, rows, root, contents, known) for path, rows in sorted(names.items())})


def _by_file(ids: Iterable[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for test_id in ids:
        path, name = split_id(test_id)
        names.setdefault(path, []).append(name)
    return names


def _are_those_of(known: Inventory, ids: Collection[str]) -> bool:
    """Return whether the ids are exactly the known tests: usually they are, and this is faster than sorting them."""
    if sum(len(file.ids) for file in known.files.values()) != len(ids):
        return False
    here = ids.__contains__
    return all(all(map(here, spell_ids(path, file))) for path, file in known.files.items())


def _read_file(
    path: str, names: Sequence[str], root: Path, contents: Mapping[str, str], known: Inventory | None
) -> TestFile:
    before = None if known is None else known.files.get(path)
    # If the file itself is the test, its content id must not depend on whether git tracks it.
    content = contents.get(path) if path.endswith(".py") else None
    source: bytes | None = None
    if content is None:
        source = read_source(root / path)
        content = content_id(source)
    ids = before.ids if before is not None and names is before.ids else tuple(sorted(names))
    if before is not None and before.content == content:
        return before if before.ids == ids else replace(before, ids=ids)
    from phase_gate.runs.parsing import read_tests

    return read_tests(path, names, ids, content, read_source(root / path) if source is None else source)


def text_id(path: Path) -> str:
    """Return the content id of a file that is itself a test."""
    return content_id(read_source(path))


def read_source(path: Path) -> bytes:
    """Return a file's content; empty if it can't be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


# --- the tests that a file defines, according to its source


def names_in_source(file: Path, functions: Sequence[str] = ("*",), classes: Sequence[str] = ("*",)) -> list[str] | None:
    """Return the bare names of the tests in the source of a file; None if there is no such file.

    :param functions: name patterns of tests, like `classes`; by default, all names that some pattern could match.
    """
    try:
        source = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return []
    from phase_gate.source.tests import find_tests

    try:
        tests = find_tests(source, functions=functions, classes=classes)
    except SyntaxError:
        return []
    return [test.name for test in tests]


def doctests_in_source(file: Path, path: str) -> Iterable[str]:
    """Return the names that pytest may give to the examples in a file.

    :param path: the file as in ids.
    """
    try:
        source = file.read_bytes()
        if not path.endswith(".py") or b">>>" not in source:
            return ()
        from phase_gate.source.tests import find_doctests, parse_source

        return find_doctests(parse_source(source), path)
    except (OSError, SyntaxError):
        return ()
