"""Cut this process off from every network but the loopback interface, where the system allows it."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

_ALONE = "PHASE_GATE_ALONE"
#: From `linux/sockios.h` and `linux/if.h`: set an interface's flags; up and running.
_SET_FLAGS, _UP = 0x8914, 0x41


def go_alone(module: str, words: Sequence[str]) -> int | None:
    """Start this program again in a network of its own; return what it ended with. None: this is it, go on.

    Where that can't be had, the program goes on as it is: the clients are still given no address but ours.
    """
    if os.environ.get(_ALONE):
        _raise_loopback()
        return None
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode != 0:
        print("this system gives no network of its own: clients could reach others", file=sys.stderr)
        return None
    command = [unshare, "-rn", sys.executable, "-m", module, *words]
    return subprocess.run(command, env={**os.environ, _ALONE: "yes"}, check=False).returncode


def _raise_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
