"""What was collected, deselected and could not be collected, with ids relative to the root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from phase_gate.gate.failures import Reason
from phase_gate.gate.inventory import join_id
from phase_gate.storage.root import relative_id

T = TypeVar("T")


class Collection:
    """Node ids as pytest has them, and what we call the same tests."""

    def __init__(self, config: pytest.Config, root: Path) -> None:
        self._config, self._root = config, root
        self._paths: dict[str, str] = {}
        self._group_suffixes: tuple[str, ...] = ()
        #: The paths of all nodes are known from their items.
        self._saw_all = False
        self.nodes: list[str] = []
        self.deselected: list[str] = []
        #: Collectors that failed, by node id, and how, where it was described.
        self.errors: dict[str, object] = {}

    def see_items(self, items: Iterable[pytest.Item]) -> None:
        items = list(items)
        self.nodes = [item.nodeid for item in items]
        path: Path | None = None
        for item in items:
            if item.path is not path:  # the tests of a file share its path, and come one after the other
                path = item.path
                self._see_path(item.nodeid, item)
        self._saw_all = bool(items)

    def see_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            self.deselected.append(item.nodeid)
            self._see_path(item.nodeid, item)

    def _see_path(self, node: str, item: pytest.Item) -> None:
        part = node.partition("::")[0]
        if part not in self._paths:
            self._paths[part] = relative_id(item.path, self._root)

    def see_worker_ids(self, ids: Iterable[str]) -> None:
        """Every worker collects the same tests; what one has and another has not is kept."""
        if not self.nodes:
            self.nodes = list(ids)
        else:
            self.nodes = list(dict.fromkeys((*self.nodes, *ids)))
        self._saw_all = False

    def see_worker_output(self, output: Mapping[str, object]) -> None:
        deselected, paths, groups = output["deselected"], output["paths"], output["groups"]
        assert isinstance(deselected, list)
        assert isinstance(paths, dict)
        assert isinstance(groups, list)
        self.deselected = list(dict.fromkeys((*self.deselected, *deselected)))
        self.see_paths(paths)
        # With --dist=loadgroup xdist appends the group to the id; without workers the same test has none.
        self._group_suffixes = tuple({*self._group_suffixes, *(f"@{group}" for group in groups)})

    def see_paths(self, paths: Mapping[str, str]) -> None:
        for part, path in paths.items():
            if part not in self._paths:
                self._paths[part] = relative_id(Path(path), self._root)

    def with_test_ids(self, nodes: dict[str, T]) -> dict[str, T]:
        """Return the same under our ids. Mostly they are pytest's own, and nothing has to be done."""
        if self._saw_all and not self._group_suffixes and all(part == path for part, path in self._paths.items()):
            return nodes
        return {self.test_id(node): value for node, value in nodes.items()}

    def test_id(self, node: str) -> str:
        """Return our id of a pytest node: the path relative to the root, then the name."""
        part, _, name = node.partition("::")
        path = self._paths.get(part)
        if path is None:
            path = self._paths[part] = relative_id(self._config.rootpath / part, self._root)
        for suffix in self._group_suffixes:
            if name.endswith(suffix):
                name = name[: -len(suffix)]
                break
        return join_id(path, name)

    def uncollectable(self) -> dict[str, object]:
        """Return the tests of modules that could not be collected, counted from their source, and how each failed.

        A module that can't even be parsed counts as one test, named by its path.
        """
        found: dict[str, object] = {}
        for node, failure in self.errors.items():
            part, _, inner = node.partition("::")
            path, file = self.test_id(part), self._config.rootpath / part
            names = names_in_source(file, self._config) or []
            # A class may fail to be collected while the rest of its module runs.
            names = [name for name in names if not inner or name.startswith(f"{inner}::")]
            for name in names or [inner]:
                found[join_id(path, name)] = _failure_of(failure, file, name)
        return found


def _failure_of(failure: object, file: Path, name: str) -> object:
    """Return a module's failure as that of one test in it: a stub waits for nothing that is to come."""
    if not isinstance(failure, dict) or failure["reason"] != Reason.STRUCTURAL or not name:
        return failure
    from phase_gate.recording.reasons import is_stub

    return {**failure, "reason": str(Reason.STUB)} if is_stub(file, name) else failure


def names_in_source(file: Path, config: pytest.Config | None = None) -> list[str] | None:
    """Return the bare names of the tests that a file defines, by its source; None if it is not there.

    :param config: whose patterns say what a test is; without it, whatever may be one under any patterns.
    """
    try:
        source = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return []
    from phase_gate.source.tests import find_tests

    try:
        functions, classes = (
            (("*",), ("*",)) if config is None else map(config.getini, ("python_functions", "python_classes"))
        )
        tests = find_tests(source, functions=functions, classes=classes)
    except SyntaxError:
        return []
    return [test.name for test in tests]


def doctests_in_source(file: Path, path: str) -> Iterable[str]:
    """Return the names that the examples in a file may have.

    :param path: the file as ids name it.
    """
    try:
        source = file.read_bytes()
        if not path.endswith(".py") or b">>>" not in source:
            return ()
        from phase_gate.source.doctests import find_doctests
        from phase_gate.source.tests import parse_source

        return find_doctests(parse_source(source), path)
    except (OSError, SyntaxError):
        return ()
