"""The pytest side of a shard: it records what its session shows, into one file, and judges nothing.

No ledger is touched: `phase-gate ci combine` makes one run of all shards, and that is what counts.
"""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path
from typing import Any, Self

import pytest

from phase_gate.errors import StateError, StoreUnreachableError, UsageError
from phase_gate.gate.order import named_phase
from phase_gate.gate.record import SessionFacts
from phase_gate.gate.standing import exit_status_for
from phase_gate.recording.announce import write_properties
from phase_gate.recording.frozen.meaning import support_files, written_since
from phase_gate.recording.modules import loaded_names
from phase_gate.recording.options import Options, describe_narrowing
from phase_gate.recording.preparing import prepare
from phase_gate.recording.recorder import SessionRecorder
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.slices import SliceWitness
from phase_gate.recording.worker import read_worker
from phase_gate.report.panel import Line
from phase_gate.shards.files import FOLDER, write_shard
from phase_gate.shards.record import Shard, Split, collection_digest, to_ranges
from phase_gate.shards.sharing import hand_in, round_of
from phase_gate.shards.split import read_split
from phase_gate.storage.store import now
from phase_gate.storage.tree.fingerprint import Tree, changed_sources
from phase_gate.storage.tree.git import head_of
from phase_gate.values import replace
from phase_gate.visible import count
from phase_gate.workflow.model import Phase
from phase_gate.workflow.model_json import workflow_to_json

#: pytest's status for a session without tests.
_NOTHING_COLLECTED = 5


