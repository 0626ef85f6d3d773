"""The command and pytest, typed into a shell or called by a script, without starting Python anew each time.

What stands in the folder of programs asks through a socket; the warm server runs it, and the asker says what it said
and ends as it did. Where the server is busy, or something is given to the program to read, it starts as usual.
"""

from __future__ import annotations

import contextlib
import marshal
import shlex
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tests.warm import WarmServer

#: Asks. Started without `site`: it takes a tenth of the time of what it stands for.
_ASKER = """\
import marshal, os, stat, sys
place, module, *words = sys.argv[1:]
status = [os.fstat(number) for number in range(3)]
if stat.S_ISCHR(status[0].st_mode):
    import _socket
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    asking.connect(place)
    is_mixed = (status[1].st_dev, status[1].st_ino) == (status[2].st_dev, status[2].st_ino)
    order = marshal.dumps((os.getcwd(), [module, *words], dict(os.environ), is_mixed))
    while order:
        order = order[asking.send(order):]
    asking.shutdown(_socket.SHUT_WR)
    said = b""
    while part := asking.recv(1 << 16):
        said += part
    if said:
        code, *texts = marshal.loads(said)
        for number, text in enumerate(texts, start=1):
            while text:
                text = text[os.write(number, text):]
        os._exit(code & 255)
os.execv(sys.executable, [sys.executable, "-m", module, *words])
"""


class WarmShell:
    """Runs the command and pytest by the warm server, one at a time."""

    def __init__(self, children: Callable[[], WarmServer], folder: Path) -> None:
        self._children, self._is_busy = children, threading.Lock()
        self._asker, self._place = folder / "ask.py", folder / "socket"
        self._asker.write_text(_ASKER, encoding="utf-8")
        self._waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._waiting.bind(str(self._place))
        self._waiting.listen()
        threading.Thread(target=self._listen, daemon=True).start()

    def line(self, module: str) -> str:
        """Return the beginning of a line for a shell that runs a module of Python as a program."""
        return shlex.join([sys.executable, "-I", "-S", str(self._asker), str(self._place), module])

    def run(
        self, root: Path, words: tuple[str, ...], environment: dict[str, str], *, is_mixed: bool
    ) -> tuple[int, str] | tuple[int, str, str] | None:
        """Run it; None where another one is running."""
        if not self._is_busy.acquire(blocking=False):
            return None
        try:
            server = self._children()
            return (server.run_mixed if is_mixed else server.run)(root, words, environment)
        finally:
            self._is_busy.release()

    def close(self) -> None:
        self._waiting.shutdown(socket.SHUT_RDWR)
        self._waiting.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                asking, _ = self._waiting.accept()
                threading.Thread(target=self._answer, args=(asking,), daemon=True).start()

    def _answer(self, asking: socket.socket) -> None:
        with asking:
            root, words, environment, is_mixed = marshal.loads(b"".join(iter(lambda: asking.recv(1 << 16), b"")))
            answer = self.run(Path(root), tuple(words), environment, is_mixed=is_mixed)
            if answer is not None:
                code, *texts = answer
                asking.sendall(marshal.dumps((code, *(text.encode() for text in texts))))
