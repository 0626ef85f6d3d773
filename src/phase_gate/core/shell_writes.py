"""Which files a shell command writes, as far as its text shows it.

Pure. It recognises what agents type: redirections, `tee`, `sed -i`, `mv`, `cp`, `rm`, git's ways to put files back.
What a program does by itself (`python -c`, a script, a build) can't be seen from here, and is not guessed at.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from phase_gate.core.shell_programs import Look, git_paths, patched_paths, program_paths
from phase_gate.values import Value

#: A command that calls commands that call commands: no deeper.
_DEPTH = 5

_REDIRECTION = re.compile(r"&?>{1,2}[|&]?|<{1,3}-?|<>|<&")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.S)
_KEYWORDS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "}", "fi", "done"})

#: Commands that run another one, with the options of theirs that take a word.
_WRAPPERS = {
    "sudo": "ugCh",
    "env": "uC",
    "command": "",
    "exec": "a",
    "nohup": "",
    "time": "fo",
    "nice": "n",
    "timeout": "ks",
    "xargs": "InPLdE",
    "stdbuf": "ioe",
    "builtin": "",
    "setsid": "",
}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})


#: Options of git itself that take a word.
_GIT_WORDS = frozenset({"-C", "-c", "--git-dir", "--work-tree"})


#: Quoted signs are no operators: they are others while the words are split.
_MASK = {ord(sign): 0xE000 + number for number, sign in enumerate(";&|<>()\n#")}
_UNMASK = {masked: sign for sign, masked in _MASK.items()}
#: One that is never closed reaches to the end.
_QUOTED = re.compile(r"""'[^']*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|\\.""", re.S)
#: Characters of a command that are looked at, the texts that it brings along apart.
_LONGEST = 20_000


class Written(Value, kw_only=False):
    """A path that a command writes, moves or removes; a glob stays a glob."""

    path: str
    #: Git puts it back to what was committed.
    is_put_back: bool = False


def find_writes(command: str, look: Look = lambda path: "") -> tuple[Written, ...]:
    """Return what the command writes, from where it starts.

    :param look: what a word names, where only that tells it from a branch, or a file from the folder it goes into.
    """
    return tuple(dict.fromkeys(_in_command(command, "", look, _DEPTH)))


def _in_command(command: str, folder: str, look: Look, depth: int) -> Iterator[Written]:
    text, bodies = _without_texts(command)
    text = text[:_LONGEST]
    for body in bodies:
        yield from (Written(_join(folder, path)) for path in patched_paths(body))
    for inner in _substitutions(text):
        if depth:
            yield from _in_command(inner, folder, look, depth - 1)
    for words in _simple_commands(text):
        if words[:1] == ["cd"]:
            folder = _join(folder, words[1]) if len(words) > 1 else folder
            continue
        yield from _in_words(words, folder, look, depth)


def _join(folder: str, path: str) -> str:
    return posixpath.join(folder, path) if folder else path


def _without_texts(command: str) -> tuple[str, list[str]]:
    """Return the command without comments and the texts that it brings along, and those texts."""
    rows, bodies = iter(command.split("\n")), []
    kept: list[str] = []
    for row in rows:
        if row.lstrip().startswith("#"):
            continue  # an apostrophe in it would open a quote
        kept.append(row)
        for found in _HEREDOC.finditer(row):
            bodies.append(_take_text(rows, found[2]))
    return "\n".join(kept), bodies


def _take_text(rows: Iterator[str], end: str) -> str:
    return "\n".join(itertools.takewhile(lambda row: row.strip("\t") != end, rows))


def _substitutions(text: str) -> list[str]:
    return [found[1] or found[2] or "" for found in re.finditer(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`", text)]


def _simple_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command, redirections among them."""
    masked = _QUOTED.sub(lambda found: found[0].translate(_MASK), text.replace("\\\n", " "))
    lexer = shlex.shlex(masked.replace("\n", " ; "), posix=True, punctuation_chars=";&|<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    is_comment = False
    try:
        for token in lexer:
            if not token.strip(";&|()") and token:
                yield words
                words, is_comment = [], False
                continue
            is_comment = is_comment or token.startswith("#")
            if not is_comment:
                words.append(token.translate(_UNMASK) if not _REDIRECTION.fullmatch(token) else f"\0{token}")
    except ValueError:
        pass  # a quote that is never closed: what came before it counts
    yield words


def _in_words(words: Sequence[str], folder: str, look: Look, depth: int) -> Iterator[Written]:
    rest: list[str] = []
    given = iter(words)
    for word in given:
        if not word.startswith("\0"):
            rest.append(word)
            continue
        target = next(given, "")
        # `2>&1` is no file, nor is a device; and what is read is not written.
        if "<" not in word and target and not target.isdigit() and target != "-" and not target.startswith("/dev/"):
            yield Written(_join(folder, target))
    words = _unwrap(rest)
    if not words:
        return
    name, arguments = posixpath.basename(words[0]), words[1:]
    if name in _SHELLS or name == "eval":
        inner = _inner_command(name, arguments)
        if inner is not None and depth:
            yield from _in_command(inner, folder, look, depth - 1)
    elif name == "git":
        yield from _of_git(arguments, folder, look)
    else:
        here: Look = lambda path: look(_join(folder, path))  # noqa: E731
        yield from (Written(_join(folder, path)) for path in program_paths(name, arguments, here))


def _unwrap(words: list[str]) -> list[str]:
    """Return the command without assignments, keywords and commands that only run it."""
    while words:
        name = posixpath.basename(words[0])
        if _ASSIGNMENT.fullmatch(words[0]) or words[0] in _KEYWORDS:
            words = words[1:]
        elif name in _WRAPPERS:
            takes, words = _WRAPPERS[name], words[1:]
            while words and words[0].startswith("-"):
                words = words[2:] if len(words[0]) == 2 and words[0][1] in takes else words[1:]
            if name == "timeout":
                words = words[1:]
        else:
            break
    return words


def _inner_command(name: str, arguments: list[str]) -> str | None:
    if name == "eval":
        return " ".join(arguments)
    for option, word in pairwise(arguments):
        if re.fullmatch(r"-[a-z]*c", option):
            return word
    return None


def _of_git(arguments: list[str], folder: str, look: Look) -> Iterator[Written]:
    """Yield what git puts back, takes away or moves."""
    words = list(arguments)
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            folder = _join(folder, words[1])
        words = words[2:] if words[0] in _GIT_WORDS else words[1:]
    if words:
        verb, rest = words[0], words[1:]
        for path in git_paths(verb, rest, lambda path: look(_join(folder, path))):
            takes_ignored = verb == "clean" and any(re.match(r"-[a-zA-Z]*[xX]", word) for word in rest)
            yield Written(_join(folder, path), verb not in ("rm", "mv") and not takes_ignored)
