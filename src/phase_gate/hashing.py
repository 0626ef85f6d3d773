"""SHA-256, SHA-1 and BLAKE2 without `hashlib`, which loads OpenSSL: a fifth of what an interpreter takes to start.

Pure. Where `hashlib` is loaded already, as in every run of pytest, its own is taken: on large texts that is faster.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING or "hashlib" in sys.modules:
    from hashlib import blake2b, sha1, sha256
else:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    try:
        from _sha1 import sha1
    except ImportError:
        from hashlib import sha1
    try:
        from _sha2 import sha256  # from Python 3.12 on
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["blake2b", "sha1", "sha256"]
