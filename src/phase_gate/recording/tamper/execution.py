"""Did a test's own code run, and to its end? By `sys.monitoring` where there is one, else by a profile function."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Set
from types import CodeType, FrameType
from typing import Any

#: Ids 0 to 2 and 5 belong to debuggers, coverage, profilers and optimisers by convention.
_TOOL_IDS = (4, 3)
_RETURN = dis.opmap.get("RETURN_VALUE")


class Execution:
    """Which of the watched codes started, and which returned, since the last question."""

    def __init__(self) -> None:
        self.started: set[CodeType] = set()
        self.returned: set[CodeType] = set()

    def renew(self) -> None:
        """Watch on, if another tool took our place; called before each test."""

    def is_watching(self) -> bool:
        """Tell whether no other tool took our place; asked after each test."""
        return True

    def stop(self) -> None:
        """Watch no more: another session may follow in this process, and would pay for this one, too."""

    def forget(self, *codes: CodeType | None) -> None:
        self.started.difference_update(codes)
        self.returned.difference_update(codes)


def watch_code(codes: Set[CodeType]) -> Execution | None:
    """Return what will tell of these codes; None if that can't be watched."""
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    return _Profile(codes) if monitoring is None else _watch_by_monitoring(codes, monitoring)


def _watch_by_monitoring(codes: Set[CodeType], monitoring: Any) -> Execution | None:
    tool = next((each for each in _TOOL_IDS if monitoring.get_tool(each) in (None, "phase-gate")), None)
    if tool is None:
        return None
    if monitoring.get_tool(tool) is None:
        monitoring.use_tool_id(tool, "phase-gate")
    return _Monitoring(codes, monitoring, tool)


class _Monitoring(Execution):
    """Callbacks for the events of these codes alone."""

    def __init__(self, codes: Set[CodeType], monitoring: Any, tool: int) -> None:
        super().__init__()
        self._codes, self._monitoring, self._tool = codes, monitoring, tool
        events = monitoring.events
        monitoring.register_callback(tool, events.PY_START, lambda code, _offset: self.started.add(code))
        monitoring.register_callback(tool, events.PY_RETURN, lambda code, _offset, _value: self.returned.add(code))
        self._set(events.PY_START | events.PY_RETURN)

    def stop(self) -> None:
        self._set(0)

    def _set(self, events: int) -> None:
        for code in self._codes:
            self._monitoring.set_local_events(self._tool, code, events)


class _Profile(Execution):
    """A profile function beside the one that may be there."""

    def __init__(self, codes: Set[CodeType]) -> None:
        super().__init__()
        self._codes = codes
        self._before: Callable[..., Any] | None = None
        # Bound once: a method is another object each time it is asked for.
        self._ours = self._profile
        self.renew()

    def renew(self) -> None:
        if not self.is_watching():
            self._before = sys.getprofile()
            sys.setprofile(self._ours)
            threading.setprofile(self._ours)

    def is_watching(self) -> bool:
        return sys.getprofile() is self._ours

    def stop(self) -> None:
        if self.is_watching():
            sys.setprofile(self._before)
            threading.setprofile(self._before)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code in self._codes:
            if event == "call":
                self.started.add(code)
            # An exception that leaves a function makes the same event, but not at the same instruction.
            elif event == "return" and code.co_code[frame.f_lasti] == _RETURN:
                self.returned.add(code)
        if self._before is not None:
            self._before(frame, event, argument)  # a profiler that was there goes on
