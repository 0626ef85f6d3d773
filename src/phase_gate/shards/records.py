"""What one shard wrote down: as a value, as a document, and as a file.

A shard runs on a machine of its own and has no task's ledger to write into; what it leaves is carried to the job that
combines them: one file each, packed, with a digest in front, so that one cut short is noticed.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.codec import from_json, spell_out
from phase_gate.errors import ShardError
from phase_gate.gate.record import Document
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically
from phase_gate.storage.root import refuse_links
from phase_gate.values import Value, field, replace

#: In the project's root, and not hidden: what carries files from job to job tends to leave hidden ones behind.
FOLDER = "phase-gate-shards"
SUFFIX = ".shard.gz"

#: Of the documents that this version writes and reads.
SCHEMA = 1


class Split(Value, kw_only=False):
    """Which shard, of how many."""

    index: int
    total: int

    def __str__(self) -> str:
        return f"{self.index}/{self.total}"


class Shard(Value):
    """What one shard wrote down."""

    #: Random: a shard can be used for one run only.
    id: str
    split: Split
    task: str
    phase: str
    began: str
    commit: str
    tree: str
    python: str
    pytest: str
    workflow: Mapping[str, Any]
    #: The file that it was read from, for messages.
    file: str = ""
    #: What it did not live to write, if there are none.
    facts: Document | None = None
    criteria_given: str = ""
    criteria: tuple[str, ...] = ()
    changed_sources: tuple[str, ...] = ()
    #: Files that tests use and that the shard itself has written.
    written: tuple[str, ...] = ()
    #: Every test that pytest found, sorted, before any selection; and the digest of that.
    collected: tuple[str, ...] = ()
    collection: str = ""
    #: Which of them were deselected, by their places in that list, and by the function that did it.
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"shard {self.split}"

    @property
    def shown(self) -> Document:
        """What it showed, where it is known to have ended."""
        assert self.facts is not None, "one that never ended was refused"
        return self.facts

    @property
    def ran(self) -> frozenset[str]:
        """The tests that were its own. One that can't be imported belongs to every shard."""
        outcomes = self.shown.outcomes
        return frozenset(test_id for test_id in outcomes if outcomes[test_id] != "uncollectable")


def collection_digest(collected: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(collected).encode("utf-8", "surrogatepass")).hexdigest()


# --- as a file


def shard_file(folder: Path, split: Split) -> Path:
    return folder / f"{split.index}-of-{split.total}{SUFFIX}"


def write_shard(folder: Path, shard: Shard, *, key: bytes | None) -> Path:
    """Write the record in its place, whole or not at all. Raises StorageError where that can't be done."""
    body = json.dumps(spell_out(replace(shard, file="")), separators=(",", ":")).encode()
    head = json.dumps(
        {"kind": "phase-gate shard", "schema": SCHEMA, "keyed": key is not None, "digest": _digest(body, key)}
    )
    refuse_links([folder])
    make_folder(REAL, folder)
    ignore = folder / ".gitignore"
    if not exists(ignore):
        write_atomically(REAL, ignore, b"# Records of pytest-phase-gate: not for commits.\n*\n", durable=False)
    path = shard_file(folder, shard.split)
    write_atomically(REAL, path, gzip.compress(head.encode() + b"\n" + body, compresslevel=1, mtime=0))
    return path


def read_shards(folder: Path, *, key: bytes | None) -> list[Shard]:
    """Return the records below a folder. Raises ShardError if there is none, or one is not what a shard wrote."""
    paths = sorted(folder.rglob(f"*{SUFFIX}"))
    if not paths:
        raise ShardError(
            f"no record of a shard is in {folder.name or folder}",
            remedy=f"run pytest with --phase-shard=I/N first, and bring its files (*{SUFFIX}) here",
        )
    # The same list in all shards, as a rule: one of them is enough.
    collections: dict[str, tuple[str, ...]] = {}
    found = [_read(path, path.relative_to(folder).as_posix(), key) for path in paths]
    return [replace(each, collected=collections.setdefault(each.collection, each.collected)) for each in found]


def _read(path: Path, name: str, key: bytes | None) -> Shard:
    remedy = "run that shard again, and bring its record here whole"
    try:
        head, _, body = gzip.decompress(read_bytes(path) or b"").partition(b"\n")
        information = json.loads(head)
        schema, is_keyed, digest = information["schema"], information["keyed"], information["digest"]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError):
        raise ShardError(f"{name} is damaged, or not the record of a shard", remedy=remedy) from None
    if schema != SCHEMA:
        raise ShardError(
            f"{name} has schema {schema}, and this version reads {SCHEMA}",
            remedy="let the same version of pytest-phase-gate run the shards and combine them",
        )
    if bool(is_keyed) is not (key is not None):
        with_key, without = ("it", "this command") if is_keyed else ("this command", "it")
        raise ShardError(
            f"{name}: {with_key} has PHASE_GATE_KEY and {without} has not", remedy="set the same key in all jobs"
        )
    if not hmac.compare_digest(str(digest).encode(), _digest(body, key).encode()):
        raise ShardError(f"{name} is not what the shard wrote, or was made with another key", remedy=remedy)
    try:
        return replace(from_json(Shard, json.loads(body)), file=name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ShardError(f"{name} is not the record of a shard", remedy=remedy) from None


def _digest(body: bytes, key: bytes | None) -> str:
    return hashlib.sha256(body).hexdigest() if key is None else hmac.new(key, body, hashlib.sha256).hexdigest()
