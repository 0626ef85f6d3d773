"""Is the code that ran the code that lies there? A file can be exchanged for the time of an import, and put back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType

from phase_gate.storage.ownership import Ownership


def find_exchanged(ownership: Ownership, *, since: float) -> Iterator[str]:
    """Yield files of the project that were written since then and are not what their loaded module was made of."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not ownership.is_below(file) or not ownership.is_projects(file):
            continue
        # The time of the last change of the file's entry: unlike the time of its content it can't be set.
        if _changed_at(file) > since and _is_plain(module) and not _is_what_it_says(module, file):
            yield ownership.shown(file)


def _changed_at(file: str) -> float:
    try:
        return os.stat(file).st_ctime
    except OSError:
        return 0.0


def _is_plain(module: ModuleType) -> bool:
    """Tell whether Python itself loaded it: pytest's rewritten modules are made of more than their source."""
    return type(getattr(module.__spec__, "loader", None)) is SourceFileLoader


def _is_what_it_says(module: ModuleType, file: str) -> bool:
    try:
        with open(file, "rb") as source:
            code = compile(source.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return True
    written = dict(_codes_in(code))
    owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
    functions = (each for owner in owners for each in vars(owner).values() if isinstance(each, FunctionType))
    loaded = (each for each in functions if each.__globals__ is vars(module))
    return all(written.get(each.__qualname__, each.__code__) == each.__code__ for each in loaded)


def _codes_in(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each.co_qualname, each
            yield from _codes_in(each)
