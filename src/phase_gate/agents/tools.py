"""Find the files that a tool call writes, from the tool's name and its input.

One table covers all agents: the names of their tools are the same, or do not collide.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from phase_gate.agents.agent_table import Document, ToolCall
from phase_gate.storage.root import relative_id

#: Names in lower case, without `_`.
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
#: Files that a patch in the format of `apply_patch` adds, changes, moves or removes.
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.M)
#: How many characters of a shell line are examined.
_LONGEST_LINE = 20_000


def find_file_writes(call: ToolCall, *, root: Path, start: Path) -> list[str]:
    """Return the files that the call writes, as paths from the root.

    :param start: the folder of relative paths, if the call does not name one.
    """
    name = call.tool.replace("_", "").replace("-", "").lower()
    folder = Path(call.folder) if call.folder and os.path.isdir(call.folder) else start
    if name in _SHELLS:
        return list(_by_shell(call.input, root=root, folder=folder))
    if name not in _EDITORS or call.input.get("command") == "view":
        return []
    return list(_by_editor(call.input, root=root, folder=folder))


#: Commands that write files in a shell line, with their arguments. Quoted text is matched first, because it contains
#: no commands. Writes by programs, or hidden by a variable or `cd`, are not seen. The gate finds them at the next run.
_SHELL_WRITE = re.compile(
    r"""'[^']*' | "(?:\\.|[^"\\])*"
    | (?P<verb> >>?\|? | (?:^|(?<=[;&|(\n])|(?<=-c\ )|(?<=-lc\ ))\s*
        (?:tee|rm|mv|cp|sed\s+(?:-\w+\s+)*-\w*i\S*|git\s+(?:checkout|restore))(?=\s) )
      (?P<words> (?:'[^']*'|"[^"]*"|[^;|&<>()\n'"])* )""",
    re.X,
)


def find_shell_paths(line: str) -> Iterator[str]:
    """Yield the arguments of commands that write files in a shell line."""
    import shlex  # most calls are of other tools

    for found in _SHELL_WRITE.finditer(line[:_LONGEST_LINE]):
        verb = (found["verb"] or "").strip()
        with contextlib.suppress(ValueError):  # an unclosed quote
            paths = [word for word in shlex.split(found["words"] or "") if not word.startswith("-")]
            yield from paths[:1] if verb.startswith(">") else paths[-1:] if verb == "cp" else paths


def _by_shell(given: Document, *, root: Path, folder: Path) -> Iterator[str]:
    command = given.get("command", given.get("cmd", ""))
    line = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    inside = given.get("workdir") or given.get("dir_path") or given.get("directory")
    if isinstance(inside, str):
        folder = folder / inside
    # Codex sometimes calls its patch tool in the shell.
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
    """Yield the path from the root, and if it goes through a link, the link's target too."""
    place = folder / os.path.expanduser(path)
    if "\0" in str(place):
        yield str(place)  # the system takes no such path, so there is nothing to look up
        return
    named = relative_id(place, root)
    yield named
    real = relative_id(Path(os.path.realpath(place)), Path(os.path.realpath(root)))
    if real != named:
        yield real
