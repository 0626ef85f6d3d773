"""Take the clients from npm, into a folder of their own; then leave every network but the loopback interface."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent / "package.json"

_ALONE = "PHASE_GATE_ALONE"
#: From `linux/sockios.h` and `linux/if.h`: set an interface's flags; up and running.
_SET_FLAGS, _UP = 0x8914, 0x41


def install(folder: Path) -> Path:
    """Return the folder with the clients' programs, in the versions of `package.json`."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not there: install Node 20 or newer")
    folder.mkdir(parents=True, exist_ok=True)
    text, place = PACKAGE.read_text(encoding="utf-8"), folder / "package.json"
    programs = folder / "node_modules" / ".bin"
    if place.exists() and place.read_text(encoding="utf-8") == text and programs.is_dir():
        return programs
    place.write_text(text, encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        place.unlink()
        raise SystemExit(f"npm install ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return programs


def version_of(programs: Path, package: str) -> str:
    document = json.loads((programs.parent / package / "package.json").read_text(encoding="utf-8"))
    return str(document["version"])


def go_alone(module: str, words: Sequence[str]) -> int | None:
    """Start this program again in a network of its own; return what it ended with. None: this is it, go on.

    Where that can't be had, the program goes on as it is: the clients are still given no address but ours.
    """
    if os.environ.get(_ALONE):
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
        return None
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode != 0:
        print("this system gives no network of its own: clients could reach others", file=sys.stderr)
        return None
    command = [unshare, "-rn", sys.executable, "-m", module, *words]
    return subprocess.run(command, env={**os.environ, _ALONE: "yes"}, check=False).returncode
