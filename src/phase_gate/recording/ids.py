"""Our own ids of tests: from our root, and not from pytest's rootdir; and those of modules that can't be imported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from phase_gate.gate.failures import Reason
from phase_gate.gate.inventory import join_id
from phase_gate.runs.inventory import names_in_source
from phase_gate.storage.root import relative_id

T = TypeVar("T")


class TestIds:
    """What we call the tests that pytest names by node ids."""

    __test__ = False

    def __init__(self, config: pytest.Config, root: Path, paths: Mapping[str, str], groups: tuple[str, ...]) -> None:
        self._config, self._root, self._paths = config, root, dict(paths)
        # Without workers the same test has no group behind its id.
        self._suffixes = tuple(f"@{group}" for group in groups)

    def test_id(self, node: str) -> str:
        """Return our id of a pytest node: the path relative to the root, then the name."""
        part, _, name = node.partition("::")
        path = self._paths.get(part)
        if path is None:
            path = self._paths[part] = relative_id(self._config.rootpath / part, self._root)
        for suffix in self._suffixes:
            if name.endswith(suffix):
                name = name[: -len(suffix)]
                break
        return join_id(path, name)

    def rename(self, nodes: dict[str, T], *, all_are_known: bool) -> dict[str, T]:
        """Return the same under our ids. Mostly they are pytest's own, and nothing has to be done.

        :param all_are_known: this process has collected them, so that it knows where all of them are.
        """
        if all_are_known and not self._suffixes and all(part == path for part, path in self._paths.items()):
            return nodes
        return {self.test_id(node): value for node, value in nodes.items()}

    def uncollectable(self, errors: Mapping[str, object]) -> dict[str, object]:
        """Return the tests of modules that could not be collected, counted from their source, and how each failed.

        A module that can't even be parsed counts as one test, named by its path.
        """
        found: dict[str, object] = {}
        for node, failure in errors.items():
            part, _, inner = node.partition("::")
            path, file = self.test_id(part), self._config.rootpath / part
            functions, classes = map(self._config.getini, ("python_functions", "python_classes"))
            names = names_in_source(file, functions, classes) or []
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
