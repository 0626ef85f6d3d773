"""Which values of an environment look like secrets, and how they are taken out of a stream of bytes.

Pure. A name decides; a value that is printed otherwise than it stands there (encoded, cut, letter by letter) is not
recognised, and one that is shorter than `MIN_LENGTH` would blot out half of every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MIN_LENGTH = 6
BLOT = b"***"

#: Anywhere in a name, in any case: `GITHUB_TOKEN`, `npm_config__authToken`.
_PARTS = re.compile("token|secret|passw(?:or)?d|passphrase|credential|apikey", re.IGNORECASE)
#: As a word of a name; `PWD` alone is a folder.
_WORDS = re.compile(r"(?:^|_)(?:keys?|pass|auth|pat|cookie|dsn|salt)(?=_|$)|_pwd(?=_|$)", re.IGNORECASE)
#: How names end that say where a secret is, or how long it holds, and not what it is.
_PLACES = re.compile("_(?:sock|file|path|dir|home|type|name|size|ttl|timeout)$", re.IGNORECASE)
#: `https://user:password@host`, whatever the variable is called.
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
#: A part of a key of several lines is a secret, too, if it is long enough to be no heading.
_MIN_LINE = 20


def find_secrets(environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the values that nobody should see, the longest first."""
    found: set[str] = set()
    for name, value in environment.items():
        if is_secret_name(name):
            found.add(value.strip())
            found.update(line.strip() for line in value.splitlines()[1:-1] if len(line) >= _MIN_LINE)
        found.update(_IN_ADDRESS.findall(value))
    long_enough = (each.encode("utf-8", "surrogateescape") for each in found if len(each) >= MIN_LENGTH)
    return tuple(sorted(long_enough, key=lambda each: (-len(each), each)))


def is_secret_name(name: str) -> bool:
    return bool(_PARTS.search(name) or _WORDS.search(name)) and not _PLACES.search(name)


class Blotter:
    """Takes secrets out of bytes that come in pieces: what may be the beginning of one is held back for the next."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = tuple(secrets)
        self._longest = max(map(len, self._secrets), default=0)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets)))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown by now."""
        if not self._secrets:
            return data
        text, shown, at = self._held + data, [], 0
        while True:
            begins = self._first_beginning(text, at)
            found = self._pattern.search(text, at)
            if found is None or found.start() >= begins:
                break
            shown += [text[at : found.start()], BLOT]
            at = found.end()
        self._held = text[begins:]
        return b"".join((*shown, text[at:begins]))

    def finish(self) -> bytes:
        """Return what was held back; most of a secret is one."""
        held, self._held = self._held, b""
        return held if len(held) < MIN_LENGTH else BLOT

    def _first_beginning(self, text: bytes, at: int) -> int:
        """Return where a secret may begin that has not ended yet."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            rest = text[start:]
            if any(len(each) > len(rest) and each.startswith(rest) for each in self._secrets):
                return start
        return len(text)
