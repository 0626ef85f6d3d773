"""Two of Python's modules as they were when we were imported.

A test may leave `os.replace` or `time.time` mocked. What the end of a run calls is taken from here; what is not
makes it fail, which closes the gate and is said.
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
