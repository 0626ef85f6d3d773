"""Tests of the last cycle that are gone in this one.

Pure. The first phase follows the sources: who deletes an old test there loses nothing by it, so it is named at least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from phase_gate.gate.inventory import Inventory, bare_id, bare_name, split_id


def find_gone(before: Inventory, missing: Iterable[str], now: Inventory) -> list[str]:
    """Return the functions that are neither there nor anywhere else: what was moved or renamed is not gone.

    :param missing: ids of tests that were there before, and that the sources do not have any more.
    """
    here = {bare_id(test_id) for test_id in now.ids()}
    gone = sorted({bare_id(test_id) for test_id in missing} - here)
    if not gone:
        return []
    there = {bare_id(test_id) for test_id in before.ids()}
    # One new test is one old one at most: else a single copy would excuse the end of many.
    moved = Counter(_likeness(test_id, now) for test_id in here - there)
    found = []
    for test_id in gone:
        likeness = _likeness(test_id, before)
        if moved[likeness]:
            moved[likeness] -= 1
        else:
            found.append(test_id)
    return found


def _likeness(test_id: str, inventory: Inventory) -> str:
    """Return what a test is known by, wherever it stands: its body; where no source shows one, its name."""
    return inventory.body(test_id) or bare_name(split_id(test_id)[1])
