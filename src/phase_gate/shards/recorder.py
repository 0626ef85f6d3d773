"""The pytest side of a shard: it records what its session shows, into one file, and judges nothing.

No ledger is touched: `phase-gate ci combine` makes one run of all shards, and that is what counts. Whatever happens to
us, the user's tests run and their output is complete.
"""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from phase_gate import exit_codes
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, UsageError, as_fault
from phase_gate.gate.order import named_phase
from phase_gate.gate.record import SessionFacts
from phase_gate.gate.runs import count
from phase_gate.gate.standing import exit_status_for
from phase_gate.recording.announce import root_to_name, show_lines, write_properties
from phase_gate.recording.controller import REPORT_FAULT, VOID_OPTIONS
from phase_gate.recording.early import early_look, own_work
from phase_gate.recording.frozen.meaning import support_files, written_since
from phase_gate.recording.modules import loaded_names
from phase_gate.recording.options import Options, describe_narrowing
from phase_gate.recording.preparing import prepare, take_criteria
from phase_gate.recording.reasons import ReasonHooks
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.session import gather_facts
from phase_gate.recording.slices import SliceWitness
from phase_gate.recording.tamper.outcomes import OutcomeWitness
from phase_gate.recording.witness import SessionWitness
from phase_gate.recording.worker import INPUT, read_worker
from phase_gate.report.panel import Line, name_root, render_problem
from phase_gate.shards.files import FOLDER, shard_mark_file, write_shard
from phase_gate.shards.record import Shard, Split, collection_digest, to_ranges
from phase_gate.shards.split import read_split
from phase_gate.storage.store import now
from phase_gate.storage.tree.fingerprint import Tree, changed_sources
from phase_gate.storage.tree.git import try_git
from phase_gate.values import replace
from phase_gate.visible import show_line
from phase_gate.workflow.model import Phase
from phase_gate.workflow.model_json import workflow_to_json

if TYPE_CHECKING:
    from phase_gate.recording.frozen.parts import PartsWitness

#: pytest's status for a session without tests.
_NOTHING_COLLECTED = 5


