"""Which file system a folder is on, by the mount table."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.storage.lock import NETWORK_TYPES, filesystem_type, network_warning

#: As the kernel writes it: source, mount point, type, options, and two numbers.
TABLE = """\
/dev/vda1 / ext4 rw,relatime 0 0
proc /proc proc rw,nosuid 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/vdb1 /home/dev/local xfs rw 0 0
//server/share /mnt/with\\040space cifs rw 0 0
/dev/vdc /mnt/twice ext4 rw 0 0
host:/x /mnt/twice fuse.sshfs rw 0 0
share /mnt/share 9p rw 0 0
nothing /mnt/cut
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        pytest.param("/homes/dev", "ext4", id="a-name-that-only-begins-like-a-mount"),
        pytest.param("/home/dev/local/project", "xfs", id="the-innermost-mount-counts"),
        pytest.param("/mnt/with space/project", "cifs", id="a-space-in-its-name"),
        pytest.param("/mnt/twice/project", "fuse.sshfs", id="mounted-over-another"),
        pytest.param("/mnt/cut/project", "ext4", id="a-row-that-is-cut-says-nothing"),
    ],
)
def test_a_network_is_warned_of_with_a_way_out(tmp_path: Path, folder: str, expected: str) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE, encoding="utf-8")
    assert filesystem_type(Path(folder), table) == expected
    warning = network_warning(Path(folder), table)
    assert warning.startswith(f"{folder} is on {expected}: locks may not work" if expected in NETWORK_TYPES else "")
    assert ("PHASE_GATE_DIR" in warning) is (expected in NETWORK_TYPES)
