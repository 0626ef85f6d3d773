"""Sandboxes of both kinds."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

from phase_gate.proof import sandbox as sandboxes
from phase_gate.proof.sandbox import Kind, NoSandboxError, Sandbox
from tests.proof.stories import run_in


@pytest.fixture(params=["mounted", "copied"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A system that allows mounts, and one that does not; the second stands in for the first where it has to."""
    wanted: Kind = "mounted" if request.param == "mounted" and namespaces_work() else "copied"
    monkeypatch.setattr(sandboxes, "_refused", {"mounted"} if wanted == "copied" else set())
    return wanted


@cache
def namespaces_work() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_in(Sandbox(root=Path(folder)), "--version", "mounted")
        except NoSandboxError:
            return False
    return True
