"""The pytest side of a piece: one of two that are one run, in a room and beside it. It answers to whom started it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pytest

from phase_gate.errors import UsageError
from phase_gate.gate.order import named_phase
from phase_gate.recording.early import start_snapshot
from phase_gate.recording.options import Options
from phase_gate.recording.pieces import MissingWitness, find_strays, piece_hooks
from phase_gate.recording.preparing import prepare
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.worker import read_worker
from phase_gate.report.panel import Line as PanelLine
from phase_gate.rooms.line import Line
from phase_gate.shards.files import shard_to_json
from phase_gate.shards.record import Shard, Split
from phase_gate.shards.recorder import ShardRecorder
from phase_gate.workflow.model import Phase

#: Options of reports, of pytest and of its plugins: half of a suite would be written over the whole of it. And those
#: that ask the user, who is not there.
_LEFT_OFF: dict[str, object] = {
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "json_report_file": None,
    "csv_path": None,
    "md_report_output": None,
    "benchmark_json": None,
    "allure_report_dir": None,
    "pastebin": None,
    "usepdb": False,
    "trace": False,
}

_HEADERS = {
    "room": "in the room with the frozen tests",
    "beside": "beside the room: tests that it does not have",
}


def leave_reports(config: pytest.Config) -> None:
    """Take the options away that a piece has no use for, before they are looked at."""
    for name, value in _LEFT_OFF.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


class PieceRecorder(ShardRecorder):
    plugin = "phase_gate_piece"
    if_nothing = "so this run is not complete"

    def __init__(
        self, config: pytest.Config, run: RecordedRun, options: Options, split: Split, phase: Phase, line: Line
    ) -> None:
        super().__init__(config, run, options, split, phase)
        self._line = line
        self.origin.mark = None if self._void else Path(line.order["mark"])
        self._missing = MissingWitness()
        self._strays: set[str] = set()

    @classmethod
    def _prepare(cls, config: pytest.Config) -> Self:
        line = start_snapshot(config).line
        if line is None:
            raise UsageError(
                "--phase-shard=piece: only --phase-confirm-room says so, to runs of its own",
                remedy="write --phase-shard=2/5, or auto",
            )
        prepared, order = prepare(config), line.order
        options, workflow = prepared.options, prepared.workflow
        typed = tuple(map(str, config.invocation_params.args))
        run = RecordedRun(prepared.project, workflow, prepared.store, Request(phase=options.phase, arguments=typed))
        phase = named_phase(workflow, options.phase)
        assert phase is not None, "the phase was named"
        run.phase, run.freezes, run.is_first = phase, order["freezes"], False
        run.criteria_given = order["criteria"]
        split = Split(order["index"], order["total"], order["part"])
        recorder = cls(config, run, options, split, phase, line)
        recorder._take_criteria()
        return recorder

    def _witnesses(self) -> dict[str, object]:
        hooks = piece_hooks(self._line.order, self._witness.collection.test_id)
        return {**super()._witnesses(), **hooks, "phase_gate_not_found": self._missing}

    def _worker_input(self) -> dict[str, Any]:
        order = self._line.order
        return {
            **super()._worker_input(),
            "piece": {name: order[name] for name in ("left_out", "uncollectable", "outer")},
        }

    def _see_worker(self, node: Any) -> None:
        super()._see_worker(node)
        seen = read_worker(node)
        if seen is not None:
            self._strays |= set(seen["strays"])

    def _finish(self, exit_status: int) -> None:
        super()._finish(exit_status)
        strays = self._strays | set(find_strays(self._line.order["outer"]))
        self._line.send("ended", strays=sorted(strays), missing=sorted(self._missing.names - {""}))

    def _write(self, shard: Shard) -> None:
        self._line.send("shard", shard=shard_to_json(shard))

    def _header(self) -> str:
        return f"phase gate: {self._phase.name}, {_HEADERS[self._split.part]}"

    def panel(self) -> list[PanelLine]:
        # The run that it is a part of has one.
        return [] if self._problem is None and not self._void else super().panel()

    def announce(self) -> tuple[str, ...]:
        return ()
