"""Wait for a client that is busy, longer each time in a row, as long as the user and the budget allow."""

from __future__ import annotations

import time

from phase_gate.drive.happenings import Progress
from phase_gate.drive.session import DriveSession

#: Seconds: no client is busy for longer than it is worth to ask again.
LONGEST = 600.0
_PAUSE = 0.1


def how_long(first: float, waits: int, left: float) -> float:
    """Return the seconds to wait after so many waits in a row."""
    return max(0.0, min(first * (1 << min(waits, 10)), LONGEST, left))


def wait_until_free(session: DriveSession, *, waits: int, number: int, spent: float) -> float:
    """Wait; return the seconds that it took."""
    seconds = how_long(session.settings.retry_wait, waits, session.settings.budget.seconds - spent)
    session.tell("waits", number=number, seconds=seconds)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds and not session.interrupts.is_asked_to_end:
        session.watchers.progress(
            Progress(doing="waits", phase="", number=number, seconds=passed, limit=seconds, spent=spent + passed)
        )
        time.sleep(min(_PAUSE, seconds - passed))
    return round(time.monotonic() - began, 3)
