"""Find the repository that git would take for a folder, and what its own settings say, without asking git.

git obeys the settings of the repository that it finds, and some of them name programs. So we find it first: by git's
own rules where they matter, and more narrowly where they can be abused. A folder that is a repository itself, without
a `.git`, may have come with foreign files, and is none for us.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from phase_gate.values import Value

#: More than any settings have, and little enough to read at every look.
MAX_SETTINGS = 16_000_000
_SAYS_WHERE = b"gitdir: "


class UnreadableRepositoryError(Exception):
    """What stands in the place of a file of git's is no file, or nothing that could be one of git's."""


class Repository(Value):
    """Where a repository has its files."""

    #: The folder with the `.git`.
    top: str
    #: Of this checkout.
    folder: str
    #: Of all checkouts.
    common: str

    def read_settings(self) -> tuple[bytes, bytes]:
        """Return the texts of its settings, those of this checkout last. Raises UnreadableRepositoryError."""
        return (
            _read_file(os.path.join(self.common, "config")) or b"",
            _read_file(os.path.join(self.folder, "config.worktree")) or b"",
        )


def find_repository(folder: str) -> Repository | None:
    """Return the nearest repository from a folder upwards; None if there is none. Raises UnreadableRepositoryError."""
    place = os.path.realpath(folder)
    while True:
        link = os.path.join(place, ".git")
        if os.path.isfile(link):
            said = _read_file(link) or b""
            if not said.startswith(_SAYS_WHERE):
                raise UnreadableRepositoryError
            return _open(place, _path(place, said.removeprefix(_SAYS_WHERE)))
        if os.path.lexists(os.path.join(link, "HEAD")):
            return _open(place, link)
        if _is_bare(place) or os.path.dirname(place) == place:
            return None
        place = os.path.dirname(place)


def _open(top: str, folder: str) -> Repository:
    said = _read_file(os.path.join(folder, "commondir"))
    return Repository(top=top, folder=folder, common=folder if said is None else _path(folder, said))


def _is_bare(folder: str) -> bool:
    """Tell whether git could take the folder itself for a repository."""
    return os.path.lexists(os.path.join(folder, "HEAD")) and any(
        os.path.lexists(os.path.join(folder, name)) for name in ("objects", "commondir")
    )


def _path(base: str, text: bytes) -> str:
    if b"\0" in text:
        raise UnreadableRepositoryError  # where such a path ends is a matter of opinion
    return os.path.join(base, os.fsdecode(text.rstrip(b"\r\n")))


def _read_file(path: str) -> bytes | None:
    """Return what stands in a file; None if it is not there."""
    try:
        status = os.stat(path)
        # A pipe would keep us waiting, a device would never end.
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SETTINGS:
            raise UnreadableRepositoryError
        with open(path, "rb") as file:
            return file.read(MAX_SETTINGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableRepositoryError from error


# --- which filters a repository brings along, by its own settings: programs that git would run on files that it reads.
# Only texts are read here. A filter is the user's own if their settings, of the machine or of their account, say the
# very same of it.


#: A section of settings that may name a filter, or lead to a file that does. The names of sections can't be escaped.
_FILTER = rb"\[(?:filter|include|includeif)\b"
#: Programs that git-lfs runs, wherever its own filter comes from. Subsections may be escaped: look without backslashes.
_EXTENSION = rb'\[lfs[\s."]+extension'
#: Stand in the head of such a section: seldom there, and fast to look for.
_WORDS = (b"[filter", b"[include", b"extension")

#: Scopes of settings that are the user's: of the machine, of the account, given to this very call.
_OWN = frozenset({"system", "global", "command"})


def may_bring_filters(settings: Iterable[bytes]) -> bool:
    """Tell whether git has to be asked what the settings of a repository say of filters."""
    for text in settings:
        plain = text.lower().replace(b"\\", b"")
        if any(word in plain for word in _WORDS) and (re.search(_FILTER, plain) or re.search(_EXTENSION, plain)):
            return True
    return False


def include_others(settings: Iterable[bytes]) -> bool:
    """Tell whether the settings lead to other files, which may change while these do not."""
    return any(b"[include" in text.lower() for text in settings)


def find_foreign(listing: str) -> frozenset[str]:
    """Return the names of the filters that the repository itself brings, or changes.

    :param listing: what `git config --list --show-scope -z` says.
    """
    own: dict[str, str] = {}
    theirs: list[tuple[str, str]] = []
    parts = listing.split("\0")
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        if not key.lower().startswith(("filter.", "lfs.extension.")):
            continue
        if scope in _OWN:
            own[key] = value
        else:
            theirs.append((key, value))
    return frozenset(_name(key) for key, value in theirs if own.get(key) != value)


def _name(key: str) -> str:
    section, _, rest = key.partition(".")
    return rest.rpartition(".")[0] if section == "filter" else "lfs"


def blank(names: Iterable[str]) -> tuple[str, ...]:
    """Return the options that make git take these filters for filters that do nothing.

    Raises ValueError for a name that can't be given so.
    """
    options = []
    for name in sorted(names):
        if "=" in name:
            raise ValueError(name)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
            options += ["-c", f"filter.{name}.{key}={value}"]
    return tuple(options)
