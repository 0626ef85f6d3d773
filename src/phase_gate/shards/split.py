"""Which shard a session is: as typed, as the plugin that splits says, or as the CI's variables say."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from phase_gate.errors import UsageError
from phase_gate.shards.record import Split
from phase_gate.values import Value

AUTO = "auto"


class _Source(Value, kw_only=False):
    """Two names that say which shard, and of how many; and the number that counting begins with."""

    whose: str
    index: str
    total: str
    first: int


#: Names of options of the plugins that split: what they were told is what they will do.
_PLUGINS = (
    _Source("pytest-split", "group", "splits", 1),
    _Source("pytest-shard", "shard_id", "num_shards", 0),
)
#: Variables of CI systems. GitHub has none: a matrix passes its own number.
_VARIABLES = (
    _Source("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    _Source("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
    _Source("CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    _Source("Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
)
#: Bazel wants a sign that its shards are honoured; `combine` proves it later.
_BAZEL_SIGN = "TEST_SHARD_STATUS_FILE"


def read_split(text: str, config: pytest.Config, environment: Mapping[str, str]) -> Split:
    """Return which shard this is. Raises UsageError where that can't be told, or two say different things."""
    by_plugin = _find(_PLUGINS, {name: str(value) for name, value in vars(config.option).items() if value is not None})
    if text != AUTO:
        split = _read_typed(text)
        if by_plugin is not None and by_plugin[1] not in (split, Split(1, 1)):
            whose, theirs = by_plugin
            raise UsageError(
                f"--phase-shard={text}, and {whose} was told {theirs}",
                remedy=f"say the same twice, or --phase-shard={AUTO}",
            )
        return split
    found = by_plugin if by_plugin is not None and by_plugin[1].total > 1 else _find(_VARIABLES, environment)
    if found is None:
        # Silence here would let every job run the whole suite and call it a shard.
        names = ", ".join(source.index for source in _VARIABLES)
        raise UsageError(
            f"--phase-shard={AUTO}: neither an option of a plugin that splits nor a variable says which shard this is"
            f" (looked for {names})",
            remedy="name it: --phase-shard=2/5",
        )
    _tell_bazel(environment)
    return found[1]


def _read_typed(text: str) -> Split:
    index, _, total = text.partition("/")
    if not (index.isdecimal() and total.isdecimal() and 1 <= int(index) <= int(total)):
        raise UsageError(
            f"--phase-shard={text}: not I/N with I from 1 to N", remedy=f"write --phase-shard=2/5, or {AUTO}"
        )
    return Split(int(index), int(total))


def _find(sources: tuple[_Source, ...], values: Mapping[str, str]) -> tuple[str, Split] | None:
    for source in sources:
        index, total = values.get(source.index, ""), values.get(source.total, "")
        if index.isdecimal() and total.isdecimal() and int(total) > 0:
            split = Split(int(index) - source.first + 1, int(total))
            if not 1 <= split.index <= split.total:
                raise UsageError(
                    f"{source.whose} says {source.index} {index} of {total}: there is no such shard",
                    remedy="mend that, or name the shard: --phase-shard=2/5",
                )
            return source.whose, split
    return None


def _tell_bazel(environment: Mapping[str, str]) -> None:
    if environment.get(_BAZEL_SIGN):
        try:
            Path(environment[_BAZEL_SIGN]).touch()
        except OSError:
            os.write(2, b"phase-gate: the file that Bazel asked for could not be touched\n")


# --- what pytest collected before anybody chose among it, and who left out what. On workers, too


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
