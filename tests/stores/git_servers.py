"""Serve bare repositories on loopback: by http with git's own `http-backend`, by ssh with a daemon of our own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.stores.database import free_port


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
        body = self._read_body()
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        said = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        fields = [row.partition(": ") for row in head.decode().split("\r\n") if row]
        self.send_response(next((int(value.split()[0]) for name, _, value in fields if name == "Status"), 200))
        for name, _, value in fields:
            if name not in ("Status", "Content-Length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    do_GET = do_POST = _serve  # noqa: N815

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *request: Any) -> None:
        """A client that goes away is none of the server's errors."""


@contextlib.contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve the repositories in a folder by http; yields the address that they are below."""
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"root": root}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
        end = time.monotonic() + 30
        while subprocess.run([*ask.split(), "127.0.0.1", "true"], capture_output=True, check=False).returncode:
            assert process.poll() is None, (folder / "sshd.log").read_text()
            assert time.monotonic() < end, (folder / "sshd.log").read_text()
            time.sleep(0.1)
        yield f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{port}", {"GIT_SSH_COMMAND": f"{ask} -q"}
    finally:
        process.kill()
        process.wait()
