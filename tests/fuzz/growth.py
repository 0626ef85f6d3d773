"""The fuzz targets' own inputs, grown to a megabyte: in one place each, so that what grows faster than its input shows.

Every input is read in a process of its own, which may use so many seconds of processor time and not one more. They are
not the clock's: a busy machine changes nothing.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import traceback
from collections.abc import Iterator
from typing import NamedTuple

from tests.fuzz.targets import Target, all_targets

SIZE = 1_000_000
#: Of the processor. What is linear takes one or two; what grows with the square takes minutes.
SECONDS = 10

_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")


class Row(NamedTuple):
    target: str
    name: str
    data: bytes

    def read(self) -> tuple[bool, float]:
        """Read it in a process of its own; tell whether it was soon done, and how many seconds it took."""
        before = _spent()
        child = os.fork()
        if child == 0:
            _become(all_targets()[self.target], self.data)
        _, status = os.waitpid(child, 0)
        return status == 0, _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _become(target: Target, data: bytes) -> None:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        target(data)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def grow(name: str, size: int = SIZE) -> Iterator[Row]:
    """Yield a target's seeds, lines and parts again and again, and its seeds with one part of them stretched."""
    lines: set[bytes] = set()
    parts: set[bytes] = set()
    for number, seed in enumerate(all_targets()[name].seeds):
        yield Row(name, f"seed {number}", _repeat(seed, size))
        for line in seed.splitlines(keepends=True):
            if line not in lines:
                lines.add(line)
                yield Row(name, f"line {line!a}", _repeat(line, size))
        for found in _TOKEN.finditer(seed):
            part = found[0]
            if part in parts:
                continue
            parts.add(part)
            stretched = _repeat(part, size)
            yield Row(name, f"stretched {part!a}", seed[: found.start()] + stretched + seed[found.end() :])
            yield Row(name, f"alone {part!a}", stretched)


def _repeat(part: bytes, size: int) -> bytes:
    return (part * (size // len(part) + 1))[:size]


def known_rows() -> tuple[Row, ...]:
    """Return what took minutes once."""
    shared, taken_back = (
        b"%d is done all " + b"all a tests pass " * 34,
        b"%d " + b"ready for review done " * 26 + b"but",
    )
    return (
        Row("phrases", "two `.*` in sentences just under the cap", _sentences(shared)),
        Row("claim", "words that are taken back in sentences just under the cap", _sentences(taken_back)),
        Row("plan", "a wide line", b" " * SIZE),
        Row("diagrams", "many diagrams", _repeat(b"@startuml\n", SIZE)),
        Row("diagrams", "blank lines", b"workspace {\n" + _repeat(b"  \n", SIZE) + b"}"),
        Row("document-markdown", "a long id", b"# A {#" + b"b" * SIZE + b"{"),
        Row("task", "a long command", b"name: a\nfiles: [b]\naction: c\ndone: d\nverify: " + b"e" * (SIZE - 100)),
        Row("shell", "many rows", b"cat <<E\n" + _repeat(b"a\n", SIZE)),
        Row("message", "a number far away", b"pid" + b" " * SIZE + b"x"),
        Row("message", "an excuse", b"-" * SIZE + b"a"),
    )


def _sentences(sentence: bytes) -> bytes:
    return b"\n".join(sentence % number for number in range(SIZE // len(sentence)))
