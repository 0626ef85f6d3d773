"""What was measured of each file, so that only files with another content are measured again.

It may be lost, or lie damaged, at any time: then everything is measured anew. It holds the present files and no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phase_gate.errors import PhaseGateError
from phase_gate.evidence.quality.score import NUMBERS, FileNumbers, FileScore, Function, Lint
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, write_atomically
from phase_gate.values import fields

#: Of the cache's own form.
_SCHEMA = 1


class QualityCache:
    """:param key: what else the numbers depend on, such as the versions of tools."""

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._rows: dict[str, Any] = {}

    def load(self, contents: Mapping[str, str]) -> dict[str, FileNumbers]:
        """Return what is known of files with these contents."""
        try:
            document = json.loads(read_bytes(self._path) or b"")
            if document["schema"] == _SCHEMA and document["key"] == self._key:
                self._rows = dict(document["files"])
            return {
                path: numbers_from_json(self._rows[path][1])
                for path, content in contents.items()
                if path in self._rows and self._rows[path][0] == content
            }
        except (PhaseGateError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            self._rows = {}
            return {}

    def save(self, contents: Mapping[str, str], files: Mapping[str, FileNumbers]) -> None:
        """Keep these files, and forget all others. Only speed is lost if it fails."""
        rows = {path: self._row(path, contents[path], file) for path, file in files.items()}
        if rows == self._rows or not exists(self._path.parent.parent):
            return
        document = {"schema": _SCHEMA, "key": self._key, "files": rows}
        try:
            make_folder(REAL, self._path.parent)
            data = json.dumps(document, separators=(",", ":")).encode("ascii")
            write_atomically(REAL, self._path, data, durable=False)
        except PhaseGateError:
            return

    def _row(self, path: str, content: str, file: FileNumbers) -> Any:
        row = self._rows.get(path)
        return row if row is not None and row[0] == content else [content, numbers_to_json(file)]


# --- numbers about code as JSON, and back: for what is remembered, and for the cache


def numbers_to_json(file: FileNumbers) -> list[Any]:
    return [
        [[getattr(each, name) for name in fields(Function)] for each in file.functions],
        file.outside,
        [[each.line, each.code, each.message] for each in file.lint],
        [[each.line, each.code, each.message] for each in file.hidden],
    ]


def numbers_from_json(row: list[Any]) -> FileNumbers:
    """Return what `numbers_to_json` wrote. Raises TypeError or ValueError on anything else."""
    functions, outside, lint, hidden = row
    names = fields(Function)
    return FileNumbers(
        functions=tuple(
            Function(**{**dict(zip(names, each, strict=True)), "marks": tuple(each[6]), "lines": tuple(each[7])})
            for each in functions
        ),
        outside=int(outside),
        lint=tuple(Lint(*each) for each in lint),
        hidden=tuple(Lint(*each) for each in hidden),
    )


def score_to_json(score: FileScore) -> list[int]:
    return [getattr(score, name) for name in NUMBERS]


def score_from_json(row: list[int]) -> FileScore:
    return FileScore(**dict(zip(NUMBERS, row, strict=True)))
