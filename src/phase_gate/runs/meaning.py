"""The tests of a run: their inventory; and their meaning: code around them, files they use, pieces of the sources."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.gate.inventory import Frozen, Inventory, Meaning, TestFile, bare_name, content_id, spell_ids, split_id
from phase_gate.gate.record import Criteria, Document
from phase_gate.project import Project
from phase_gate.storage.fingerprint import Tree, compile_globs
from phase_gate.values import Value, replace

if TYPE_CHECKING:
    import ast

    from phase_gate.source.module_code import ModuleStatement

#: Folders for tests and their data, if `testpaths` is not set.
_TEST_FOLDERS = frozenset({"test", "tests"})
#: Names of source folders, which are in `testpaths` because of their examples.
_SOURCE_FOLDERS = frozenset({"src", "lib"})


def take_meaning(
    project: Project,
    criteria: Criteria,
    inventory: Inventory,
    tree: Tree,
    facts: Document,
    *,
    frozen: Frozen | None,
    at_start: AtStart | None,
    is_output: Callable[[str], bool],
    outputs: Collection[str] = (),
) -> Meaning:
    """Return the meaning of the tests in this run. Files with their frozen content are not parsed.

    :param tree: the files after the run.
    :param at_start: the contents of frozen files at the start of the run; None if there were none.
    :param is_output: whether the run itself has written a file.
    :param outputs: files that earlier runs have written.
    """
    root = project.root
    before_them = {} if frozen is None else frozen.support
    more = before_them if frozen is not None else _plugins(facts, tree, root)
    support: dict[str, tuple[str, tuple[ModuleStatement, ...] | None]] = {}
    written: set[str] = set()
    contents = {**tree.files, **tree.beside}
    for path, content in support_files(project, inventory.files, contents, facts.testpaths, more=more):
        known = before_them.get(path)
        if known is None and not path.endswith(".py") and (path in outputs or is_output(path)):
            written.add(path)
            continue
        if known is not None and at_start is not None:
            if path not in at_start.support:
                continue  # the file was missing at the start, even if the tests have written it since
            # If the run overwrites or restores the file, its content at the start still counts.
            content = content if at_start.support[path] == known.content else at_start.support[path]
        is_same = known is not None and known.content == content
        support[path] = (content, None if is_same or not path.endswith(".py") else _statements(root / path, ()))
    settings = dict(facts.settings)
    # Criteria added after the freeze only require more.
    if criteria.listed and (frozen is None or "criteria" in frozen.settings):
        settings["criteria"] = ", ".join(sorted(criteria.ids))
    texts = {} if at_start is None else at_start.texts
    return Meaning(
        modules={} if frozen is None else _changed_modules(root, inventory, frozen),
        support=support,
        written=frozenset(written),
        rewritten=tuple(
            path for path, file in inventory.files.items() if path in texts and texts[path] != file.content
        ),
        settings=settings,
        pieces=_find_pieces(project, inventory, tree, facts, support)
        if frozen is None
        else _read_again(project, frozen.pieces, tree),
    )


def _changed_modules(root: Path, inventory: Inventory, frozen: Frozen) -> dict[str, tuple[ModuleStatement, ...]]:
    """Return the statements of the test files that differ from their frozen content."""
    modules = {}
    for path, file in inventory.files.items():
        before = frozen.inventory.files.get(path)
        if before is None or before.content == file.content or before.is_source or not path.endswith(".py"):
            continue
        modules[path] = _statements(root / path, {bare_name(name) for name in file.ids})
    return modules


def _plugins(facts: Document, tree: Tree, root: Path) -> list[str]:
    """Return the plugins that exist only for the tests: no code imports them, and RED did not fail for lack of one.

    For other plugins, the fixtures that tests use are frozen.
    """
    raised = {failure.file for failure in facts.failures.values() if not failure.by_check}
    return [path for path in facts.plugins if path not in raised and not _is_imported(path, tree.files, root)]


def _is_imported(plugin: str, files: Iterable[str], root: Path) -> bool:
    name = plugin.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
    wanted = re.compile(rf"^[ \t\f]*+(?:from|import)\s.*\b{re.escape(name)}\b".encode(), re.M)
    sources = (path for path in files if path.endswith(".py") and path != plugin)
    return any(wanted.search(read_source(root / path)) for path in sources)


def _find_pieces(
    project: Project, inventory: Inventory, tree: Tree, facts: Document, support: Collection[str]
) -> dict[str, TestFile]:
    """Return the pieces of tests in files that are not frozen as a whole."""
    tests, around = facts.parts.get("tests", ()), facts.parts.get("around", ())
    wanted: dict[str, set[str]] = {}
    helpers = (place for failure in facts.failures.values() for place in failure.helpers)
    for place in (*tests, *around, *helpers):
        file, _, name = place.partition("::")
        if file not in inventory.files and file not in support and not file.startswith("../"):
            wanted.setdefault(file, set()).add(name)
    if not wanted:
        return {}
    from phase_gate.source.module_code import is_under_test, lines_of

    found: dict[str, TestFile] = {}
    for file, content in project.take_contents(wanted, tree).items():
        code = _parse(project.root / file)
        if code is None:
            continue
        raised = {each.line or 0 for each in facts.failures.values() if each.file == file and not each.by_check}
        free = {
            name
            for name in wanted[file]
            if f"{file}::{name}" not in tests
            and is_under_test(file, lines_of(code, name), tests=inventory.files, raised=raised)
        }
        found[file] = _read_pieces(code, content, wanted[file] - free)
    return {file: pieces for file, pieces in found.items() if pieces.bodies}


def _read_again(project: Project, frozen: Mapping[str, TestFile], tree: Tree) -> dict[str, TestFile]:
    """Return the current content of frozen pieces; files with their frozen content are not parsed."""
    contents = project.take_contents(frozen, tree) if frozen else {}
    return {
        path: file
        if contents.get(path) == file.content
        else _read_pieces(_parse(project.root / path), contents.get(path, ""), file.bodies)
        for path, file in frozen.items()
    }


def _read_pieces(code: ast.Module | None, content: str, names: Iterable[str]) -> TestFile:
    from phase_gate.source.module_code import hash_piece

    hashes = {} if code is None else {name: hash_piece(code, name) for name in sorted(names)}
    return TestFile(content=content, bodies={name: found for name, found in hashes.items() if found})


def _parse(file: Path) -> ast.Module | None:
    from phase_gate.source.tests import parse_source

    try:
        return parse_source(file.read_bytes())
    except (OSError, SyntaxError):
        return None


class AtStart(Value):
    """The content ids of frozen files at the start of a run, without files that were missing."""

    support: Mapping[str, str]
    #: Files that are themselves tests, such as texts with examples.
    texts: Mapping[str, str]


def read_frozen(project: Project, frozen: Frozen, tree: Tree) -> AtStart:
    """Return the current contents of the frozen files. Call it before any test can change them."""
    texts = [path for path in frozen.inventory.files if not path.endswith(".py")]
    return AtStart(
        support=project.take_contents(frozen.support, tree),
        texts={path: text_id(project.root / path) for path in texts if (project.root / path).is_file()},
    )


def _statements(file: Path, tests: Iterable[str]) -> tuple[ModuleStatement, ...]:
    from phase_gate.source.module_code import module_code

    code = _parse(file)
    return () if code is None else module_code(code, tests=frozenset(tests))


def support_files(
    project: Project,
    tests: Collection[str],
    contents: Mapping[str, str],
    testpaths: Iterable[str],
    *,
    more: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield the files that tests use, with their content ids.

    :param tests: the files that contain tests.
    :param more: support files regardless of their location: frozen ones and plugins.
    """
    folders = find_test_folders(testpaths, (*tests, *contents))
    by_name = compile_globs(project.configuration.freeze)

    def is_support(path: str) -> bool:
        # A support file that has tests of its own is still used by the others.
        return path in more or (
            path not in tests
            and (
                path.rpartition("/")[2] == "conftest.py"
                or by_name(path)
                or any(path.startswith(f"{folder}/") for folder in folders)
            )
        )

    yield from ((path, content) for path, content in contents.items() if is_support(path))
    yield from project.take_data(folders, lambda path: path not in contents and is_support(path)).items()


