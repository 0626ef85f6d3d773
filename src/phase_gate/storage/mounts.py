"""Which kind of file system a folder is on: locks on a network file system promise less than they seem to."""

from __future__ import annotations

import os
from pathlib import Path

#: Types for which `flock` may be local, ignored, or block for ever.
NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs"})

_MOUNT_TABLE = Path("/proc/self/mountinfo")


def network_warning(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return a warning if the folder is on a network file system; empty elsewhere, or where nobody can tell."""
    kind = filesystem_type(folder, table)
    if kind not in NETWORK_TYPES:
        return ""
    return f"{folder} is on {kind}: locks may not hold between machines; PHASE_GATE_DIR can name a local folder"


def filesystem_type(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return the type of the file system that the folder is on, from the mount table; empty if there is none."""
    try:
        rows = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path = os.path.realpath(folder)
    best, kind = "", ""
    for row in rows:
        fields, _, rest = row.partition(" - ")
        words = fields.split()
        if len(words) < 5 or not rest:
            continue
        mount = words[4].replace("\\040", " ")
        # The last of equally long ones wins: it was mounted over the others.
        if (path == mount or path.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, rest.split()[0]
    return kind