class ShardRecorder(SessionRecorder):
    plugin = "phase_gate_shard"
    is_shard = True
    if_nothing = "so this shard is missing"

    def __init__(self, config: pytest.Config, run: RecordedRun, options: Options, split: Split, phase: Phase) -> None:
        super().__init__(config, run, options)
        self._split, self._phase = split, phase
        self._slices = SliceWitness()
        self._before: Tree | None = None
        self._shard: Shard | None = None
        #: Whether the shared store knows that it began.
        self._is_begun = False

    @classmethod
    def _prepare(cls, config: pytest.Config) -> Self:
        typed = tuple(map(str, config.invocation_params.args))
        prepared = prepare(config)
        options, workflow = prepared.options, prepared.workflow
        split = read_split(config.option.phase_shard, config, prepared.project.environment)
        _refuse_verdicts(config)
        run = RecordedRun(prepared.project, workflow, prepared.store, Request(phase=options.phase, arguments=typed))
        phase = named_phase(workflow, options.phase)
        if phase is None:
            names = ", ".join(each.name.lower() for each in workflow.phases)
            raise UsageError("--phase=auto: a shard has to name its phase", remedy=f"use one of: {names}")
        with contextlib.suppress(StateError):  # a damaged one is for the combining job to report
            opened = run.store.look()
            if opened.exists:
                run.check_order(opened)  # refused when they are combined: better now than then
        run.phase = phase
        recorder = cls(config, run, options, split, phase)
        recorder._take_criteria()
        return recorder

    def _register(self) -> None:
        super()._register()

    def _witnesses(self) -> dict[str, object]:
        return {**super()._witnesses(), "phase_gate_slices": self._slices}

    # --- the session ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._before = self._project.take_tree(new_data=False)
        self._shard = self._begun(self._before)
        self._write(self._shard)

    def _header(self) -> str:
        return f"phase gate: shard {self._split} of {self._phase.name}, root {self._project.root}"

    def _worker_input(self) -> dict[str, Any]:
        return {"is_shard": True}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._see_worker(node)

    def _see_worker(self, node: Any) -> None:
        seen = read_worker(node)
        if seen is not None:
            self._slices.see_worker(seen["slices"])

    def _finish(self, exit_status: int) -> None:
        self._write(self._end(exit_status))

    # --- the record ----------------------------------------------------------------------------------------------

    def _begun(self, tree: Tree) -> Shard:
        """Return the record of a shard that has not ended: it stays if the process dies."""
        return Shard(
            id=self.origin.run,
            split=self._split,
            task=self._project.task,
            phase=self._phase.name,
            began=now(),
            commit=head_of(self._project.root),
            tree=tree.digest,
            python=platform.python_version(),
            pytest=pytest.__version__,
            workflow=workflow_to_json(self._run.workflow),
            criteria_given=self._run.criteria_given,
            criteria=tuple(sorted(self._criteria.ids)),
        )

    def _end(self, exit_status: int) -> Shard:
        assert self._shard is not None, "it has begun"
        assert self._before is not None, "it has begun"
        after = self._project.take_tree(new_data=False)
        collection = self._witness.collection
        collection.see_paths(self._slices.paths)
        collected = tuple(sorted({collection.test_id(node) for node in self._slices.collected}))
        places = {test_id: place for place, test_id in enumerate(collected)}
        facts = self._gather_own(exit_status)
        is_output = written_since(self._project.root, self._began)
        tests = {test_id.partition("::")[0] for test_id in (*collected, *facts.outcomes)}
        used = support_files(self._project, tests, after.files, facts.testpaths)
        self._shard = replace(
            self._shard,
            facts=facts,
            changed_sources=changed_sources(self._before, after),
            written=tuple(sorted(path for path, _ in used if is_output(path))),
            collected=collected,
            collection=collection_digest(collected),
            left_out={
                who: to_ranges(sorted(places[each] for each in map(collection.test_id, nodes) if each in places))
                for who, nodes in self._slices.left_out.items()
            },
        )
        return self._shard

    def _gather_own(self, exit_status: int) -> SessionFacts:
        facts = self._gather(exit_status, loaded_names())
        # What others run is deselected here, and says nothing about the whole.
        return replace(facts, deselected=frozenset(), narrowed_by=describe_narrowing(self._config, 0))

    def _write(self, shard: Shard) -> None:
        write_shard(self._folder, shard, key=self._project.key)
        if self._run.store.shared is None:
            return
        name = round_of(self._project.environment)
        if shard.facts is None:
            # Where it can't be said now, it is said with the end.
            with contextlib.suppress(StoreUnreachableError):
                hand_in(self._run.store, shard, round_name=name)
                self._is_begun = True
            return
        begun = () if self._is_begun else (replace(shard, facts=None),)
        hand_in(self._run.store, *begun, shard, round_name=name)

    @property
    def _folder(self) -> Path:
        return self._project.root / FOLDER

    # --- what people see and the process says --------------------------------------------------------------------

    def _result_panel(self) -> list[Line]:
        assert self._shard is not None
        assert self._shard.facts is not None
        ran = count(len(self._shard.ran), "test")
        shared = self._run.store.shared
        where, combine = f"{FOLDER}/", f"phase-gate ci combine {FOLDER}"
        if shared is not None:
            where, combine = shared.shown, "phase-gate ci combine"
        return [
            Line(f"phase gate: shard {self._split} of {self._phase.name}", {"bold": True}, is_title=True),
            Line(f"{ran} of {len(self._shard.collected)} recorded in {where}; a shard alone has no verdict"),
            Line(f"Next     {combine}   (when all {self._split.total} are there)", {"bold": True}),
        ]

    def announce(self) -> tuple[str, ...]:
        """Say in pytest's JUnit report which shard it is of."""
        if getattr(self._config.option, "xmlpath", None):
            write_properties(self._config, {"phase-gate.shard": str(self._split), "phase-gate.phase": self._phase.name})
        return ()

    def exit_status(self, pytest_said: int) -> int:
        """Return pytest's own status; where the phase wants failing tests, whether the record was written."""
        if self._void:
            return pytest_said
        has_own = self._shard is not None and bool(self._shard.collected)
        if pytest_said == _NOTHING_COLLECTED and has_own:
            pytest_said = 0  # few tests, many shards: the others have them
        return exit_status_for(
            pytest_said,
            meaning="gate1",
            tests=self._phase.tests,
            is_open=True,
            is_trusted=self._problem is None,
            has_collection_errors=bool(self._witness.collection.errors) and not self._witness.interrupted,
        )


def _refuse_verdicts(config: pytest.Config) -> None:
    """Refuse options that speak of a verdict: a shard has none."""
    option, combine = config.option, f"phase-gate ci combine {FOLDER}"
    again = f"leave it out: run all shards once more after {combine}, and combine them again"
    for given, name, remedy in (
        (option.exit_signal, "--exit-signal", f'{combine} --exit-signal="..."'),
        (option.phase_confirm, "--phase-confirm", again),
        (option.phase_report, "--phase-report", f"{combine} --report FILE"),
        (option.phase_exit, "--phase-exit", f"{combine} --exit gate1, or --exit dual"),
    ):
        if given:
            raise UsageError(f"{name} speaks of a verdict, and a shard alone has none", remedy=remedy)
