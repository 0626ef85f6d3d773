"""What programs that agents call do to files, told from their words.

Pure. Not their options in full: those that say where the files stand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal

#: What a word names: a file, a folder, or nothing that is there.
Kind = Literal["file", "folder", ""]
Look = Callable[[str], Kind]

#: All their words are files that change or go.
_ALL_WORDS = frozenset({"rm", "unlink", "shred", "truncate", "tee", "rmdir"})
#: They write what their last word names, or into it.
_LAST_WORD = frozenset({"cp", "mv", "install", "rsync", "ln", "scp"})
#: Options of these that take a word of their own.
_TAKES_WORD = {"truncate": "sr", "install": "mgo", "shred": "ns", "cp": "St", "mv": "St", "ln": "St"}
_IN_PLACE = frozenset({"sed", "gsed", "perl", "ruby"})
_STASH_LOOKS = frozenset({"list", "show", "drop", "clear", "branch"})


def patched_paths(patch: str) -> tuple[str, ...]:
    """Return the files that a patch in the form of `apply_patch` adds, changes, moves or removes."""
    return tuple(
        dict.fromkeys(
            found[1].strip()
            for found in re.finditer(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", patch, re.M)
        )
    )


def program_paths(name: str, arguments: list[str], look: Look) -> Iterator[str]:
    if name in _IN_PLACE:
        yield from _of_editor(arguments)
    elif name == "dd":
        yield from (word[3:] for word in arguments if word.startswith("of="))
    elif name in ("apply_patch", "applypatch"):
        yield from (path for word in arguments for path in patched_paths(word))
    elif name == "find":
        yield from _of_find(arguments)
    elif name in _ALL_WORDS:
        yield from _plain(name, arguments)
    elif name in _LAST_WORD:
        yield from _of_copy(name, arguments, look)


def _plain(name: str, arguments: list[str]) -> list[str]:
    """Return the words that are neither options nor what belongs to one."""
    takes = _TAKES_WORD.get(name, "")
    words: list[str] = []
    given = iter(arguments)
    for word in given:
        if word == "--":
            words += given
        elif word.startswith("-") and len(word) > 1:
            if len(word) == 2 and word[1] in takes:
                next(given, None)
        else:
            words.append(word)
    return words


def _of_copy(name: str, arguments: list[str], look: Look) -> Iterator[str]:
    words = _plain(name, arguments)
    into = [word for option, word in pairwise(arguments) if option == "-t"]
    target = into[0] if into else words.pop() if words else ""
    if not words:
        return  # there is nothing that could go there
    if name == "mv":
        yield from words
    if into or len(words) > 1 or target.endswith("/") or look(target) == "folder":
        yield from (posixpath.join(target, posixpath.basename(word.rstrip("/"))) for word in words)
    else:
        yield target


def _of_editor(arguments: list[str]) -> Iterator[str]:
    """Yield the files that `sed -i` or `perl -pi` changes."""
    if not any(re.match(r"-[a-hj-zA-Z]*i|--in-place", word) for word in arguments):
        return
    has_script = False
    words: list[str] = []
    given = iter(arguments)
    for word in given:
        if re.fullmatch(r"-[a-zA-Z]*[ef]|--expression|--file", word):
            has_script = True
            next(given, None)
        elif word.startswith(("--expression=", "--file=")):
            has_script = True
        elif word and not word.startswith("-"):
            words.append(word)
    yield from words if has_script else words[1:]


def _of_find(arguments: list[str]) -> Iterator[str]:
    if "-delete" not in arguments and not {"rm", "mv", "sed", "tee", "truncate"} & {*arguments}:
        return
    names = [word for option, word in pairwise(arguments) if option in ("-name", "-path")]
    for folder in arguments:
        if folder.startswith(("-", "(", "!")):
            break
        yield from (posixpath.join(folder, "**", name) for name in names) if names else (folder,)


def git_paths(verb: str, rest: list[str], look: Look) -> Iterator[str]:
    plain = _plain(verb, rest)
    given = {*rest}
    if verb in ("rm", "mv"):
        yield from plain
    elif verb == "restore":
        sources = [word for option, word in pairwise(rest) if option in ("-s", "--source")]
        # In the index only, nothing in the folder changes.
        if not {"--staged", "-S"} & given or {"--worktree", "-W"} & given:
            yield from (word for word in plain if word not in sources)
    elif verb == "checkout":
        if "--" in rest:
            yield from rest[rest.index("--") + 1 :]
        elif not {"-b", "-B", "--orphan"} & given:
            yield from (word for word in plain if word == "." or look(word))
    elif verb == "stash":
        if not rest or rest[0] not in _STASH_LOOKS:
            yield "."
    elif (verb == "reset" and {"--hard", "--merge", "--keep"} & given) or (
        verb == "clean" and any(re.match(r"-[a-zA-Z]*f|--force", word) for word in rest)
    ):
        yield "."
