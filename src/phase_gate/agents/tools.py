"""Which files a tool call writes, and with what: by the tool's name and its input.

One table for all agents: their tools are called alike, or nothing like any other's.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.agents.agent import Document, ToolCall
from phase_gate.agents.write_rules import Write
from phase_gate.storage.root import relative_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.agents.shell_writes import Kind

#: Names without `_` and in lower case.
_SHELLS = frozenset(
    {"bash", "shell", "powershell", "runshellcommand", "runinterminal", "runterminalcmd", "execcommand", "localshell"}
)
_EDITORS = frozenset(
    {
        *("edit", "write", "multiedit", "notebookedit", "applypatch", "editfile", "writefile", "replace", "create"),
        *("createfile", "strreplaceeditor", "strreplace", "searchreplace", "replacestringinfile"),
        *("multireplacestringinfile", "inserteditintofile", "editnotebookfile", "editnotebook", "editfiles"),
        *("deletefile", "delete", "tabwrite", "insert", "renamefile", "movefile"),
    }
)
_PATHS = (
    *("file_path", "filePath", "path", "notebook_path", "notebookPath", "absolute_path", "target_file", "targetFile"),
    *("old_path", "new_path", "destination"),
)
_LISTS = ("files", "edits", "replacements", "filePaths")
_WHOLE = ("content", "contents", "file_text", "fileText")
_PAIRS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString"))
#: Larger files are not read: their texts are nothing that a rule could compare in time.
_MAX_BYTES = 1_000_000


def find_file_writes(call: ToolCall, *, root: Path, start: Path) -> list[Write]:
    """Return what the call writes, as paths from the root.

    :param start: what relative paths start from where the agent does not tell.
    """
    name = call.tool.replace("_", "").replace("-", "").lower()
    folder = Path(call.folder) if call.folder and os.path.isdir(call.folder) else start
    if name in _SHELLS:
        return list(_by_shell(call.input, root=root, folder=folder))
    if name not in _EDITORS or call.input.get("command") == "view":
        return []
    return list(_by_editor(call.input, root=root, folder=folder))


def _by_shell(given: Document, *, root: Path, folder: Path) -> Iterator[Write]:
    from phase_gate.agents.shell_writes import find_writes

    command = given.get("command", given.get("cmd", ""))
    if isinstance(command, list):
        import shlex

        command = shlex.join(map(str, command))
    inside = given.get("workdir") or given.get("dir_path") or given.get("directory")
    if isinstance(inside, str):
        folder = folder / inside

    def kind_of(path: str) -> Kind:
        place = os.path.join(folder, os.path.expanduser(path))
        return "folder" if os.path.isdir(place) else "file" if os.path.exists(place) else ""

    for written in find_writes(str(command), kind_of):
        for path in _names(written.path, root, folder):
            yield Write(path=path, before=_read(root / path), is_put_back=written.is_put_back)


def _by_editor(given: Document, *, root: Path, folder: Path) -> Iterator[Write]:
    for text in (value for value in given.values() if isinstance(value, str) and "*** Begin Patch" in value):
        from phase_gate.agents.shell_writes import patched_paths

        for name in patched_paths(text):
            yield from (Write(path=path, before=_read(root / path)) for path in _names(name, root, folder))
    for name, parts in _edits(given):
        for path in _names(name, root, folder):
            before = _read(root / path)
            yield Write(path=path, before=before, after=_apply(before, parts))


def _edits(given: Document) -> Iterator[tuple[str, list[Document]]]:
    """Yield each file with what is done to it."""
    inner = [row for key in _LISTS for row in _rows(given.get(key))]
    named = [value for key in _PATHS if isinstance(value := given.get(key), str) and value]
    for name in named:
        yield name, [row for row in inner if not _path_of(row)] or [given]
    for row in inner:
        if path := _path_of(row):
            yield path, [row]


def _rows(value: object) -> Iterator[Document]:
    for row in value if isinstance(value, list) else ():
        if isinstance(row, Mapping):
            yield row
        elif isinstance(row, str):
            yield {"path": row}


def _path_of(row: Document) -> str:
    return next((value for key in _PATHS if isinstance(value := row.get(key), str)), "")


def _apply(before: str | None, parts: list[Document]) -> str | None:
    """Return what the file will hold; None where that can't be told."""
    text = before
    for part in parts:
        whole = next((value for key in _WHOLE if isinstance(value := part.get(key), str)), None)
        if whole is not None:
            text = whole
            continue
        pair = next(((part[old], part[new]) for old, new in _PAIRS if old in part and new in part), None)
        if pair is None or not all(isinstance(each, str) for each in pair):
            return None
        old, new = pair
        if not old:
            if text is not None:
                return None
            text = new  # how some tools make a new file
        elif text is None or old not in text:
            return None
        else:
            text = text.replace(old, new, -1 if part.get("replace_all") or part.get("replaceAll") else 1)
    return text


def _names(path: str, root: Path, folder: Path) -> Iterator[str]:
    """Yield the path from the root, and where a link leads it elsewhere, that place, too."""
    place = folder / os.path.expanduser(path)
    named = relative_id(place, root)
    yield _from_above(named, root)
    real = relative_id(Path(os.path.realpath(place)), Path(os.path.realpath(root)))
    if real != named:
        yield real


def _from_above(named: str, root: Path) -> str:
    """Return a path that goes out of the root and perhaps, by a glob, in again; the root itself for a folder above."""
    parts = named.split("/")
    ups = parts.count("..")
    if not ups or ups >= len(root.parts):
        return named
    folders, rest = root.parts[-ups:], parts[ups:]
    if not all(fnmatch.fnmatchcase(folder, part) for folder, part in zip(folders, rest, strict=False)):
        return named
    return "/".join(rest[ups:]) or "."


def _read(place: Path) -> str | None:
    try:
        if not place.is_file() or place.stat().st_size > _MAX_BYTES:
            return None
        return place.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError):
        return None
