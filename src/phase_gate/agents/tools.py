"""Which files a tool call writes: by the tool's name and its input.

One table for all agents: their tools are called alike, or nothing like any other's.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.agents.agent import Document, ToolCall
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
#: What a patch in the form of `apply_patch` adds, changes, moves or removes.
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.M)
#: Characters of a shell line that are looked at.
_LONGEST_LINE = 20_000


def find_file_writes(call: ToolCall, *, root: Path, start: Path) -> list[str]:
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


def _by_shell(given: Document, *, root: Path, folder: Path) -> Iterator[str]:
    command = given.get("command", given.get("cmd", ""))
    line = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    inside = given.get("workdir") or given.get("dir_path") or given.get("directory")
    if isinstance(inside, str):
        folder = folder / inside
    # Codex calls its tool in the shell at times.
    for path in (*find_shell_paths(line), *_PATCHED.findall(line)):
        yield from _names(path.strip(), root, folder)


def _by_editor(given: Document, *, root: Path, folder: Path) -> Iterator[str]:
    patches = [value for value in given.values() if isinstance(value, str) and "*** Begin Patch" in value]
    inner = [row for key in _LISTS if isinstance(rows := given.get(key), list) for row in rows]
    for row in (given, *inner):
        values = [row.get(key) for key in _PATHS] if isinstance(row, Mapping) else [row]
        for path in values:
            if isinstance(path, str) and path:
                yield from _names(path, root, folder)
    for patch in patches:
        for path in _PATCHED.findall(patch):
            yield from _names(path.strip(), root, folder)


def _names(path: str, root: Path, folder: Path) -> Iterator[str]:
    """Yield the path from the root, and where a link leads it elsewhere, that place, too."""
    place = folder / os.path.expanduser(path)
    named = relative_id(place, root)
    yield named
    real = relative_id(Path(os.path.realpath(place)), Path(os.path.realpath(root)))
    if real != named:
        yield real
