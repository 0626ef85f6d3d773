"""Row 50: bytecode that is not what the source beside it gives, and bytecode without a source."""

from __future__ import annotations

import sys

from tests.integrity.rows import BAD, GOOD, TEST_FILE, TESTS, Attempt, Command, Row
from tests.integrity.shared import DISPROVEN, cheat

#: Writes the bytecode of another text into the cache of a file. `how`: by time, by hash unchecked, or as pytest has it.
FORGE = """\
import importlib.util, marshal, os, sys
from pathlib import Path
from _pytest.assertion import rewrite

how, name, text = sys.argv[1:]
file, source = Path(name), Path(name).read_bytes()
cache = Path(importlib.util.cache_from_source(name))
by_time = (int(file.stat().st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + len(source).to_bytes(4, "little")
by_hash = importlib.util.source_hash(source)
code = compile(text, str(file.absolute()), "exec", dont_inherit=True)
flags, kept = {"time": (0, by_time), "hash": (1, by_hash), "pytest": (0, by_time)}[how]
if how == "pytest":
    cache = cache.parent / f"{file.stem}{rewrite.PYC_TAIL}"
    if b"\\3\\0\\0\\0" in rewrite._read_pyc.__code__.co_consts:
        flags, kept = 3, by_hash
cache.parent.mkdir(parents=True, exist_ok=True)
cache.write_bytes(importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + kept + marshal.dumps(code))
"""
_WEAK = TESTS.replace("assert total([]) == 0", "total([])")


def _forge(how: str, name: str, text: str) -> Command:
    return (sys.executable, "-c", FORGE, how, name, text)


def _python(*words: str) -> Command:
    return (sys.executable, *words)


def _forged(how: str, name: str, text: str) -> Attempt:
    """The code is bad, and what runs is something else."""
    return Attempt(code=BAD, before=(_forge(how, name, text),))


BYTECODE: tuple[Row, ...] = (
    cheat("the code has bytecode of other code", _forged("time", "price.py", GOOD), DISPROVEN),
    cheat("the code has bytecode that nobody compares", _forged("hash", "price.py", GOOD), DISPROVEN),
    cheat("the tests have bytecode of weaker tests", _forged("pytest", TEST_FILE, _WEAK), DISPROVEN),
    cheat(
        "the code is there as bytecode only",
        Attempt(before=(_python("-m", "compileall", "-q", "-b", "price.py"), ("rm", "price.py"))),
        DISPROVEN,
    ),
)

_WRITES = (("PYTHONDONTWRITEBYTECODE", ""),)
_UNCHECKED = _python("-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "price.py")

BYTECODE_TWINS: dict[str, Attempt] = {
    # Made by a plain run, by a build that does not check, and by the runs themselves; then the code changes.
    "bytecode that others have made": Attempt(
        before=(_python("-m", "pytest", "-q", "-p", "no:cacheprovider"), _UNCHECKED),
        environment=_WRITES,
        runs=((),),
        then=Attempt(
            before=(_UNCHECKED,), code=GOOD.replace("sum(prices)", "sum(prices, 0)"), environment=_WRITES, runs=((), ())
        ),
    ),
}
