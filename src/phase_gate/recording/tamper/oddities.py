"""Look at the code that was written since the tests were frozen: does it look made for them? Only ever advisory."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.gate.findings import Finding
from phase_gate.gate.inventory import Inventory

if TYPE_CHECKING:
    from phase_gate.source.answers import Pair

#: Files of one step that are looked at; a step that writes more is no step.
_AT_MOST = 50


def look_for_oddities(
    root: Path, files: Collection[str], inventory: Inventory, *, since: float | None
) -> tuple[Finding, ...]:
    """Return what looks odd in the sources that were written since then; nothing where that is not known."""
    if since is None:
        return ()
    fresh = [path for path in files if path.endswith(".py") and path not in inventory.files]
    fresh = [path for path in fresh if not path.endswith("conftest.py") and _written_at(root / path) > since]
    if not fresh or len(fresh) > _AT_MOST:
        return ()
    from phase_gate.recording.reasons import parse_file
    from phase_gate.source.answers import asked_pairs
    from phase_gate.source.oddities import find_oddities

    @cache
    def asked() -> frozenset[Pair]:
        tests = (parse_file(str(root / path)) for path in inventory.files if path.endswith(".py"))
        return frozenset(pair for tree in tests if tree is not None for pair in asked_pairs(tree))

    modules = {Path(path).stem for path in inventory.files}
    return tuple(
        Finding(slug=odd.slug, tier="advisory", file=path, line=odd.line, detail=odd.detail)
        for path in sorted(fresh)
        if (source := parse_file(str(root / path))) is not None
        for odd in find_oddities(source, asked, modules)
    )


def _written_at(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
