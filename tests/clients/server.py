"""A scripted model behind HTTP on the loopback interface, in the four interfaces that clients speak."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar

from phase_gate.values import Value
from tests.clients.dialects import STATUSES, Dialect, find_dialect
from tests.clients.model import Call, Fault, Say, Script, Step, Talk

#: In the client's own terms; words stay words.
Translate = Callable[[Step], Say | Call]

GARBAGE = b'data: {"type": "\xff\xfe\x00 {{{ \n\nevent: \x1b[2J\ndata: ]]>\n\n'


class Exchange(Value):
    """One request, and what became of it."""

    path: str
    talk: Talk | None
    #: The words, the call or the fault that answered it; a status where it was neither.
    answer: Say | Call | Fault | int


class ModelServer:
    """Serve one script until it is closed; `seen` has all that was asked."""

    def __init__(self, script: Script, translate: Translate) -> None:
        self.script, self.translate = script, translate
        self.seen: list[Exchange] = []
        self.closing = threading.Event()
        self._asked: Counter[int] = Counter()
        self._guard = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def asked(self) -> list[Exchange]:
        """The requests of the work itself, without those on the side."""
        return [each for each in self.seen if each.talk is not None and each.talk.tools]

    @property
    def told(self) -> str:
        """All that the model was told, but for what it said itself."""
        return "\n".join(text for each in self.asked if each.talk is not None for text in each.talk.told)

    def decide(self, talk: Talk) -> Say | Call | Fault:
        if not talk.tools:
            return Say("ok")  # a title, a summary, a look at whether the model is there
        with self._guard:
            asked = self._asked[talk.turns]
            self._asked[talk.turns] += 1
        return self.script.fault(talk, asked) or self.translate(self.script.step(talk))


class _Handler(BaseHTTPRequestHandler):
    owner: ClassVar[ModelServer]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.partition("?")[0].endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})
        else:
            self._refuse_path()

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        document = self._read()
        if self.path.partition("?")[0].endswith(("/count_tokens", ":countTokens")):
            self._send(200, {"input_tokens": 10, "totalTokens": 10})
            return
        dialect = find_dialect(self.path)
        if dialect is None or document is None:
            self._refuse_path()
            return
        talk = dialect.read(document, self.path)
        answer = self.owner.decide(talk)
        self.owner.seen.append(Exchange(path=self.path, talk=talk, answer=answer))
        self._answer(dialect, talk, answer)

    def _answer(self, dialect: Dialect, talk: Talk, answer: Say | Call | Fault) -> None:
        if answer == "hang":
            self.owner.closing.wait()
            self.close_connection = True
        elif answer == "garbage":
            self._stream(GARBAGE)
            self.close_connection = True
        elif isinstance(answer, str):
            status = STATUSES[answer]
            headers = {"Retry-After": "1"} if status >= 429 else {}
            self._send(status, dialect.refuse(status, *dialect.refusals[answer]), **headers)
        elif talk.is_stream:
            self._stream(b"".join(self._events(dialect, talk, answer)))
        else:
            self._send(200, dialect.whole(answer, talk))

    def _events(self, dialect: Dialect, talk: Talk, answer: Say | Call) -> list[bytes]:
        rows = [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
            for name, data in dialect.stream(answer, talk)
        ]
        if dialect.last:
            rows.append(f"data: {dialect.last}\n\n")
        return [row.encode() for row in rows]

    def _stream(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send(self, status: int, document: Any, **headers: str) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _read(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else self._read_chunks()
        try:
            return json.loads(body)
        except ValueError:
            return None

    def _read_chunks(self) -> bytes:
        parts = []
        while self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            parts.append(self.rfile.read(size))
            self.rfile.readline()
            if not size:
                break
        return b"".join(parts)

    def _refuse_path(self) -> None:
        self.owner.seen.append(Exchange(path=self.path, talk=None, answer=404))
        self._send(404, {"error": {"message": "not found", "type": "not_found_error", "code": 404}})

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Nothing: `seen` has it."""
