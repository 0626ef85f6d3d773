"""The files that shards write: whole, or refused by their name."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.gate.measured import Finding
from phase_gate.gate.outcomes import Failure
from phase_gate.shards.records import Shard, ShardError, Split, read_shards, write_shard
from phase_gate.values import replace
from tests.shards.test_merging import IDS, shard

KEY = b"secret"


def written(folder: Path, *shards: Shard, key: bytes | None = None) -> list[Path]:
    return [write_shard(folder, each, key=key) for each in shards]


def test_what_was_written_is_read_at_any_depth(tmp_path: Path) -> None:
    first, second = shard(1, *IDS[:2]), shard(2, *IDS[2:])
    first = replace(
        first,
        criteria=("AC-1",),
        facts=replace(
            first.shown,
            failures={IDS[0]: Failure(reason="structural", detail="no", missing="calc", line=3)},
            marked={IDS[0]: ("AC-1",)},
            doubts=(Finding(slug="asserts-off", tier="hard", detail="x"),),
        ),
    )
    written(tmp_path / "shard-1", first)
    written(tmp_path / "shard-2", second)
    found = read_shards(tmp_path, key=None)
    assert found == [
        replace(first, file="shard-1/1-of-2.shard.gz"),
        replace(second, file="shard-2/2-of-2.shard.gz"),
    ]


def test_the_end_takes_the_beginnings_place(tmp_path: Path) -> None:
    written(tmp_path, replace(shard(1, *IDS), facts=None), shard(1, *IDS))
    assert [each.facts is None for each in read_shards(tmp_path, key=None)] == [False]


@pytest.mark.parametrize("folder", ["empty", "not-there"])
def test_no_record_at_all(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShardError, match=f"no record of a shard is in {folder}"):
        read_shards(tmp_path / folder, key=None)


def _unpacked(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: gzip.compress(change(gzip.decompress(data)))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(lambda data: data[: len(data) // 2], "damaged", id="cut-short"),
        pytest.param(lambda data: b"", "damaged", id="empty"),
        pytest.param(lambda data: b"PK\3\4 something else", "damaged", id="another-file"),
        pytest.param(_unpacked(lambda data: b"[]\n"), "damaged", id="another-document"),
        pytest.param(_unpacked(lambda data: b"[" * 100_000), "damaged", id="deeply-nested"),
        pytest.param(
            _unpacked(lambda data: data.replace(b'"passed"', b'"failed"')), "not what the shard wrote", id="edited"
        ),
        pytest.param(_unpacked(lambda data: data.replace(b"shard 1", b"shard 2")), "damaged", id="another-format"),
    ],
)
def test_a_file_that_is_not_what_a_shard_wrote_is_named(
    tmp_path: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    _, bad = written(tmp_path, shard(1, *IDS[:2]), shard(2, *IDS[2:]))
    bad.write_bytes(damage(bad.read_bytes()))
    with pytest.raises(ShardError, match=says) as caught:
        read_shards(tmp_path, key=None)
    assert caught.value.problem.startswith("2-of-2.shard.gz")


def test_a_document_with_a_good_digest_that_is_no_shard(tmp_path: Path) -> None:
    (path,) = written(tmp_path, replace(shard(1, *IDS), split=Split("one", 2)))  # type: ignore[arg-type]
    with pytest.raises(ShardError, match=f"{path.name} is not the record of a shard"):
        read_shards(tmp_path, key=None)


def test_with_a_key_nobody_else_can_write_one(tmp_path: Path) -> None:
    written(tmp_path, shard(1, *IDS), key=KEY)
    assert len(read_shards(tmp_path, key=KEY)) == 1
    for other in (b"other", None):
        with pytest.raises(ShardError, match="PHASE_GATE_KEY was another there"):
            read_shards(tmp_path, key=other)
    written(tmp_path, shard(1, *IDS))
    with pytest.raises(ShardError, match="PHASE_GATE_KEY was another there"):
        read_shards(tmp_path, key=KEY)
