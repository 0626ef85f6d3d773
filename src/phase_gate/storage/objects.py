"""Stored objects: inventories and outcomes of runs, named by the digest of their content.

They are too large for lines of the ledger, and mostly the same from run to run. The ledger contains their digests, and
an object that exists is not written again.
"""

from __future__ import annotations

import re
import zlib
from json import dumps, loads
from pathlib import Path

from phase_gate.bound import os, sha256, time
from phase_gate.codec import from_json, spell_out
from phase_gate.errors import TamperedError
from phase_gate.gate.inventory import Inventory, frozen_from_json
from phase_gate.storage.files import (
    FileSystem,
    exists,
    make_folder,
    read_bytes,
    remove_file,
    set_aside,
    sync_folders,
    write_atomically,
)
from phase_gate.storage.ledger import REPAIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from phase_gate.gate.inventory import Frozen

#: Speed over size: level 1 already compresses an inventory of 100,000 ids to a hundredth.
_LEVEL = 1
#: Three times an inventory of a million ids. A small file that unpacks to more is an attack on the memory.
MAX_SIZE = 64 * 1024 * 1024


class ObjectStore:
    def __init__(self, folder: Path, files: FileSystem, *, kept_for: float = 0) -> None:
        """Use the objects in a folder.

        :param kept_for: seconds after which an unreferenced object is removed; 0: never.
        """
        self._folder, self._files, self._kept_for = folder, files, kept_for
        #: Each document is read once per process, and never changed.
        self._loaded: dict[str, Any] = {}
        self._inventories: dict[str, Inventory] = {}
        self._is_synced = False
        #: Names passed to `keep`: a shared store needs these objects before a line refers to them.
        self.kept: set[str] = set()

    def keep(self, document: Any) -> str:
        """Store a JSON document and return its digest."""
        data = dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")
        name = sha256(data).hexdigest()
        path = self._path(name)
        if not exists(path, self._files) or self._is_old(name, share=0.5):
            # An old one is written again, so that no other process removes it as expired.
            make_folder(self._files, self._folder)
            write_atomically(self._files, path, zlib.compress(data, _LEVEL))
        elif not self._is_synced:
            # Its writer may have died before syncing the folder. Once per process is enough.
            sync_folders(self._files, [self._folder])
        self._is_synced = True
        self.kept.add(name)
        return name

    def take_over(self, name: str, packed: bytes) -> None:
        """Write an object that another machine packed. Raises TamperedError if it does not match its name."""
        if self.has(name):
            return
        unpack(name, packed)
        make_folder(self._files, self._folder)
        write_atomically(self._files, self._path(name), packed)

    def packed(self, name: str) -> bytes:
        """Return the compressed bytes of an object. Raises TamperedError if it is missing."""
        packed = read_bytes(self._path(name), self._files)
        if packed is None:
            raise TamperedError(f"objects/{name[:12]} is gone", remedy=REPAIR)
        return packed

    def remove_old(self, named: Iterable[str]) -> None:
        """Remove the expired objects that are not reachable from these names.

        Raises StateError, and removes nothing, if a reachable object can't be read.
        """
        if not self._kept_for or not exists(self._folder, self._files):
            return
        there = {name.removesuffix(".z") for name in self._files.list_folder(self._folder) if name.endswith(".z")}
        wanted = there.intersection(named)
        new = wanted
        while new:
            new = {each for name in new for each in find_names(unpack(name, self.packed(name))) if each in there}
            new -= wanted
            wanted |= new
        for name in sorted(there - wanted):
            if self._is_old(name):
                remove_file(self._path(name), self._files)

    def _is_old(self, name: str, *, share: float = 1.0) -> bool:
        if not self._kept_for:
            return False
        try:
            return time.time() - os.stat(self._path(name)).st_mtime > self._kept_for * share
        except OSError:
            return False  # it was never stored

    def set_damaged_aside(self) -> None:
        """Rename damaged objects: otherwise the same content could never be stored again."""
        for path in sorted(self._folder.glob("*.z")):
            try:
                self._read(path.stem)
            except TamperedError:
                set_aside(self._files, path, path.with_suffix(".damaged"))

    def load(self, name: str) -> Any:
        """Return the document with this digest. Raises TamperedError if it is missing or damaged."""
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def load_inventory(self, name: str) -> Inventory:
        """Return the inventory with this digest. Later calls return the same object."""
        if name not in self._inventories:
            # The document is as large, and not needed again.
            self._inventories[name] = from_json(Inventory, self._loaded.pop(name, None) or self._read(name))
        return self._inventories[name]

    def load_frozen(self, name: str | None) -> Frozen | None:
        """Return the frozen tests with this digest; None without one."""
        if name is None:
            return None
        document = self.load(name)
        return frozen_from_json(document, self.load_inventory(document["inventory"]))

    def store_inventory(self, inventory: Inventory) -> str:
        """Store an inventory and return its digest. An inventory equal to a loaded one is not encoded again."""
        for name, known in self._inventories.items():
            # Mostly they share their parts, so that comparing only compares identities.
            if known == inventory:
                return self.keep(spell_out(inventory)) if self._is_old(name, share=0.5) else name
        name = self.keep(spell_out(inventory))
        self._inventories[name] = inventory
        return name

    def _read(self, name: str) -> Any:
        try:
            return loads(unpack(name, self.packed(name)))
        except (ValueError, RecursionError) as error:
            raise TamperedError(f"objects/{name[:12]} is damaged", remedy=REPAIR) from error

    def has(self, name: str) -> bool:
        return exists(self._path(name), self._files)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.z"


def unpack(name: str, packed: bytes) -> bytes:
    """Return the content of an object. Raises TamperedError if it does not match its name."""
    try:
        data = zlib.decompressobj().decompress(packed, MAX_SIZE)
        if sha256(data).hexdigest() != name:
            raise ValueError("wrong digest")
        return data
    except (zlib.error, ValueError) as error:
        raise TamperedError(f"objects/{name[:12]} is damaged", remedy=REPAIR) from error


def find_names(data: bytes) -> list[str]:
    """Return everything in a text that may be the name of an object."""
    return [name.decode() for name in re.findall(rb"[0-9a-f]{64}", data)]
