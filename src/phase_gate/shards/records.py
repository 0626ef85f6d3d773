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

from phase_gate.codec import from_json, parse_foreign, spell_out
from phase_gate.errors import StateError
from phase_gate.gate.record import Document
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically
from phase_gate.storage.root import refuse_links
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import Workflow


class ShardError(StateError):
    slug = "shards-refused"


#: In the project's root, and not hidden: what carries files from job to job tends to leave hidden ones behind.
FOLDER = "phase-gate-shards"
SUFFIX = ".shard.gz"
#: pytest's status for a session without tests: a shard may be empty where there are few.
NOTHING_COLLECTED = 5

#: What a record begins with; the number is that of its format.
_KIND = b"phase-gate shard 1"


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
    workflow: Workflow
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


def write_shard(folder: Path, shard: Shard, *, key: bytes | None) -> Path:
    """Write the record in its place, whole or not at all. Raises StorageError where that can't be done."""
    body = json.dumps(spell_out(replace(shard, file="")), separators=(",", ":")).encode()
    refuse_links([folder])
    make_folder(REAL, folder)
    ignore = folder / ".gitignore"
    if not exists(ignore):
        write_atomically(REAL, ignore, b"# Records of pytest-phase-gate: not for commits.\n*\n", durable=False)
    path = folder / f"{shard.split.index}-of-{shard.split.total}{SUFFIX}"
    content = b"\n".join((_KIND, _digest(body, key), body))
    write_atomically(REAL, path, gzip.compress(content, compresslevel=1, mtime=0))
    return path


def read_shards(folder: Path, *, key: bytes | None) -> list[Shard]:
    """Return the records below a folder. Raises ShardError if there is none, or one is not what a shard wrote."""
    paths = sorted(folder.rglob(f"*{SUFFIX}"))
    if not paths:
        raise ShardError(
            f"no record of a shard is in {folder.name or folder}",
            remedy=f"run pytest with --phase-shard=I/N first, and bring its files (*{SUFFIX}) here",
        )
    return [_read(path, path.relative_to(folder).as_posix(), key) for path in paths]


def _read(path: Path, name: str, key: bytes | None) -> Shard:
    remedy = "run that shard again, with the same version and key as here, and bring its record here whole"
    try:
        kind, digest, body = gzip.decompress(read_bytes(path) or b"").split(b"\n", 2)
    except (OSError, EOFError, zlib.error, ValueError):
        kind = digest = body = b""
    if kind != _KIND:
        raise ShardError(f"{name} is damaged, or not the record of a shard", remedy=remedy)
    if not hmac.compare_digest(digest, _digest(body, key)):
        raise ShardError(f"{name} is not what the shard wrote, or PHASE_GATE_KEY was another there", remedy=remedy)
    try:
        return replace(from_json(Shard, parse_foreign(body)), file=name)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ShardError(f"{name} is not the record of a shard", remedy=remedy) from None


def _digest(body: bytes, key: bytes | None) -> bytes:
    made = hashlib.sha256(body) if key is None else hmac.new(key, body, hashlib.sha256)
    return made.hexdigest().encode()
