"""What only an xdist worker sees: which tests were deselected, where files are, which groups were put into ids."""

from __future__ import annotations

import contextlib
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from phase_gate.codec import spell_out, spell_out_each
from phase_gate.recording.early import start_snapshot
from phase_gate.recording.modules import found_modules, imported_files, loaded_names
from phase_gate.recording.outcomes import OutcomeWitness

if TYPE_CHECKING:
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.frozen.items import ItemWitness
    from phase_gate.recording.slices import SliceWitness

#: The key in `workeroutput`, and in `workerinput`.
OUTPUT = INPUT = "phase_gate"


class WorkerWitness:
    """Sends a small document to the controller when the worker ends."""

    def __init__(self, config: pytest.Config, marks: CriterionMarks | None = None) -> None:
        self._config, self._marks = config, marks
        self._told: dict[str, Any] = config.workerinput.get(INPUT, {})  # type: ignore[attr-defined]
        self._origin = start_snapshot(config).origin
        is_shard = self._told.get("is_shard", False)
        self._outcomes = OutcomeWitness(config, Path(self._told.get("root", ".")), drops_matter=not is_shard)
        self._outcomes.guard(phase_gate_outcomes=self._outcomes)
        self._slices: SliceWitness | None = None
        if is_shard:
            from phase_gate.recording.slices import SliceWitness

            self._slices = SliceWitness()
            self._outcomes.guard(phase_gate_slices=self._slices)
        self._parts: ItemWitness | None = None
        if self._told.get("freezes"):
            from phase_gate.recording.frozen.items import ItemWitness

            self._parts = ItemWitness(Path(self._told["root"]))
            self._outcomes.guard(phase_gate_parts=self._parts)
        self._failed: set[str] = set()
        self._deselected: list[str] = []
        self._paths: dict[str, str] = {}
        self._groups: set[str] = set()
        self._groups_are_in_ids = bool(getattr(config.option, "loadgroup", False))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected += [item.nodeid for item in items]
        for item in items:
            self._see(item)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self._see(item)

    def _see(self, item: pytest.Item) -> None:
        part = item.nodeid.partition("::")[0]
        if part not in self._paths:
            self._paths[part] = str(item.path)
        if self._groups_are_in_ids:
            marks = item.iter_markers("xdist_group")
            names = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
            self._groups.add("_".join(sorted(names)))  # as xdist joins them

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # So that a report which is changed on its way can be told.
        if report.outcome == "failed":
            self._failed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._origin.is_left():
            return  # the controller says that it heard nothing
        # A fault of ours must not end the worker: the controller says that it heard nothing.
        with contextlib.suppress(Exception):
            output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]
            # One text: a list would go through functions that a test may have left patched.
            output[OUTPUT] = dumps(self._document())

    def _document(self) -> dict[str, Any]:
        document = {
            "deselected": self._deselected,
            "paths": self._paths,
            "groups": sorted(self._groups - {""}),
            "doubts": spell_out_each(self._outcomes.doubts()),
            "failed": sorted(self._failed),
            "criteria": {} if self._marks is None else {node: list(ids) for node, ids in self._marks.by_node.items()},
            "guarding": self._guarding(),
            "modules": found_modules(self._told.get("modules", ()), self._told.get("root", ".")),
            "imported": imported_files(self._outcomes.ownership),
        }
        if self._parts is not None:
            document["parts"] = spell_out(self._parts.parts)
        if self._slices is not None:
            document |= {
                "slices": self._slices.to_json(),
                "modules": found_modules(loaded_names(), self._told["root"]),
            }
        return document

    def _guarding(self) -> dict[str, str]:
        if not self._told.get("wants_reasons"):
            return {}  # their marks are looked at in a phase that wants failing tests only
        from phase_gate.recording.guarding import guarding_nodes

        return guarding_nodes(self._config)


def read_worker(node: Any) -> dict[str, Any] | None:
    """Return what a worker told when it ended; None if that is nothing, or nothing that can be read."""
    try:
        told: dict[str, Any] = loads(node.workeroutput[OUTPUT])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return told
