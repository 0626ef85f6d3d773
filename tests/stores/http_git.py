"""Serve bare repositories by http on loopback: git's own `http-backend` behind a server of the standard library."""

from __future__ import annotations

import contextlib
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path

    def _serve(self) -> None:
        path, _, query = self.path.partition("?")
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
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        body = self._read_body()
        environment["CONTENT_LENGTH"] = str(len(body))
        said = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True).stdout
        head, _, content = said.partition(b"\r\n\r\n")
        fields = [row.partition(": ") for row in head.decode().split("\r\n") if row]
        status = next((int(value.split()[0]) for name, _, value in fields if name == "Status"), 200)
        self.send_response(status)
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
def serve(root: Path, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve the repositories in a folder; yields the address that they are below.

    :param context: serve them by https.
    """
    handler = type("Handler", (_Handler,), {"root": root})
    server = _Server(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"{'http' if context is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
