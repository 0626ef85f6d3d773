"""The `phase-gate` command: one module per theme, imported only when one of its commands is called.

Parses arguments, calls one service and prints the result. Begin with `_table`: it lists every command and the function
that implements it.
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
    # Other implementations are refused with a usage error.
    is_process = arguments is None and sys.implementation.name == "cpython"
    if is_process:
        # Imported modules are never freed, and collecting garbage among them takes a tenth of the time of `check`.
        gc.set_threshold(50_000)
    from phase_gate.cli._call import dispatch

    code = dispatch(sys.argv[1:] if arguments is None else [*arguments])
    return _leave(code) if is_process else code


def _leave(code: int) -> int:
    """End the process without interpreter shutdown where possible: unloading all modules takes as long as `check`."""
    is_asked = sys.flags.interactive or sys.flags.dev_mode
    if not (is_asked or _is_watched() or atexit._ncallbacks() or "threading" in sys.modules):
        os._exit(code)
    return code


def _is_watched() -> bool:
    """Return whether a debugger or a profiler is attached: it may write its results at exit."""
    if sys.gettrace() or sys.getprofile():
        return True
    # Since Python 3.12 tools can register with sys.monitoring instead, as cProfile does. It has six tool IDs.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
