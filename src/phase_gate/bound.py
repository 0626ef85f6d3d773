"""Copies of the modules `os` and `time`, made when this module is imported.

A test may leave `os.replace` or `time.time` mocked, so the end of a run uses these copies. A mocked function that is
called anyway makes the run fail, which closes the gate with a message.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as os
    import time as time
else:
    import os as _os
    import time as _time

    class _Copy:
        def __init__(self, module: object) -> None:
            self.__dict__.update(vars(module))

    os, time = _Copy(_os), _Copy(_time)
    os.path = _Copy(_os.path)

__all__ = ["os", "time"]
