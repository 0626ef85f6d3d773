"""Where a shared store is, as people write it: `git:REMOTE#PROJECT` or `postgresql://...#PROJECT`.

Pure: texts and values.
"""

from __future__ import annotations

import re

from phase_gate.errors import UsageError
from phase_gate.values import Value

POSTGRESQL, GIT = "postgresql", "git"

#: A part of a ref's name on every server, and a plain word in a table.
_PROJECT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")

#: Without `ext::` and the like: those run commands.
_SCHEMES = ("file", "ssh", "https", "http")

#: `ext::` and the like: git starts a program of that name.
_HELPER = re.compile(r"[^/:]*::")

#: A user's name and password in an address: up to the last `@`, because people forget to quote passwords.
_SECRET = re.compile(r"(?<=://)\S+(?=@)|(?<=password=)[^&#\s]+|(?<=\?)[^#\s]*%[^#\s]*", re.IGNORECASE)

#: A password in what libpq connects with, or a word that hides behind percent signs that it is one.
_PASSWORD = re.compile(r"://[^?]*:[^?]*@|[?&](?:ssl)?password=|[?&][^=&]*%[^=&]*=", re.IGNORECASE)

#: What an address in a database begins with.
_DATABASE = ("postgresql://", "postgres://")
#: And one on a git remote.
_GIT = "git:"

FORMS = "git:REMOTE#PROJECT, or postgresql://HOST/DATABASE#PROJECT"


def hide_secret(text: str) -> str:
    """Return a text without the user's name and the password of an address in it."""
    return _SECRET.sub("...", text)


class StoreAddress(Value):
    #: `git` or `postgresql`.
    kind: str
    #: A git remote, or what libpq connects with.
    place: str
    #: Whose tasks are meant: several projects may share a store.
    project: str

    def __str__(self) -> str:
        """Return it as messages and the ledger may show it: without a password."""
        if self.kind == POSTGRESQL and not _PASSWORD.search(self.place):
            return f"{self.place}#{self.project}"  # as it may be typed again
        prefix = "" if self.kind == POSTGRESQL else f"{self.kind}:"
        return f"{prefix}{_SECRET.sub('...', self.place)}#{self.project}"


def parse_address(text: str) -> StoreAddress:
    """Return the store that a text names. Raises UsageError for one that names none."""
    place, mark, project = text.rpartition("#")
    if not mark:
        raise UsageError(f"a store is named with its project: {_SECRET.sub('...', text)!r}", remedy=f"write {FORMS}")
    if place.startswith(_DATABASE):
        return make_address(place=place, kind=POSTGRESQL, project=project)
    if place.startswith(_GIT):
        return make_address(place=place.removeprefix(_GIT), kind=GIT, project=project)
    raise UsageError(f"{_SECRET.sub('...', text)!r} is no store that we know", remedy=f"write {FORMS}")


def make_address(kind: str, place: str, project: str) -> StoreAddress:
    """Return a store's address. Raises UsageError for a project's name or a remote that can't be one."""
    if kind == "postgresql" and _PASSWORD.search(place):
        # An address is shown, and handed to agents with the environment.
        raise UsageError(
            "a store's address may not hold a password",
            remedy="put it into the file that PGPASSFILE names, or into a service file, and leave it out",
        )
    if not _PROJECT.fullmatch(project) or ".." in project or project.endswith(".lock"):
        raise UsageError(
            f"{project!r} can't be a project's name in a store",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    if kind == GIT:
        _refuse_odd_remote(place)
    return StoreAddress(kind=kind, place=place, project=project)


def _refuse_odd_remote(remote: str) -> None:
    """Refuse what git would run, or read as an option, instead of asking a server."""
    scheme = remote.partition("://")[0] if "://" in remote else ""
    if not remote or remote.startswith("-") or _HELPER.match(remote) or (scheme and scheme not in _SCHEMES):
        raise UsageError(
            f"{_SECRET.sub('...', remote)!r} is no remote that a store may be on",
            remedy="name a folder, or a remote by file://, ssh:// or https://",
        )
