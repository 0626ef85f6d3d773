"""A pytest plugin that offers the store in this process: `memory:NAME#PROJECT`."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from phase_gate.stores import choosing, offered
from tests.stores.in_memory import InMemoryStore, Server

SERVERS: dict[str, Server] = {}


def pytest_phase_gate_store(kind: str, place: str) -> InMemoryStore | None:
    return InMemoryStore(SERVERS.setdefault(place, Server())) if kind == "memory" else None


def install(monkeypatch: pytest.MonkeyPatch, *, store: str | None = "memory:#shop") -> Server:
    """Install the plugin for this process, with a server that is new; return that of the place without a name.

    :param store: what the user's environment names; None for nothing.
    """
    SERVERS.clear()
    point = EntryPoint(name="memory", value=__name__, group="pytest11")
    monkeypatch.setattr(offered, "entry_points", lambda group: [point])
    monkeypatch.setattr(choosing, "_opened", {})
    if store is not None:
        monkeypatch.setenv("PHASE_GATE_STORE", store)
    return SERVERS.setdefault("", Server())
