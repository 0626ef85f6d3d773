"""Which shard a session is: as typed, as the plugin that splits says, or as the CI's variables say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

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
#: Bazel wants a sign that its shards are honoured; `ci combine` proves it later.
_BAZEL_SIGN = "TEST_SHARD_STATUS_FILE"


def read_split(text: str, options: Mapping[str, object], environment: Mapping[str, str]) -> Split:
    """Return which shard this is. Raises UsageError where that can't be told, or two say different things."""
    by_plugin = _find(_PLUGINS, {name: str(value) for name, value in options.items() if value is not None})
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
