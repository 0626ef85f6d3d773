"""What the end of a run takes from the standard library, bound when this module is imported.

A test may leave `os.replace` or `time.time` mocked, so `os` and `time` are copies here. A mocked function that is
called anyway makes the run fail, which closes the gate with a message. The hash functions come without `hashlib`, which
loads OpenSSL: a fifth of what an interpreter takes to start. Where it is loaded, as in runs of pytest, it is faster.
"""

from __future__ import annotations

import sys

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

if TYPE_CHECKING or "hashlib" in sys.modules:
    from hashlib import blake2b, sha1, sha256
else:
    try:
        from _blake2 import blake2b
        from _sha1 import sha1

        try:
            from _sha2 import sha256  # from Python 3.12 on
        except ImportError:
            from _sha256 import sha256
    except ImportError:
        from hashlib import blake2b, sha1, sha256

__all__ = ["blake2b", "os", "sha1", "sha256", "time"]
