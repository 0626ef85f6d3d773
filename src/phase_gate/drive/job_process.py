"""The other side of `jobs`: the process that drives one task, and tells its pool what happens."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.drive.chain import Decision
from phase_gate.drive.list_session import ListSession, Working
from phase_gate.drive.loop import hide_keys
from phase_gate.drive.task_loop import drive_one
from phase_gate.values import Value
from phase_gate.workflow.settings import DriveSettings

#: Seconds between two looks at the pool, and between two lines about what goes on.
_PAUSE, _OFTEN = 0.1, 0.4
#: What such a line is called; only the pool reads it.
WORKING = "working"


def drive_job(session: ListSession, task: str, *, again: bool) -> Decision:
    """Drive one task for a pool, which does all that comes after."""
    hide_keys(session.project)
    session.has_told_end = True  # by the pool
    with session.interrupts:
        decision = drive_one(session, task, again=again)
    session.tell("job-ended", task=task, outcome=str(decision.outcome), reason=decision.reason)
    return decision


class Reporter:
    """Tells the pool who is at work, once in a while."""

    def __init__(self, say: Callable[[Mapping[str, Any]], None]) -> None:
        self._say, self._said_at = say, 0.0

    def tell(self, working: Working) -> None:
        if time.monotonic() - self._said_at >= _OFTEN:
            self._said_at = time.monotonic()
            self._say({"event": WORKING, "working": to_json(working)})


class JobOrder(Value):
    """What a job is told on its standard input."""

    settings: DriveSettings
    #: The part of the user's environment that stands in no process's own.
    hidden: Mapping[str, str]


def read_job(text: bytes) -> JobOrder:
    return from_json(JobOrder, json.loads(text))


class Orphans:
    """Ends a job whose pool has died."""

    def __init__(self, session: ListSession) -> None:
        self._session, self._parent, self._looked = session, os.getppid(), 0.0

    def look(self) -> None:
        if time.monotonic() - self._looked < _PAUSE:
            return
        self._looked = time.monotonic()
        if os.getppid() != self._parent:
            heard = self._session.interrupts
            heard.is_asked_to_end = True
            heard.number = heard.number or signal.SIGTERM
