"""Processes that start fast end as those that users start, forked or not."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.warm import CAN_FORK, WarmServer, clean_environment

pytestmark = pytest.mark.processes


@pytest.mark.skipif(not CAN_FORK, reason="there is only one of them here")
def test_what_is_forked_and_what_is_not_end_alike(tmp_path: Path) -> None:
    (root := tmp_path / "project").mkdir()
    (root / "test_leave.py").write_text("import os\n\n\ndef test_leave():\n    os._exit(7)\n", encoding="utf-8")
    orders = [("pytest", "-q", "-p", "phase_gate.plugin"), ("phase-gate", "check"), ("phase-gate", "chek")]
    ended = []
    for forks in (True, False):
        with contextlib.closing(WarmServer(tmp_path / f"{forks}", forks=forks)) as server:
            ended.append([server.run(root, order, clean_environment(tmp_path)) for order in orders])
    assert ended[0] == ended[1]
    assert [code for code, _, _ in ended[1]] == [7, 10, 2]
