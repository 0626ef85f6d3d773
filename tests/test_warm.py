"""The warm server: what it starts is a process as any other, and one that took too long spoils nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.warm import WarmServer

SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(20)\n"


class TookTooLongError(Exception):
    """What a time-out raises in the middle of waiting."""


def _give_up(number: int, frame: object) -> None:
    raise TookTooLongError


def test_after_one_that_took_too_long_the_next_gets_its_own_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = WarmServer(tmp_path / "server")
    (tmp_path / "test_slow.py").write_text(SLOW, encoding="utf-8")
    before = signal.signal(signal.SIGUSR1, _give_up)
    try:
        assert server.run(tmp_path, ("phase-gate", "--version"), dict(os.environ))[0] == 0
        (tmp_path / "conftest.py").write_text(f"import os\n\nos.kill({os.getpid()}, {int(signal.SIGUSR1)})\n")
        with pytest.raises(TookTooLongError):
            server.run(tmp_path, ("pytest", "-q"), dict(os.environ))
        assert server.run(tmp_path, ("phase-gate", "no-such-command"), dict(os.environ))[0] == 2
    finally:
        signal.signal(signal.SIGUSR1, before)
        server.close()