def find_test_folders(testpaths: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Return the folders of tests: `testpaths`, or else folders named test or tests. Never the root itself.

    If `testpaths` names a package, or the folder of all sources, its tests are in separate folders inside, or are
    examples in the sources. The rest is the code under test.
    """
    wanted = {folder.rstrip("/") for folder in testpaths if folder not in ("", ".") and not folder.startswith("..")}
    paths = list(paths)
    if not wanted:
        return frozenset(_named_folders(paths))
    found: set[str] = set()
    for folder in wanted:
        inside = [path for path in paths if path.startswith(f"{folder}/")]
        named = set() if _TEST_FOLDERS & set(folder.split("/")) else _named_folders(inside)
        rest = [path for path in inside if not any(path.startswith(f"{each}/") for each in named)]
        is_shared = bool(named) or folder.rpartition("/")[2] in _SOURCE_FOLDERS
        found |= named if is_shared and not any(map(_is_named_test, rest)) else {folder}
    return frozenset(found)


def _named_folders(paths: Iterable[str]) -> set[str]:
    found = set()
    for path in paths:
        parts = path.split("/")[:-1]
        for index, part in enumerate(parts):
            if part in _TEST_FOLDERS:
                found.add("/".join(parts[: index + 1]))
                break
    return found


def _is_named_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def written_since(root: Path, began: float) -> Callable[[str], bool]:
    """Return a predicate: whether a file was written since then, by the run itself or its measuring tools."""

    def is_output(path: str) -> bool:
        try:
            # Ignore files with a date in the future.
            return began <= (root / path).stat().st_mtime <= time.time()
        except OSError:
            return False

    return is_output


# --- the inventory of a session: ids by file, with the bodies of new or changed tests read from the source


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
