"""Did a test's own code run? By `sys.monitoring` where there is one, else by a profile function."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Set
from types import CodeType, FrameType
from typing import Any

#: Ids 0 to 2 and 5 belong to debuggers, coverage, profilers and optimisers by convention.
_TOOL_IDS = (4, 3)


def watch_code(codes: Set[CodeType]) -> set[CodeType] | None:
    """Return a set to which each of these codes is added when it starts; None if nobody can watch."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    return _watch_by_profile(codes) if monitoring is None else _watch_by_monitoring(codes, monitoring)


def _watch_by_monitoring(codes: Set[CodeType], monitoring: Any) -> set[CodeType] | None:
    ran: set[CodeType] = set()
    tool = next((each for each in _TOOL_IDS if monitoring.get_tool(each) in (None, "phase-gate")), None)
    if tool is None:
        return None
    if monitoring.get_tool(tool) is None:
        monitoring.use_tool_id(tool, "phase-gate")
    monitoring.register_callback(tool, monitoring.events.PY_START, lambda code, _offset: ran.add(code))
    for code in codes:
        monitoring.set_local_events(tool, code, monitoring.events.PY_START)
    return ran


def _watch_by_profile(codes: Set[CodeType]) -> set[CodeType]:
    ran: set[CodeType] = set()
    before: Callable[..., Any] | None = sys.getprofile()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            ran.add(frame.f_code)
        if before is not None:
            before(frame, event, argument)  # a profiler that was there goes on

    sys.setprofile(profile)
    threading.setprofile(profile)
    return ran
