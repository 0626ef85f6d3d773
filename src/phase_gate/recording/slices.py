"""What pytest collected before any hook chose among it, and who left out what: in a shard, on its workers, too."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from types import FrameType
from typing import Any

import pytest

#: Packages whose frames lie between a call of a hook and us.
_BETWEEN = ("pluggy", "phase_gate")


class SliceWitness:
    """Looks at the collection of one shard. By pytest's own node ids."""

    def __init__(self) -> None:
        self.collected: dict[str, None] = {}
        #: Deselected tests, by the function that did it.
        self.left_out: dict[str, dict[str, None]] = {}
        #: Where the files of collected tests are.
        self.paths: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        for item in items:
            self.collected[item.nodeid] = None
            self.paths.setdefault(item.nodeid.partition("::")[0], str(item.path))
        return (yield)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        who = _caller(sys._getframe(1))
        self.left_out.setdefault(who, {}).update((item.nodeid, None) for item in items)

    def to_json(self) -> dict[str, Any]:
        return {
            "collected": list(self.collected),
            "left_out": {who: list(nodes) for who, nodes in self.left_out.items()},
            "paths": self.paths,
        }

    def see_worker(self, document: Mapping[str, Any]) -> None:
        """Take in what a worker saw: all of them collect the same tests."""
        self.collected |= dict.fromkeys(document["collected"])
        for who, nodes in document["left_out"].items():
            self.left_out.setdefault(who, {}).update(dict.fromkeys(nodes))
        self.paths |= document["paths"]


def _caller(frame: FrameType | None) -> str:
    """Return the function that called the hook."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _BETWEEN:
            return f"{module}:{frame.f_code.co_qualname}"
        frame = frame.f_back
    return "?"
