"""Which files a shell command writes, as far as its text shows it.

Pure. It recognises what agents type: redirections, `tee`, `sed -i`, `mv`, `cp`, `rm`, git's ways to put files back.
What a program does by itself (`python -c`, a script, a build) can't be seen from here, and is not guessed at.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from phase_gate.shell_text import ShellTextError, Word, is_redirection, split_shell
from phase_gate.values import Literal, Value

#: A command that calls commands that call commands: no deeper.
_DEPTH = 5

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


#: Characters of a command that are looked at, the texts that it brings along apart.
_LONGEST = 20_000


class Written(Value, kw_only=False):
    """A path that a command writes, moves or removes; a glob stays a glob."""

    path: str
    #: Git puts it back to what was committed.
    is_put_back: bool = False


def find_writes(command: str, kind_of: KindOf = lambda path: "") -> tuple[Written, ...]:
    """Return what the command writes, from where it starts.

    :param kind_of: what a word names, where only that tells it from a branch, or a file from the folder it goes into.
    """
    return tuple(dict.fromkeys(_in_command(command, "", kind_of, _DEPTH)))


def _in_command(command: str, folder: str, kind_of: KindOf, depth: int) -> Iterator[Written]:
    text, bodies = _without_texts(command)
    text = text[:_LONGEST]
    for body in bodies:
        yield from (Written(_join(folder, path)) for path in patched_paths(body))
    for inner in _substitutions(text):
        if depth:
            yield from _in_command(inner, folder, kind_of, depth - 1)
    for words in _simple_commands(text):
        if words[:1] == ["cd"]:
            folder = _join(folder, words[1]) if len(words) > 1 else folder
            continue
        yield from _in_words(words, folder, kind_of, depth)
        # Which text goes to which command of a line is not told apart: a diff that is there is meant for it.
        yield from (Written(_join(folder, path)) for path in _of_diff(words, (*bodies, text)))


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
    words: list[str] = []
    try:
        for token in split_shell(text):
            if isinstance(token, Word):
                words.append(token.text)
            elif is_redirection(token):
                words.append(f"\0{token}")
            else:
                yield words
                words = []
    except ShellTextError:
        pass  # a quote that is never closed: what came before it counts
    yield words


def _in_words(words: Sequence[str], folder: str, kind_of: KindOf, depth: int) -> Iterator[Written]:
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
            yield from _in_command(inner, folder, kind_of, depth - 1)
    elif name == "git":
        yield from _of_git(arguments, folder, kind_of)
    else:
        here: KindOf = lambda path: kind_of(_join(folder, path))  # noqa: E731
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


def _of_git(arguments: list[str], folder: str, kind_of: KindOf) -> Iterator[Written]:
    """Yield what git puts back, takes away or moves."""
    words = _git_verb(arguments)
    before = arguments[: len(arguments) - len(words)]
    for option, word in pairwise(before):
        folder = _join(folder, word) if option == "-C" else folder
    if words:
        verb, rest = words[0], words[1:]
        for path in git_paths(verb, rest, lambda path: kind_of(_join(folder, path))):
            takes_ignored = verb == "clean" and any(re.match(r"-[a-zA-Z]*[xX]", word) for word in rest)
            yield Written(_join(folder, path), verb not in ("rm", "mv") and not takes_ignored)


def _git_verb(arguments: list[str]) -> list[str]:
    """Return git's words from its verb on, without the options before it."""
    words = list(arguments)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _GIT_WORDS else words[1:]
    return words


# --- what programs that agents call do to files, told from their words


#: What a word names: a file, a folder, or nothing that is there.
Kind = Literal["file", "folder", ""]
KindOf = Callable[[str], Kind]

#: All their words are files that change or go.
_ALL_WORDS = frozenset({"rm", "unlink", "shred", "truncate", "tee", "rmdir"})
#: They write what their last word names, or into it.
_LAST_WORD = frozenset({"cp", "mv", "install", "rsync", "ln", "scp"})
#: Options of these that take a word of their own.
_TAKES_WORD = {"truncate": "sr", "install": "mgo", "shred": "ns", "cp": "St", "mv": "St", "ln": "St"}
_IN_PLACE = frozenset({"sed", "gsed", "perl", "ruby"})
#: With these, a diff is only looked at, or only the index changes.
_LOOKS_ONLY = frozenset({"--check", "--stat", "--numstat", "--summary", "--cached", "--dry-run"})
#: The file before and after, in the head of a diff; a tab and a time may follow.
_DIFF_FILE = re.compile(r"^(?:---|\+\+\+) ([^\t\n]+?)(?:\t.*)?$", re.M)
_STASH_LOOKS = frozenset({"list", "show", "drop", "clear", "branch"})


def patched_paths(patch: str) -> tuple[str, ...]:
    """Return the files that a patch in the form of `apply_patch` adds, changes, moves or removes."""
    return tuple(
        dict.fromkeys(
            found[1].strip()
            for found in re.finditer(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", patch, re.M)
        )
    )


def _of_diff(words: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """Yield the files of diffs that stand in a command itself, where it applies them."""
    plain = _unwrap([word for word in words if not word.startswith("\0")])
    if not plain or _LOOKS_ONLY & {*plain}:
        return
    name = posixpath.basename(plain[0])
    is_git = name == "git" and _git_verb(plain[1:])[:1] == ["apply"]
    if not is_git and name != "patch":
        return
    levels = [int(found[1]) for word in plain if (found := re.fullmatch(r"(?:-p|--strip=)(\d{1,3})", word))]
    # Without a number git takes one folder off, and `patch` all of them.
    level = levels[-1] if levels else 1 if is_git else None
    for text in texts:
        for found in _DIFF_FILE.finditer(text):
            if found[1] != "/dev/null":
                parts = found[1].split("/")
                yield parts[-1] if level is None else "/".join(parts[min(level, len(parts) - 1) :])


def program_paths(name: str, arguments: list[str], kind_of: KindOf) -> Iterator[str]:
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
        yield from _of_copy(name, arguments, kind_of)


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


def _of_copy(name: str, arguments: list[str], kind_of: KindOf) -> Iterator[str]:
    words = _plain(name, arguments)
    into = [word for option, word in pairwise(arguments) if option == "-t"]
    target = into[0] if into else words.pop() if words else ""
    if not words:
        return  # there is nothing that could go there
    if name == "mv":
        yield from words
    if into or len(words) > 1 or target.endswith("/") or kind_of(target) == "folder":
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


def git_paths(verb: str, rest: list[str], kind_of: KindOf) -> Iterator[str]:
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
            yield from (word for word in plain if word == "." or kind_of(word))
    elif verb == "stash":
        if not rest or rest[0] not in _STASH_LOOKS:
            yield "."
    elif (verb == "reset" and {"--hard", "--merge", "--keep"} & given) or (
        verb == "clean" and any(re.match(r"-[a-zA-Z]*f|--force", word) for word in rest)
    ):
        yield "."
