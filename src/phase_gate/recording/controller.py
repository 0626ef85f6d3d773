"""The pytest side of a recorded run: it starts it, ends it, shows the verdict and confirms it if that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import pytest

from phase_gate import exit_codes
from phase_gate.errors import PhaseGateError, StateError, as_fault
from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.order import named_phase
from phase_gate.gate.runs import Kind
from phase_gate.gate.standing import exit_status_for
from phase_gate.recording.announce import add_to_junit, announce_to_ci, line_writer, progress_writer, screen_width
from phase_gate.recording.closing import write_end
from phase_gate.recording.early import early_signal, start_snapshot
from phase_gate.recording.extensions import announce_evaluation
from phase_gate.recording.frozen.meaning import written_since
from phase_gate.recording.line_coverage import LineCoverage
from phase_gate.recording.options import Options
from phase_gate.recording.preparing import prepare
from phase_gate.recording.recorder import REPORT_FAULT, SessionRecorder
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.session import make_record, missing_modules
from phase_gate.recording.verify_run import hide_from_tests, recorded_for
from phase_gate.report.files import prepare_reports, write_reports
from phase_gate.report.panel import Line, render_panel, render_problem
from phase_gate.storage.lock import network_warning

if TYPE_CHECKING:
    from phase_gate.report.story.model import Story


class Controller(SessionRecorder):
    """Makes a run of the task of one session, with a verdict."""

    plugin = "phase_gate_controller"
    if_nothing = "the gate is closed"
    _evaluation: Evaluation | None

    def __init__(self, config: pytest.Config, run: RecordedRun, options: Options) -> None:
        super().__init__(config, run, options)
        self._complaints: list[str] = []
        self._evaluation = None
        self._kind: Kind | None = None
        self._is_green = False
        self._is_stored = True
        self._show_again: Callable[[], None] = lambda: None

    @classmethod
    def _prepare(cls, config: pytest.Config) -> Self:
        early, prepared = start_snapshot(config), prepare(config)
        options, workflow = prepared.options, prepared.workflow
        request = Request(
            phase=options.phase,
            exit_signal=options.exit_signal,
            confirming=options.confirming,
            confirms=options.confirms,
            arguments=tuple(map(str, config.invocation_params.args)),
            signal=early_signal(config),
            run=early.origin.run,
            reports=options.written,
        )
        run = RecordedRun(prepared.project, workflow, prepared.store, request)
        controller = cls(config, run, options)
        try:
            run.check_order(prepared.opened)
        except StateError as error:
            controller._problem = error
            run.phase = named_phase(workflow, options.phase) or workflow.first
        controller._take_criteria()
        return controller

    def _register(self) -> None:
        if self._options.reports:
            prepare_reports(self._options.reports)
        super()._register()

    # --- the session ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._run.warnings += filter(None, (network_warning(self._run.store.folder),))
        self._run.begin()
        self._show_again = hide_from_tests(self._config)

    def _header(self) -> str:
        phase = "?" if self._run.phase is None else self._run.phase.name
        return f"phase gate: {phase}, task {self._project.task}, root {self._project.root}"

    def _worker_input(self) -> dict[str, Any]:
        return {"modules": missing_modules(self._run)}

    def _finish(self, exit_status: int) -> None:
        facts = self._gather(exit_status, missing_modules(self._run))
        record = make_record(
            self._run,
            facts,
            self._criteria,
            began=start_snapshot(self._config).at,
            is_output=written_since(self._project.root, self._began),
            show=line_writer(self._config),
            coverage=LineCoverage(self._config, self._project.root, facts.imported),
        )
        self._run.show = progress_writer(self._config)
        finished = write_end(self._run, record)
        self._evaluation, self._kind, self._is_green = finished.evaluation, finished.kind, finished.is_green
        if self._evaluation is not None:
            self._complaints += announce_evaluation(self._config, self._evaluation)
            self._write_reports(self._evaluation)

    def _write_reports(self, evaluation: Evaluation) -> None:
        try:
            write_reports(self._options.reports, evaluation, self._story)
        except Exception as fault:
            # The run is recorded: the panel shows its verdict, and the status says that not all was stored.
            error = fault if isinstance(fault, PhaseGateError) else as_fault(fault, remedy=REPORT_FAULT)
            self._is_stored = False
            self._complaints.append(f"{error.problem} [{error.slug}]: {error.remedy}")

    def _story(self) -> Story:
        from phase_gate.report.story.reading import read_story

        return read_story(self._project, self._run.store)

    def pytest_unconfigure(self) -> None:
        if self.origin.is_left() or not (self._run.is_open or self._options.verifies):
            return
        self._show_again()
        self._run.close()

    # --- what people see and the process says --------------------------------------------------------------------

    def _result_panel(self) -> list[Line]:
        if self._evaluation is None:
            why = "it ran inside another run of this task" if self._kind is Kind.NESTED else "no test was meant to run"
            return render_problem(f"not counted: {why}", remedy="")
        if self._options.verifies:
            return recorded_for(self._project.task, self._evaluation)
        return render_panel(
            self._evaluation,
            is_quiet=self._config.get_verbosity() < 0,
            complaints=self._complaints,
            width=screen_width(self._config),
        )

    def exit_status(self, pytest_said: int) -> int:
        """Return what the process ends with."""
        phase, evaluation = self._run.phase, self._evaluation
        if phase is None or self._kind in (Kind.NESTED, Kind.VOID):
            return pytest_said
        if self._options.verifies and self._problem is not None and pytest_said == 0:
            return exit_codes.NOT_TRUSTED  # the caller has nothing but this status to look at
        is_dual = self._options.exit_meaning == "dual"
        is_open = evaluation is not None and (evaluation.can_exit if is_dual else evaluation.gate_1.is_open)
        return exit_status_for(
            pytest_said,
            meaning=self._options.exit_meaning,
            tests=phase.tests,
            is_open=is_open,
            is_trusted=self._problem is None and self._is_stored,
            is_halted=evaluation is not None and evaluation.breaker.is_open,
            has_collection_errors=bool(self._witness.collection.errors) and not self._witness.interrupted,
        )

    def _further_runs(self) -> int:
        """Return how many runs will follow this one by themselves."""
        evaluation = self._evaluation
        if evaluation is None or evaluation.subject.iteration is None or not self._is_green:
            return 0
        streak = evaluation.metrics["consecutive_green_runs"]
        assert isinstance(streak, int)
        return self._run.further_runs(streak)

    def confirm(self) -> int | None:
        """Run again in fresh processes while green and short; return the last status, None if nothing was run."""
        if self.origin.is_left():
            return None
        further = self._further_runs() if self._options.confirming == (0, 0) else 0
        if not further:
            return None
        from phase_gate.recording.confirm import confirm_runs, pytest_command, without_ours

        return confirm_runs(
            self._run.store,
            (*pytest_command(), *without_ours(self._run.request.arguments)),
            start=str(self._config.invocation_params.dir),
            exit_signal=self._options.exit_signal,
            further=further,
        )

    def announce(self) -> tuple[str, ...]:
        if self._evaluation is None:
            return ()
        complaint = add_to_junit(self._config, self._evaluation)
        if complaint:
            self._complaints.append(complaint)
        # The last of several runs speaks for all.
        meaning, reports = self._options.exit_meaning, self._options.reports
        told = None
        if not self._further_runs():
            told = announce_to_ci(self._project, self._evaluation, meaning=meaning, reports=reports)
        if told is None:
            return ()
        self._complaints += told.complaints
        return told.lines
