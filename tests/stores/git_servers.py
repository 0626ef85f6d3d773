"""Serve bare repositories on loopback: by ssh with a daemon of our own, by https with git's own program behind it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        end = time.monotonic() + 30
        while subprocess.run([*ask.split(), "127.0.0.1", "true"], capture_output=True, check=False).returncode:
            assert process.poll() is None, (folder / "sshd.log").read_text()
            assert time.monotonic() < end, (folder / "sshd.log").read_text()
            time.sleep(0.1)
        yield f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{port}", {"GIT_SSH_COMMAND": f"{ask} -q"}
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def serve_by_https(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Start a web server on loopback; yields the address of the folder, and the variables that git needs."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-nodes"]
    words += [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run(["openssl", "req", "-x509", *words], check=True, capture_output=True)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self._read_body())

        def log_message(self, *given: object) -> None:
            """Say nothing."""

        def _read_body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers["Content-Length"]))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            variables = {
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REMOTE_USER": "writer",  # may push
            }
            done = subprocess.run(
                ["git", "http-backend"], input=body, env={**os.environ, **variables}, capture_output=True, check=False
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = [row.partition(": ") for row in head.decode().splitlines()]
            status = next((value for name, _, value in fields if name == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, _, value in (*fields, ("Content-Length", "", str(len(content)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}/", {"GIT_SSL_CAINFO": str(certificate)}
        finally:
            server.shutdown()
            thread.join()