class ShardRecorder:
    """Registered on the controller only, never on a worker."""

    def __init__(self, config: pytest.Config, run: RecordedRun, phase: Phase, options: Options, split: Split) -> None:
        self._config, self._run, self._phase, self._split = config, run, phase, split
        self._project = run.project
        self._root = root_to_name(config, run.project.root)
        self._void = next((flag for name, flag in VOID_OPTIONS.items() if getattr(config.option, name, None)), "")
        self.origin = early_look(config).origin
        self.origin.mark = None if self._void else shard_mark_file(self._folder, self.origin.run)
        self._witness = SessionWitness(config, self._project.root, self.origin)
        self._outcomes = OutcomeWitness(config, self._project.root, drops_matter=False)
        self._slices = SliceWitness()
        self._criteria, self._marks = take_criteria(config, run, options.criteria)
        self._began, self._started = time.time(), time.perf_counter()
        self._parts: PartsWitness | None = None
        self._before: Tree | None = None
        self._shard: Shard | None = None
        self._problem: PhaseGateError | None = None

    @classmethod
    def configure(cls, config: pytest.Config) -> None:
        """Read everything that can be wrong before a test runs, and register the hooks."""
        with own_work(config):
            cls._configure(config)

    @classmethod
    def _configure(cls, config: pytest.Config) -> None:
        try:
            recorder = cls._prepare(config)
        except NotAllowedError as error:
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        own_work(config).widen()
        if recorder._phase.tests == "failing":
            config.option.continue_on_collection_errors = True
            config.pluginmanager.register(ReasonHooks(recorder._project.root), "phase_gate_reasons")
        if recorder._run.freezes:
            from phase_gate.recording.frozen.parts import PartsWitness

            recorder._parts = PartsWitness(recorder._project.root)
            recorder._outcomes.guard(phase_gate_parts=recorder._parts)
        recorder._outcomes.guard(
            phase_gate_witness=recorder._witness,
            phase_gate_outcomes=recorder._outcomes,
            phase_gate_slices=recorder._slices,
            phase_gate_shard=recorder,
            phase_gate_last_word=_LastWord(recorder),
        )

    @classmethod
    def _prepare(cls, config: pytest.Config) -> ShardRecorder:
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
        with contextlib.suppress(StateError):  # a damaged one is the business of whoever combines
            opened = run.store.look()
            if opened.exists:
                run.check_order(opened)  # refused when they are combined: better now than then
        run.phase = phase
        return cls(config, run, phase, options, split)

    # --- the session ---------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self._void or self.origin.is_left():
            return
        try:
            with own_work(self._config):
                self._before = self._project.take_tree()
                self._shard = self._begin(self._before)
                self._write(self._shard)
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    def pytest_report_header(self) -> str | list[str]:
        if self.origin.is_left():
            return []
        return show_line(f"phase gate: shard {self._split} of {self._phase.name}, root {self._project.root}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[INPUT] = {
            "root": str(self._project.root),
            "wants_reasons": self._phase.tests == "failing",
            "freezes": self._run.freezes,
            "criteria": list(self._criteria.ids),
            "is_shard": True,
            "mark": "" if self.origin.mark is None else str(self.origin.mark),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        with own_work(self._config):
            seen = read_worker(node)
            if seen is not None:
                self._slices.see_worker(seen["slices"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if self._void or self._problem is not None or self.origin.is_left():
            return
        try:
            with own_work(self._config):
                self._write(self._end(int(exitstatus)))
                self.origin.clear()
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    # --- the record ----------------------------------------------------------------------------------------------

    def _begin(self, tree: Tree) -> Shard:
        """Return the record of a shard that has not ended: it stays if the process dies."""
        commit = try_git(self._project.root, "rev-parse", "HEAD")
        return Shard(
            id=self.origin.run,
            split=self._split,
            task=self._project.task,
            phase=self._phase.name,
            began=now(),
            commit="" if commit is None else commit.decode("ascii", "replace").strip(),
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
        after = self._project.take_tree()
        collection = self._witness.collection
        collection.see_paths(self._slices.paths)
        collected = tuple(sorted({collection.test_id(node) for node in self._slices.collected}))
        places = {test_id: place for place, test_id in enumerate(collected)}
        facts = self._gather(exit_status)
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

    def _gather(self, exit_status: int) -> SessionFacts:
        facts = gather_facts(
            self._config,
            self._run,
            witness=self._witness,
            outcome_witness=self._outcomes,
            exit_status=exit_status,
            duration=time.perf_counter() - self._started,
            marks=self._marks,
            origin=self.origin,
            parts=self._parts,
            modules=loaded_names(),
        )
        # What others run is deselected here, and says nothing about the whole.
        return replace(facts, deselected=frozenset(), narrowed_by=describe_narrowing(self._config, 0))

    def _write(self, shard: Shard) -> None:
        write_shard(self._folder, shard, key=self._project.key)

    @property
    def _folder(self) -> Path:
        return self._project.root / FOLDER

    # --- what people see and the process says --------------------------------------------------------------------

    def panel(self) -> list[Line]:
        return name_root(self._panel(), self._root)

    def _panel(self) -> list[Line]:
        if self._void:
            return render_problem(
                f"nothing recorded: {self._void} runs no test", remedy=f"pytest --phase={self._phase.name.lower()}"
            )
        if self._problem is not None:
            return render_problem(
                f"nothing recorded, so this shard is missing: {self._problem.problem} [{self._problem.slug}]",
                remedy=self._problem.remedy,
            )
        assert self._shard is not None
        assert self._shard.facts is not None
        ran = count(len(self._shard.ran), "test")
        return [
            Line(f"phase gate: shard {self._split} of {self._phase.name}", {"bold": True}, is_title=True),
            Line(f"{ran} of {len(self._shard.collected)} recorded in {FOLDER}/; a shard alone has no verdict"),
            Line(f"Next     phase-gate ci combine {FOLDER}   (when all {self._split.total} are there)", {"bold": True}),
        ]

    def tell(self) -> None:
        """Say in pytest's JUnit report which shard it is of."""
        if getattr(self._config.option, "xmlpath", None):
            write_properties(self._config, {"phase-gate.shard": str(self._split), "phase-gate.phase": self._phase.name})

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
            holds=True,
            is_trusted=self._problem is None,
            has_collection_errors=bool(self._witness.collection.errors) and not self._witness.interrupted,
        )


class _LastWord:
    """After everybody else: the exit status, and where the record is."""

    def __init__(self, recorder: ShardRecorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        if self._recorder.origin.is_left():
            return result
        with own_work(session.config):
            session.exitstatus = self._recorder.exit_status(int(session.exitstatus))
            self._recorder.tell()
            show_lines(session.config, self._recorder.panel())
        return result


def _refuse_verdicts(config: pytest.Config) -> None:
    """Refuse what speaks of a verdict, if somebody typed it: a shard has none."""
    option = config.option
    for given, name in (
        (option.exit_signal, "--exit-signal"),
        (option.phase_confirm, "--phase-confirm"),
        (option.phase_report, "--phase-report"),
        (option.phase_exit, "--phase-exit"),
    ):
        if given:
            raise UsageError(
                f"{name} speaks of a verdict, and a shard alone has none",
                remedy=f"give it to phase-gate ci combine {FOLDER}",
            )
