"""Workers of xdist: what the controller asks them to observe, and what they send when they end."""

from __future__ import annotations

import contextlib
import os
from json import dumps, loads
from pathlib import Path
from typing import Any

import pytest

from phase_gate.codec import from_json, to_json
from phase_gate.gate.measured import Finding, Seen, Wanted
from phase_gate.recording.witness import Hooks, Process, Witness

#: The key in `workeroutput`, and in `workerinput`.
CHANNEL = "phase_gate"


class ControllerHooks(Hooks):
    """Tells workers what to observe, and adds what they saw to the outcomes."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        # The data that a worker needs from us; it gets everything else from pytest.
        node.workerinput[CHANNEL] = to_json(self._witness.wanted)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        # Every worker collects the same tests. If they differ, keep the union.
        self._witness.nodes = list(dict.fromkeys((*self._witness.nodes, *ids))) if self._witness.nodes else list(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # The controller itself notices only that no test was collected.
        output = getattr(node, "workeroutput", {})
        self._witness.has_usage_error |= output.get("exitstatus") == pytest.ExitCode.USAGE_ERROR
        seen = read_worker(node)
        if seen is not None:
            self._witness.workers.append(seen)
        else:
            # The worker crashed, exited early, or had our hooks removed: its observations are lost.
            name = str(getattr(getattr(node, "gateway", None), "id", "?"))
            detail = "ended without telling what it saw"
            self._witness.silent_workers.append(
                Finding(slug="worker-silent", guard="outcomes-genuine", tier="hard", id=name, detail=detail)
            )


def read_worker(node: Any) -> Seen | None:
    """Return the observations that a worker sent when it ended; None if they are missing or unreadable."""
    try:
        return from_json(Seen, loads(node.workeroutput[CHANNEL]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


# --- in the process of a worker


def start_worker(config: pytest.Config) -> None:
    os.environ.pop("PHASE_GATE_PHASE", None)  # processes that tests start are not runs of a verify command
    workerinput: dict[str, object] = config.workerinput  # type: ignore[attr-defined]
    wanted = from_json(Wanted, workerinput.get(CHANNEL, {"root": "."}))
    witness = Witness(config, wanted)
    witness.register(phase_gate_witness=witness, phase_gate_worker=WorkerHooks(config, witness))
    if wanted.reasons:
        from phase_gate.recording.reasons import ReasonHooks

        config.pluginmanager.register(ReasonHooks(Path(wanted.root)), "phase_gate_reasons")


class WorkerHooks(Hooks):
    """Sends the observations of a worker to the controller when the worker ends."""

    def __init__(self, config: pytest.Config, witness: Witness) -> None:
        self._config, self._witness = config, witness
        self._process = Process()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._process.is_left():
            return  # the controller reports the missing data
        # An internal error must not end the worker: the controller reports the missing data.
        with contextlib.suppress(Exception):
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            document = {**to_json(self._witness.seen()), "failed": list(self._witness.buckets.failures)}
            # One string: a list would pass through functions that a test may have left patched.
            output[CHANNEL] = dumps(document)
