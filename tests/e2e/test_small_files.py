"""Ledger and state stay small: a line has what is new, and people read `state.json`."""

from __future__ import annotations

import json

import pytest

from tests.support import Project

#: Bytes of the ledger that a run of a small suite takes at most, and lines of `state.json`.
_RUN, _LINES = 2048, 60


@pytest.mark.parametrize("tests", ["def test_add():\n    assert 1\n", None])
def test_a_run_adds_little_to_the_ledger(project: Project, tests: str | None) -> None:
    if tests is None:
        project.green()
    else:
        project.write(test_it=tests)
        project.run("--phase=green")
    ledger = project.root / ".phase-gate" / "ledger.jsonl"
    before = ledger.stat().st_size
    project.run("--phase=green")
    project.run("--phase=green")
    assert ledger.stat().st_size - before <= 2 * _RUN
    text = (project.root / ".phase-gate" / "state.json").read_text(encoding="utf-8")
    assert len(text.splitlines()) < _LINES
    assert json.loads(text)["last_run"]["kind"] == "complete"
