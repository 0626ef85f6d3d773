"""Both wheels of this checkout, offered by a package index on loopback, as a released version would be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

ROOT = Path(__file__).parents[2]
#: Of the wheels that newcomers get.
VERSION = "v1.0.0"


def build(folder: Path) -> None:
    """Put the pages of an index there, with both wheels of what is committed, as if it were released."""
    released = folder.parent / "released"
    for words in (("clone", "-q", str(ROOT), str(released)), ("-C", str(released), "tag", VERSION)):
        subprocess.run(("git", *words), check=True)
    for name, source in (("phase-gate", released), ("pytest-phase-gate", released / "plugin")):
        goal = folder / name
        goal.mkdir(parents=True)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(goal), str(source)]
        subprocess.run(command, check=True)
        links = "".join(f'<a href="{quote(path.name)}">{escape(path.name)}</a>\n' for path in goal.glob("*.whl"))
        (goal / "index.html").write_text(f"<!doctype html><title>{name}</title>\n{links}", encoding="utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve it, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
