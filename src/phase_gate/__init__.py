"""Decide from evidence whether a test-driven step is really done.

Importing this package costs next to nothing: every pytest start pays for it.
"""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from phase_gate._version import __version__

        return __version__
    raise AttributeError(name)
