"""What a session does to the processes that it starts: another time of day, or an end in the middle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any


def prepare(order: dict[str, Any]) -> None:
    """In the child, which can't import this project's tests."""
    if order.get("later"):
        _set_the_clock(timedelta(seconds=order["later"]))
    if order.get("killed"):
        _be_killed()


def _set_the_clock(later: timedelta) -> None:
    from phase_gate.storage import store

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz or UTC) + later

    store.datetime = Later  # type: ignore[attr-defined]


def _be_killed() -> None:
    """Die by SIGKILL when the first test is about to run."""
    import os
    import signal

    from _pytest import runner

    def die(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    runner.runtestprotocol = die
