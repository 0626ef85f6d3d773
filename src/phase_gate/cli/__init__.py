"""The command `phase-gate`: one file a theme, loaded only when it is called.

Parses arguments, decides or calls one service, prints what was done. Begin with `_table`: it lists every command, and
which function answers it.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if arguments is not None:
        return _run([*arguments])
    if sys.implementation.name != "cpython":
        return _run(sys.argv[1:])  # which is refused, in words
    # Imports make objects that stay: to look through them again and again for some that do not is a tenth of `check`.
    gc.set_threshold(50_000)
    return _leave(_run(sys.argv[1:]))


def _run(given: list[str]) -> int:
    from phase_gate.cli._dispatch import dispatch

    return dispatch(given)


def _leave(code: int) -> int:
    """End the process where nothing waits for its end: to take every module apart takes as long as `check`."""
    is_asked = sys.flags.interactive or sys.flags.dev_mode
    if not (is_asked or _is_watched() or atexit._ncallbacks() or "threading" in sys.modules):
        os._exit(code)
    return code


def _is_watched() -> bool:
    """Tell whether a debugger or a profiler looks on, which has something to write at the end."""
    if sys.gettrace() or sys.getprofile():
        return True
    # Since Python 3.12 they may register there instead, and cProfile does. Six is how many it has room for.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
