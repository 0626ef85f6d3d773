"""Decide from evidence whether a test-driven step is really done.

Importing this package costs next to nothing: every pytest start pays for it.
"""

from __future__ import annotations

from phase_gate._version import __version__

__all__ = ["__version__"]
