"""Read the tests in the source of a test file; imported only in RED, or if a file is new or has changed."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from phase_gate.gate.inventory import Inventory, TestFile, bare_name, content_id
from phase_gate.source.module_code import module_code
from phase_gate.source.syntax_names import requested_names
from phase_gate.source.tests import are_doctests, find_doctests, find_tests, hash_examples, parse_source
from phase_gate.storage.git_command import files_of_commit, try_git


def names_in_source(
    file: Path, functions: Sequence[str] = ("*",), classes: Sequence[str] = ("*",), *, doctests_of: str = ""
) -> list[str] | None:
    """Return the bare names of the tests in the source of a file; None if there is no such file.

    :param functions: name patterns of tests, like `classes`; by default, all names that some pattern could match.
    :param doctests_of: the file as in ids, to include the names that pytest may give to its examples.
    """
    try:
        tree = parse_source(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, SyntaxError):
        return []
    names = [test.name for test in find_tests(tree, functions=functions, classes=classes)]
    return [*names, *find_doctests(tree, doctests_of)] if doctests_of else names


def read_tests(path: str, names: Sequence[str], ids: tuple[str, ...], content: str, source: bytes) -> TestFile:
    """Return a file with the bodies of its tests, and the code around them.

    :param names: of its tests, as collected.
    :param content: the id of its content.
    """
    if not path.endswith(".py"):
        return TestFile(content=content, ids=ids, bodies=_examples_in_text(path, names, source))
    try:
        # With any name pattern: additional functions do no harm, because only collected names are looked up.
        tree = parse_source(source)
    except SyntaxError:
        return TestFile(content=content, ids=ids)
    wanted = {bare_name(name) for name in names}
    tests = find_tests(tree, functions=("*",), classes=("*",))
    bodies = {test.name: test.body for test in tests if test.name in wanted}
    if wanted - bodies.keys():
        examples = find_doctests(tree, path)
        if are_doctests(wanted, path, bodies):
            # The code around them is the code under test.
            bodies = {name: examples.get(name, "") for name in wanted}
            return TestFile(content=content, ids=ids, bodies=bodies, is_source=True)
        bodies = {**{name: body for name, body in examples.items() if name in wanted}, **bodies}
    rows = module_code(tree, tests=wanted)
    return TestFile(
        content=content,
        ids=ids,
        bodies=bodies,
        statements=tuple(row.hash for row in rows),
        requests=tuple(sorted(requested_names(tree, tests=wanted))),
    )


def _examples_in_text(path: str, names: Collection[str], source: bytes) -> dict[str, str]:
    """Return the hash of a text's examples, by pytest's name for it; empty for any other kind of file."""
    name = path.rpartition("/")[2]
    if {*names} != {name} or b">>>" not in source:
        return {}
    # With the line ends as pytest reads them: they differ between checkouts on different systems.
    body = hash_examples(source.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))
    return {name: body} if body else {}


# --- the bodies of tests at git's HEAD: RED is not about a passing test that is equal to its committed version


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
        # A text with examples may be a document, which is not in the tree.
        if tree_files.get(path) == blob or (source is not None and file.content == content_id(source)):
            # Unchanged as a whole, including tests whose bodies are elsewhere: inherited, or made at run time.
            found[path] = {bare_name(name): file.bodies.get(bare_name(name), "") for name in file.ids}
            continue
        if source is None or not path.endswith(".py"):
            continue
        try:
            tree = parse_source(source)
        except SyntaxError:
            continue
        found[path] = _bodies(tree, path, file)
    return found


def _bodies(tree: ast.Module, path: str, now: TestFile) -> dict[str, str]:
    """Return the bodies in a file at HEAD: its tests, its examples, and tests that are not in a source."""
    tests = {test.name: test.body for test in find_tests(tree, functions=("*",), classes=("*",))}
    names = {bare_name(name) for name in now.ids}
    if names <= tests.keys():
        return tests
    classes = {name.partition("::")[0] for name in tests} | {
        node.name for node in tree.body if isinstance(node, ast.ClassDef)
    }
    # Inherited, or made at run time: they are as old as their class or module.
    made = {
        name for name in names if not now.bodies.get(name) and ("::" not in name or name.partition("::")[0] in classes)
    }
    return {**dict.fromkeys(made, ""), **find_doctests(tree, path), **tests}
