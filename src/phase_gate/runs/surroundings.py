"""What tests run in, as far as an honest condition of a skip may ask for it: platform, Python, installed packages.

Names only: which versions are installed stands in the names of folders, and nothing is opened.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from phase_gate.storage.ownership import is_in_environment

#: How a folder, or a file, with the metadata of an installed distribution ends.
_METADATA = (".dist-info", ".egg-info")


def take_surroundings(root: Path) -> str:
    """Return a text that is the same as long as platform, Python and packages are."""
    packages = hashlib.sha256("\n".join(sorted(_packages(os.path.realpath(root)))).encode("utf-8", "surrogatepass"))
    return f"{_platform()}; Python {platform.python_version()}; packages {packages.hexdigest()[:16]}"


def _platform() -> str:
    if not hasattr(os, "uname"):
        return f"{sys.platform} {platform.version()} {platform.machine()}"
    found = os.uname()
    return f"{sys.platform} {found.release} {found.machine}"


def _packages(top: str) -> Iterator[str]:
    """Yield the names and versions of what is installed; not what lies in the project, where tests may write it."""
    for entry in dict.fromkeys(sys.path):
        folder = os.path.realpath(entry)
        if (folder + os.sep).startswith(top + os.sep) and not is_in_environment(os.path.join(folder, "_"), top):
            continue
        try:
            yield from (name for name in os.listdir(folder) if name.endswith(_METADATA))
        except OSError:
            continue  # an archive, or nothing
