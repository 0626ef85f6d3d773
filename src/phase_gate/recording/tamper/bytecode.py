"""Is cached bytecode what its source gives? Python believes what lies in `__pycache__` if a few numbers in it fit.

What this very run has compiled is fresh. What lay there before is compared once with what its source gives, and then
remembered by the times of both files. So a run pays for the few files that others have compiled since the last one
(1 ms each, 12 ms for a file that pytest rewrites). A folder of our own for all bytecode would need no comparing, but it
would have every dependency compiled anew, a second and more a run.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import CodeType

import pytest
from _pytest.assertion import rewrite

from phase_gate.gate.findings import Finding
from phase_gate.storage.tree.stat_cache import StatCache

#: In the names of bytecode that `python -O` made.
_LEVEL = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
#: Magic number, flags, and what the source is told by.
_HEADER = 16
_BY_HASH, _CHECKED = 1, 2


class BytecodeWitness:
    """Looks at the bytecode of one project.

    :param began: when no code of the project had run yet.
    :param memory: what earlier runs have compared; None where nothing is remembered.
    """

    def __init__(self, config: pytest.Config, root: Path, *, began: float, memory: Path | None) -> None:
        self._config, self._root, self._began = config, str(root), began
        self._memory = StatCache(memory)
        self._listed: dict[str, tuple[str, frozenset[str]]] = {}

    def look(self, imported: Iterable[str], *, trusts_but: Collection[str] | None) -> Iterator[Finding]:
        """Yield the files that were imported and whose bytecode is not to be believed.

        :param trusts_but: where nothing can be remembered yet, the only files to compare; None compares all.
        """
        for path in imported:
            if path.endswith(".pyc"):
                yield _finding(
                    "bytecode-alone", path, "imported from bytecode, and there is no source to compare it with"
                )
            elif path.endswith(".py"):
                trusts = trusts_but is not None and path not in trusts_but
                source = os.path.join(self._root, path)
                for cache in self._caches(source):
                    if not self._is_good(source, cache, trusts=trusts):
                        detail = (
                            f"its bytecode is not what its source gives: remove {self._shown(cache)}, and run again"
                        )
                        yield _finding("bytecode-differs", path, detail)

    def save(self, state_folder: Path) -> None:
        self._memory.save(state_folder)

    def _shown(self, cache: str) -> str:
        return cache.removeprefix(os.path.join(self._root, ""))

    def _caches(self, source: str) -> Iterator[str]:
        """Yield the bytecode of a file that is there: what Python made, and pytest of what it rewrites."""
        folder, name = os.path.split(source)
        if folder not in self._listed:
            self._listed[folder] = _list_cache(source)
        cache, present = self._listed[folder]
        stem = name.removesuffix(".py")
        names = (f"{stem}.{sys.implementation.cache_tag}{_LEVEL}.pyc", f"{stem}{rewrite.PYC_TAIL}")
        yield from (os.path.join(cache, each) for each in names if each in present)

    def _is_good(self, source: str, cache: str, *, trusts: bool) -> bool:
        try:
            status, of_source = os.stat(cache), os.stat(source)
        except OSError:
            return True  # no bytecode: Python can't have used it
        told_by = f"{of_source.st_size} {of_source.st_mtime_ns} {of_source.st_ino} {of_source.st_ctime_ns}"
        if self._memory.find(cache, status) == told_by:
            return True
        if trusts or status.st_ctime >= self._began or self._is_what_it_says(source, cache, of_source):
            self._memory.add(cache, status, told_by)
            return True
        return False

    def _is_what_it_says(self, source: str, cache: str, of_source: os.stat_result) -> bool:
        try:
            data, text = Path(cache).read_bytes(), Path(source).read_bytes()
        except OSError:
            return True
        if not _is_believed(data, text, of_source):
            return True  # out of date, or of another version: Python makes it anew
        try:
            found = marshal.loads(data[_HEADER:])
        except (ValueError, TypeError, EOFError):
            return True
        given = self._compile(source, text, is_rewritten=cache.endswith(rewrite.PYC_TAIL))
        return given is None or not isinstance(found, CodeType) or _spell(found) == _spell(given)

    def _compile(self, source: str, text: bytes, *, is_rewritten: bool) -> CodeType | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if is_rewritten:
                    return rewrite._rewrite_test(Path(source), self._config)[1]
                return compile(text, source, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, OSError, RecursionError):
                return None


def _finding(slug: str, path: str, detail: str) -> Finding:
    return Finding(slug=slug, guard="outcomes-genuine", tier="hard", file=path, detail=detail)


def _list_cache(source: str) -> tuple[str, frozenset[str]]:
    """Return the folder of the bytecode of a file and those beside it, and what is in it."""
    try:
        folder = os.path.dirname(importlib.util.cache_from_source(source))
        return folder, frozenset(os.listdir(folder))
    except (NotImplementedError, OSError):
        return "", frozenset()


def _is_believed(data: bytes, text: bytes, of_source: os.stat_result) -> bool:
    """Tell whether Python takes the bytecode for that of the source."""
    if len(data) < _HEADER or data[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(data[4:8], "little")
    if flags & _BY_HASH:
        return not flags & _CHECKED or data[8:_HEADER] == importlib.util.source_hash(text)
    modified, size = (int.from_bytes(data[start : start + 4], "little") for start in (8, 12))
    return (modified, size) == (int(of_source.st_mtime) & 0xFFFFFFFF, of_source.st_size & 0xFFFFFFFF)


def _spell(code: CodeType) -> tuple[object, ...]:
    """Return what code does, in a form that can be compared: lines and names of files are left out."""
    return (
        *(code.co_name, code.co_code, code.co_exceptiontable, code.co_flags, code.co_firstlineno),
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        *(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        tuple(map(_spell_constant, code.co_consts)),
    )


def _spell_constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _spell(value)
    if isinstance(value, frozenset):  # in another order in every process
        return (frozenset, tuple(sorted(map(repr, value))))
    if isinstance(value, tuple):
        return tuple(map(_spell_constant, value))
    return (type(value), repr(value) if not isinstance(value, int) else value)
