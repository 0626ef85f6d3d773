"""Which file system a folder is on, by the mount table."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.storage.lock import filesystem_type, network_warning

#: As the kernel writes it: id, parent, device, root, mount point, options, optional fields, `-`, type, source, options.
TABLE = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:21 / /proc rw,nosuid shared:2 - proc proc rw
30 22 0:40 / /home rw,relatime shared:5 master:3 - nfs4 server:/home rw,vers=4.2
31 30 0:41 / /home/dev/local rw,relatime - xfs /dev/vdb1 rw
32 22 0:42 / /mnt/with\\040space rw - cifs //server/share rw
33 22 0:43 / /mnt/twice rw - ext4 /dev/vdc rw
34 33 0:44 / /mnt/twice rw - fuse.sshfs host:/x rw
35 22 0:45 / /mnt/share rw - 9p share rw
a line that means nothing
36 22 0:46 / /mnt/cut
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        pytest.param("/", "ext4", id="the-root"),
        pytest.param("/srv/project", "ext4", id="below-the-root"),
        pytest.param("/home", "nfs4", id="a-mount-itself"),
        pytest.param("/home/dev/project/.phase-gate", "nfs4", id="deep-below-a-mount"),
        pytest.param("/home/dev/local/project", "xfs", id="the-innermost-mount-counts"),
        pytest.param("/homes/dev", "ext4", id="a-name-that-only-begins-like-a-mount"),
        pytest.param("/mnt/with space/project", "cifs", id="a-space-in-its-name"),
        pytest.param("/mnt/twice/project", "fuse.sshfs", id="mounted-over-another"),
        pytest.param("/mnt/share", "9p", id="a-virtual-machine-s-share"),
        pytest.param("/mnt/cut/project", "ext4", id="a-row-that-is-cut-says-nothing"),
    ],
)
def test_the_type_of_the_file_system(table: Path, folder: str, expected: str) -> None:
    assert filesystem_type(Path(folder), table) == expected


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        pytest.param("/home/dev/project", "nfs4", id="nfs"),
        pytest.param("/mnt/with space", "cifs", id="windows-share"),
        pytest.param("/mnt/twice", "fuse.sshfs", id="sshfs"),
        pytest.param("/srv", "", id="a-local-disk-is-fine"),
    ],
)
def test_a_network_is_warned_of_with_a_way_out(table: Path, folder: str, kind: str) -> None:
    warning = network_warning(Path(folder), table)
    if kind:
        assert warning.startswith(f"{folder} is on {kind}: locks may not work")
        assert "PHASE_GATE_DIR" in warning
    else:
        assert warning == ""
