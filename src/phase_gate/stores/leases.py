"""Whether a run on another machine lives, told by a value that it renews, and by the observer's own clock.

The clocks of two machines are never compared: an observer remembers which value it saw when, and a value that it has
seen unchanged for too long is a dead run's. What it sees for the first time lives, for now.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from phase_gate.errors import StorageError
from phase_gate.storage.files import REAL, make_folder, read_bytes, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    Clock = Callable[[], tuple[float, float]]
    #: What was seen of a run, and when.
    Seen = tuple[str, tuple[float, float]]

#: Seconds between two renewals; and those that a value may stay unchanged: three renewals fail, and a minute more.
RENEWAL = 60.0
DEAD_AFTER = 240.0
#: Seconds that a lease may be missing: a server shows the start of a run a moment before the lease that came with it.
ABSENT_AFTER = 5.0

#: Seconds after which a run without a lease is forgotten.
_FORGET = 86_400.0
#: Remembered of a run that has no lease.
_ABSENT = ""


def own_clock() -> tuple[float, float]:
    """Return the time of day, and that since this machine was started: one may leap, the other may begin anew."""
    return time.time(), time.monotonic()


class Observer:
    """What one machine has seen of the leases of one task."""

    def __init__(self, file: Path, clock: Clock = own_clock) -> None:
        """Remember in that file, across processes."""
        self._file, self._clock = file, clock

    def find_alive(self, names: Iterable[str], values: Mapping[str, str]) -> frozenset[str]:
        """Return which of these runs live, or may live.

        :param values: the leases that there are, by the runs' names.
        """
        names = frozenset(names)
        seen = self._look({**dict.fromkeys(names, _ABSENT), **values})
        return frozenset(name for name in names if self._is_alive(seen[name]))

    def find_dead(self, values: Mapping[str, str]) -> frozenset[str]:
        """Return the leases that were not renewed for too long: any machine may remove them."""
        if not values:
            return frozenset()
        seen = self._look(values)
        return frozenset(name for name in values if not self._is_alive(seen[name]))

    def _is_alive(self, seen: Seen) -> bool:
        value, since = seen
        # The lesser of both: a leap of one clock ends no run.
        elapsed = min(now - then for now, then in zip(self._clock(), since, strict=True))
        return elapsed < (ABSENT_AFTER if value == _ABSENT else DEAD_AFTER)

    def _look(self, values: Mapping[str, str]) -> dict[str, Seen]:
        """Return since when each value is as it is; new ones since now."""
        known, now = self._recall(), self._clock()
        seen: dict[str, Seen] = {}
        for name, value in values.items():
            before = known.get(name)
            since = before[1] if before is not None and before[0] == value else now
            # A clock that was set back, or began anew, counts from now on.
            seen[name] = (value, (min(since[0], now[0]), min(since[1], now[1])))
        # Those that have no lease and are not asked for now: another question may be.
        missing = {name: each for name, each in known.items() if each[0] == _ABSENT and now[0] - each[1][0] < _FORGET}
        if missing | seen != known:
            self._remember(missing | seen)
        return seen

    def _recall(self) -> dict[str, Seen]:
        try:
            rows = json.loads(read_bytes(self._file, limit=1 << 20) or b"{}")
            return {str(name): (str(value), (float(one), float(two))) for name, (value, one, two) in rows.items()}
        except (ValueError, TypeError, AttributeError, StorageError):
            return {}

    def _remember(self, seen: Mapping[str, Seen]) -> None:
        make_folder(REAL, self._file.parent)
        rows = {name: (value, *since) for name, (value, since) in seen.items()}
        write_atomically(REAL, self._file, json.dumps(rows).encode(), durable=False)
