"""A command whose process is watched comes to its ordinary end: who watches has something to write there."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from phase_gate.cli import main


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How the process left early, in a plain one that nothing looks at."""
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr("atexit._ncallbacks", lambda: 0)
    monkeypatch.delitem(sys.modules, "threading")
    monkeypatch.setattr("phase_gate.cli._run", lambda given: 0)
    monkeypatch.setattr("gc.set_threshold", lambda number: None)
    for name in ("gettrace", "getprofile"):
        monkeypatch.setattr(sys, name, lambda: None)
    monkeypatch.setattr(sys, "monitoring", SimpleNamespace(get_tool=lambda number: None), raising=False)
    return codes


def test_a_plain_one_leaves_early(left: list[int]) -> None:
    main()
    assert left == [0]


@pytest.mark.parametrize("name", ["gettrace", "getprofile", "monitoring"])
def test_one_that_is_watched_does_not(left: list[int], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # As by cProfile since Python 3.12.
    found = SimpleNamespace(get_tool={2: "cProfile"}.get) if name == "monitoring" else lambda: print
    monkeypatch.setattr(sys, name, found)
    assert main() == 0
    assert left == []
