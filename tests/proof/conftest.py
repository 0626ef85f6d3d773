"""Sandboxes of both kinds."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

from phase_gate.proof import sandbox as sandboxes
from phase_gate.proof.sandbox import Kind, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory
from tests.proof.stories import LIMIT


@pytest.fixture(params=["mounted", "copied"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A system that allows mounts, and one that does not; the second stands in for the first where it has to."""
    wanted: Kind = "mounted" if request.param == "mounted" and namespaces_work() else "copied"
    monkeypatch.setattr(sandboxes, "_refused", {"mounted"} if wanted == "copied" else set())
    return wanted


@cache
def namespaces_work() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory((), LIMIT, ["--version"])
        laboratory.run(Sandbox(root=Path(folder)))
    return laboratory.kind == "mounted"
