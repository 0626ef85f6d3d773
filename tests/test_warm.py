"""Processes that start fast end alike, whether they are forked or, as on Windows, started."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import needs_fork
from tests.warm import WarmServer, clean_environment

pytestmark = pytest.mark.processes


@needs_fork
def test_what_is_not_forked_ends_like_what_is(tmp_path: Path, children: Callable[[], WarmServer]) -> None:
    (root := tmp_path / "project").mkdir()
    (root / "test_leave.py").write_text("import os\n\n\ndef test_leave():\n    os._exit(7)\n", encoding="utf-8")
    order = root, ("pytest", "-p", "phase_gate.plugin"), clean_environment(tmp_path)
    with contextlib.closing(WarmServer(tmp_path / "started", forks=False)) as started:
        ended = started.run(*order)
    assert ended == children().run(*order)
    assert ended[0] == 7
