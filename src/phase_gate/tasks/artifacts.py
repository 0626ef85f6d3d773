"""Read the files of a pipeline, artifacts and the constitution: digests of their contents, and their problems."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.evidence.documents.completeness import count_words, is_hole
from phase_gate.evidence.documents.library import Page, Piece
from phase_gate.tasks.handins import read_audit, read_root_cause, read_snapshot
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.model import AUDIT, ROOT_CAUSE, SNAPSHOT, Artifact

#: Bytes per file, and files per artifact: reviewers would not read more.
_LARGEST = 1024 * 1024
_MOST = 200

_READERS: Mapping[str, Callable[[object], Any]] = {
    AUDIT: read_audit,
    ROOT_CAUSE: read_root_cause,
    SNAPSHOT: read_snapshot,
}


def read_artifact(root: Path, artifact: Artifact) -> SeenArtifact:
    """Return the artifact as it is now."""
    files = find_files(root, artifact)
    if not files:
        return SeenArtifact()
    problems: list[str] = []
    contents: dict[str, bytes] = {}
    for name in files:
        try:
            contents[name] = _read(root / name)
        except (OSError, ValueError) as error:
            problems.append(f"{name} can't be read: {getattr(error, 'strerror', None) or error}")
    document = None
    for name, content in contents.items():
        try:
            document = _check(content, artifact)
        except ValueError as error:
            problems.append(f"{name}: {error}" if len(files) > 1 else str(error))
    return SeenArtifact(files=files, digest=_digest(contents), problems=tuple(problems), document=document)


def find_files(root: Path, artifact: Artifact) -> tuple[str, ...]:
    """Return the files below the root that match the artifact's glob, sorted."""
    found = sorted(_below(root, artifact.path))
    return tuple(found[:_MOST])


def _below(root: Path, glob: str) -> Iterator[str]:
    for path in root.glob(glob):
        if path.is_file() and ".phase-gate" not in path.parts:
            yield path.relative_to(root).as_posix()


def digest_file(path: Path) -> str:
    """Return a digest of one file, byte by byte; empty if it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def read_json(path: Path) -> Any:
    """Return the content of a JSON file. Raises OSError or ValueError."""
    return _parse(_read(path))


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError("it is larger than 1 MiB")
    return content


def _digest(contents: Mapping[str, bytes]) -> str:
    """Return a digest of names and texts. It ignores how text is wrapped and indented."""
    if not contents:
        return ""
    parts = hashlib.sha256()
    for name, content in sorted(contents.items()):
        parts.update(name.encode("utf-8", "surrogateescape") + b"\0" + b" ".join(content.split()) + b"\0")
    return parts.hexdigest()


def _check(content: bytes, artifact: Artifact) -> Any:
    """Return the document of a JSON artifact. Raises ValueError if the content does not meet the requirements."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    if artifact.line and not _has_line(text, artifact.line):
        raise ValueError(f"it has no {words_of_line(artifact)}")
    if artifact.schema:
        document = _parse(content)
        _refuse_holes(document)
        return _READERS[artifact.schema](document)
    pieces = [piece for piece in re.split(r"\n\s*\n|\n(?=\s*[-*#] )", text) if piece.strip()]
    for piece in pieces:
        _refuse_hole(piece.strip())
    words = count_words(Page(pieces=tuple(Piece(line=1, text=piece) for piece in pieces)))
    if words < artifact.min_words:
        raise ValueError(f"{count(words, 'different word')} of text, at least {artifact.min_words} are wanted")
    return None


def _has_line(text: str, wanted: str) -> bool:
    return any(_plain_line(line) == _plain_line(wanted) for line in text.splitlines())


def _plain_line(line: str) -> str:
    """Return a line in lower case, without emphasis marks and the final period."""
    return " ".join(line.replace("*", "").replace("_", " ").split()).rstrip(".").casefold()


def _refuse_hole(text: str) -> None:
    if is_hole(text):
        raise ValueError(f"a template's text is still in it: {text.splitlines()[0][:60]!r}")


def _refuse_holes(document: Any) -> None:
    """Refuse a JSON document that still has placeholders of a skeleton."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, str):
            _refuse_hole(value.strip())
        elif isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key occurs twice")
    return document


def words_of_line(artifact: Artifact) -> str:
    return f'line "{artifact.line}"'


# --- the state of a pipeline's files, and why an artifact does not count. Pure values; `evidence` reads the files


class SeenArtifact(Value):
    """An artifact as it is now."""

    #: The files that match its glob, relative to the root.
    files: tuple[str, ...] = ()
    #: Of its content; empty if there is no file.
    digest: str = ""
    #: Why its content is not sufficient.
    problems: tuple[str, ...] = ()
    #: The parsed content of an artifact with a schema.
    document: Any = None


def fault_of(seen: SeenArtifact, described: Artifact, *, old: Iterable[str], tree: Callable[[], str]) -> str:
    """Return why an artifact does not count; empty if it does."""
    if not seen.files:
        return "is missing" if described.schema != SNAPSHOT else "is missing: phase-gate advance writes it"
    if seen.problems:
        return "; ".join(seen.problems)
    if described.schema == SNAPSHOT and seen.document.tree != tree():
        return "shows another tree than the current one: phase-gate advance writes it again"
    if seen.digest in old:
        phrase = "this phase" if described.made == "phase" else "this attempt"
        return f"is unchanged since before {phrase} began: write it again"
    return ""


def fingerprint(*parts: str) -> str:
    """Return a digest of the parts, by which equal requests are found."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
