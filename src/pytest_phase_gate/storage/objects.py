"""Stored objects: inventories and outcomes of runs, named by the digest of their content.

They are too big for the ledger's lines and mostly the same from run to run: the ledger names them by digest, and one
that is there already is not written again.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

from pytest_phase_gate.errors import TamperedError
from pytest_phase_gate.storage.files import FileSystem, make_folder, read_bytes, write_atomically
from pytest_phase_gate.storage.ledger import REPAIR

#: Speed over size: level 1 already makes a hundredth of an inventory of 100,000 ids.
_LEVEL = 1
#: Three times an inventory of a million ids; a few kilobytes that unpack to more are made to fill the memory.
MAX_SIZE = 64 * 1024 * 1024
#: A digest, and nothing that leads to another file.
_NAME = re.compile(r"[0-9a-f]{64}")


class ObjectStore:
    def __init__(self, folder: Path, files: FileSystem) -> None:
        self._folder, self._files = folder, files
        #: Documents are read once in a process and never changed.
        self._loaded: dict[str, Any] = {}

    def keep(self, document: Any) -> str:
        """Store a JSON document and return its digest."""
        data = json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        if not path.exists():
            make_folder(self._files, self._folder)
            write_atomically(self._files, path, zlib.compress(data, _LEVEL))
        return name

    def load(self, name: str) -> Any:
        """Return the document of that digest. Raises TamperedError if it is gone or is another one."""
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def _read(self, name: str) -> Any:
        if not _NAME.fullmatch(name):
            raise TamperedError(f"{name[:12]!a} can't be an object's name", remedy=REPAIR)
        packed = read_bytes(self._path(name))
        if packed is None:
            raise TamperedError(f"objects/{name[:12]} is gone", remedy=REPAIR)
        try:
            data = zlib.decompressobj().decompress(packed, MAX_SIZE)
            if hashlib.sha256(data).hexdigest() != name:
                raise ValueError("it is another one")
            return json.loads(data)
        except (zlib.error, ValueError, RecursionError) as error:
            raise TamperedError(f"objects/{name[:12]} is damaged", remedy=REPAIR) from error

    def has(self, name: str) -> bool:
        return self._path(name).exists()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.z"
