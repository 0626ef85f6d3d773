"""Which modules a process has loaded, and the files that they come from."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from phase_gate.storage.ownership import Ownership, is_in_environment
from phase_gate.storage.root import relative_id


def loaded_names() -> list[str]:
    """Return the modules that are loaded, but for Python's own."""
    return [name for name in list(sys.modules) if name.partition(".")[0] not in sys.stdlib_module_names]


def found_modules(names: Iterable[str], root: str) -> dict[str, str]:
    """Return the modules that this process has loaded, each with its file relative to the root.

    One from an environment inside the root, or without a file, is not the project's: its path begins with `../`.
    """
    found: dict[str, str] = {}
    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        file = getattr(module, "__file__", None)
        places = list(getattr(module, "__path__", ()))
        path = file or (places[0] if places else None)
        if path is None:
            found[name] = f"../{name}"
            continue
        relative = relative_id(Path(path), Path(root))
        inside = not relative.startswith("../") and not is_in_environment(str(Path(root) / relative), root)
        found[name] = relative if inside else f"../{Path(path).name}"
    return found


def imported_files(ownership: Ownership) -> list[str]:
    """Return the files of the project that this process has imported, from the root."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    found = (ownership.inner_path(file) for file in files if isinstance(file, str))
    return sorted({path for path in found if path})
