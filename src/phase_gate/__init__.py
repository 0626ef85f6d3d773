"""Decide from evidence whether a test-driven step is really done.

Importing this package costs next to nothing: every pytest start pays for it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate._version import __version__

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from phase_gate._version import __version__

    return __version__
