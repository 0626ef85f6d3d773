"""Read and write the files that `init --agent` and `agent uninstall` change, and the record of what was inserted."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.agents.installing import Edit, record
from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.project import Project
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.places import make_state_folder
from phase_gate.storage.root import refuse_links

#: In the state folder: it is about this machine, and not for commits.
RECORD = "agents.json"


class AgentFiles:
    """The files of one project."""

    def __init__(self, project: Project) -> None:
        refuse_links(project.own_folders)
        self._root, self._folder = project.root, project.state_folder
        self.recorded: dict[str, dict[str, Any]] = self._read_record()
        #: Folders that were made for files that are gone now.
        self._emptied: list[str] = []

    def read(self, path: str) -> str | None:
        """Return the text of a file, to the byte; None if there is none."""
        try:
            return self._place(path).read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{path} can't be read: {error.strerror}", remedy=f"look at {path}") from error

    def write(self, edit: Edit) -> None:
        """Make the file what the edit says, and remember what was inserted."""
        place = self._place(edit.path)
        if edit.after is None:
            place.unlink(missing_ok=True)
            self._emptied += self.recorded.pop(edit.path, {}).get("folders", ())
            return
        made = [folder for folder in _folders_above(edit.path) if not (self._root / folder).exists()]
        mode = place.stat().st_mode & 0o777 if place.exists() else None
        make_folder(REAL, place.parent)
        write_atomically(REAL, place, edit.after.encode("utf-8", "surrogateescape"))
        if mode is not None:
            os.chmod(place, mode)
        if edit.inserted:
            self.recorded[edit.path] = {**record(edit), "folders": made}
        else:
            self.recorded.pop(edit.path, None)

    def save(self) -> None:
        """Write the record, or take it away with the last file."""
        for folder in sorted(self._emptied, key=len, reverse=True):
            with contextlib.suppress(OSError):
                os.rmdir(self._root / folder)  # only if nothing else is in it
        place = self._folder / RECORD
        if not self.recorded:
            place.unlink(missing_ok=True)
            if self._folder.is_dir() and os.listdir(self._folder) == [".gitignore"]:
                (self._folder / ".gitignore").unlink()
                self._folder.rmdir()
            return
        make_state_folder(self._folder)
        write_atomically(REAL, place, json.dumps({"schema": 1, "files": self.recorded}, indent=1).encode())

    def _read_record(self) -> dict[str, dict[str, Any]]:
        try:
            found = json.loads((self._folder / RECORD).read_bytes())
            rows: Mapping[str, Any] = found["files"]
            return {
                path: {**row, "after": str(row["after"]), "inserted": [(int(a), int(b)) for a, b in row["inserted"]]}
                for path, row in rows.items()
                if row["before"] is None or isinstance(row["before"], str)
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # what was inserted is then found by its marks

    def _place(self, path: str) -> Path:
        """Return where a file really is. One file is a link to another at times, but never out of the project."""
        place = Path(os.path.realpath(self._root / path))
        if not place.is_relative_to(os.path.realpath(self._root)):
            raise NotAllowedError(
                f"{path} leads out of the project", remedy=f"write it by hand, or replace the link {path}"
            )
        return place


def _folders_above(path: str) -> Iterator[str]:
    """Yield the folders of a path, the innermost first."""
    while path := path.rpartition("/")[0]:
        yield path


def show_diff(edit: Edit) -> str:
    """Return the edit as people read changes."""
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    names = (edit.path if edit.before is not None else os.devnull, edit.path if edit.after is not None else os.devnull)
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
