"""Which filters a repository brings along, by its own settings: programs that git would run on files that it reads.

Only texts are read here. A filter is the user's own if their settings, of the machine or of their account, say the
very same of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
