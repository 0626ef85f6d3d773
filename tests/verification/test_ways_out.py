"""No dead end: what an honest executor, reviewer or person is told to type leads on."""

from __future__ import annotations

import pytest

from tests.conformance.verifying import Gate
from tests.support import Sample


@pytest.fixture
def gate(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(sample, monkeypatch)


# --- the state folder


def test_git_sees_nothing_of_the_state_folder(gate: Gate) -> None:
    gate.sample.write({".gitignore": "*.yaml\n__pycache__/\n"})
    gate.sample.commit_all()
    gate.start()
    assert (gate.root / ".phase-gate" / "STATE.md").exists()
    assert gate.sample.git("status", "--porcelain") == ""
