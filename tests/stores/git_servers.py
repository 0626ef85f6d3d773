"""Serve bare repositories on loopback by ssh, with a daemon of our own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.stores.database import free_port

#: Debian has it where no user's path leads to.
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")


@contextlib.contextmanager
def serve_by_ssh(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Start an ssh daemon on loopback; yields the address of its root folder, and the variables that git needs."""
    assert SSHD is not None, "it is installed"
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    port = free_port()
    settings = ("StrictModes=no", "UsePAM=no", "PermitRootLogin=yes", "MaxStartups=200", "PidFile=none")
    words = [word for each in settings for word in ("-o", each)]
    words += ["-o", f"AuthorizedKeysFile={folder / 'user.pub'}", "-h", str(folder / "host"), "-p", str(port)]
    command = [SSHD, "-D", "-e", "-f", os.devnull, "-o", "ListenAddress=127.0.0.1", *words]
    with open(folder / "sshd.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    ask = f"ssh -i {folder / 'user'} -p {port} -o StrictHostKeyChecking=no -o UserKnownHostsFile={os.devnull}"
    try:
        while (asked := subprocess.run([*ask.split(), "127.0.0.1", "true"], capture_output=True)).returncode:
            is_starting = process.poll() is None and b"refused" in asked.stderr
            assert is_starting, (folder / "sshd.log").read_text(encoding="utf-8")
            time.sleep(0.1)
        import pwd

        yield f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{port}", {"GIT_SSH_COMMAND": f"{ask} -q"}
    finally:
        process.kill()
        process.wait()
