"""Which files a tool call writes, and with what: by the tool's name and its input.

One table for all agents: their tools are called alike, or nothing like any other's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.agents.agent import Document, ToolCall
from phase_gate.agents.write_rules import Write
from phase_gate.storage.root import relative_id

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
#: What a patch in the form of `apply_patch` adds, changes, moves or removes.
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.M)
#: Characters of a shell line that are looked at.
_LONGEST_LINE = 20_000
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


#: What writes files in a shell line, with its words. A quoted text comes first: nothing in it is a command. What a
#: program does by itself, a variable or `cd` hides is not seen: the gate finds it at the next run.
_SHELL_WRITE = re.compile(
    r"""'[^']*' | "(?:\\.|[^"\\])*"
    | (?P<verb> >>?\|? | (?:^|(?<=[;&|(\n])|(?<=-c\ )|(?<=-lc\ ))\s*
        (?:tee|rm|mv|cp|sed\s+(?:-\w+\s+)*-\w*i\S*|git\s+(?:checkout|restore))(?=\s) )
      (?P<words> (?:'[^']*'|"[^"]*"|[^;|&<>()\n'"])* )""",
    re.X,
)


def find_shell_paths(line: str) -> Iterator[str]:
    """Yield the words of a shell line that stand behind what writes files."""
    import shlex  # most calls are of other tools

    for found in _SHELL_WRITE.finditer(line[:_LONGEST_LINE]):
        verb = (found["verb"] or "").strip()
        with contextlib.suppress(ValueError):  # a quote that is never closed
            paths = [word for word in shlex.split(found["words"] or "") if not word.startswith("-")]
            yield from paths[:1] if verb.startswith(">") else paths[-1:] if verb == "cp" else paths


def _by_shell(given: Document, *, root: Path, folder: Path) -> Iterator[Write]:
    command = given.get("command", given.get("cmd", ""))
    line = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    inside = given.get("workdir") or given.get("dir_path") or given.get("directory")
    if isinstance(inside, str):
        folder = folder / inside
    # Codex calls its tool in the shell at times.
    for path in (*find_shell_paths(line), *_PATCHED.findall(line)):
        yield from (Write(path=name) for name in _names(path.strip(), root, folder))


def _by_editor(given: Document, *, root: Path, folder: Path) -> Iterator[Write]:
    for text in (value for value in given.values() if isinstance(value, str) and "*** Begin Patch" in value):
        for name in _PATCHED.findall(text):
            yield from (Write(path=path) for path in _names(name.strip(), root, folder))
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
    yield named
    real = relative_id(Path(os.path.realpath(place)), Path(os.path.realpath(root)))
    if real != named:
        yield real


def _read(place: Path) -> str | None:
    try:
        if not place.is_file() or place.stat().st_size > _MAX_BYTES:
            return None
        return place.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError):
        return None
