"""Stores that installed pytest plugins offer: by the hook `pytest_phase_gate_store`, the same for runs and commands.

Only installed packages are asked (entry point `pytest11`), and only those whose sources have the hook's name: a
repository must not choose what runs, and no other plugin is imported for a question.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import UsageError
from phase_gate.stores.address import FORMS, StoreAddress

if TYPE_CHECKING:
    from phase_gate.storage.shared import SharedStore

HOOK = "pytest_phase_gate_store"


def open_offered(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> SharedStore:
    """Return the store of a plugin's kind. Raises UsageError where no installed plugin offers it."""
    given = {
        "kind": address.kind,
        "place": address.place,
        "project": address.project,
        "cache": cache,
        "environment": environment,
    }
    for hook in _find_hooks():
        # As pytest calls it: with the arguments that it names.
        store = hook(**{name: given[name] for name in inspect.signature(hook).parameters})
        if store is not None:
            return store
    raise UsageError(
        f"no installed pytest plugin offers stores of the kind {address.kind!r}",
        remedy=f"install the plugin that does, or write {FORMS}",
    )


def _find_hooks() -> Iterator[Callable[..., SharedStore | None]]:
    for point in sorted(entry_points(group="pytest11"), key=lambda point: point.name):
        if _may_have_hook(point):
            hook = getattr(point.load(), HOOK, None)
            if hook is not None:
                yield hook


def _may_have_hook(point: EntryPoint) -> bool:
    package = point.module.partition(".")[0]
    if package == "phase_gate":
        return False
    found = find_spec(package)
    if found is None:
        return False
    folders = found.submodule_search_locations
    files = (
        [Path(found.origin or "")] if folders is None else [each for at in folders for each in Path(at).rglob("*.py")]
    )
    return any(HOOK.encode() in _read(file) for file in files)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
