"""One run in several jobs: each records its part, `phase-gate ci combine` makes one run of them.

May read and write shard files. Begin with `record`, then `merging`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

#: Of `--phase-shard`, for a piece that a process of ours has started.
PIECE = "piece"


def start_shard(config: pytest.Config) -> None:
    """Begin to record a shard."""
    if config.option.phase_shard == PIECE:
        from phase_gate.shards.piece import PieceRecorder

        PieceRecorder.configure(config)
        return
    from phase_gate.shards.recorder import ShardRecorder

    ShardRecorder.configure(config)
