"""The pytest side of a recorded run: it starts it, ends it, shows the panel and sets the exit status.

Thin on purpose. Whatever happens to us, the user's tests run and their output is complete: an error of ours becomes a
closed gate and a line in the panel, never an exception in a hook.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from phase_gate import exit_codes
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, as_fault
from phase_gate.gate.criteria import Criteria
from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.order import named_phase
from phase_gate.gate.runs import Kind
from phase_gate.gate.standing import exit_status_for
from phase_gate.project import Project
from phase_gate.recording.announce import add_to_junit, announce_to_ci, line_writer, root_to_name, show_lines
from phase_gate.recording.closing import write_end
from phase_gate.recording.early import early_look, own_work
from phase_gate.recording.extensions import announce_evaluation
from phase_gate.recording.frozen.meaning import written_since
from phase_gate.recording.options import Options
from phase_gate.recording.preparing import prepare, take_criteria
from phase_gate.recording.reasons import ReasonHooks
from phase_gate.recording.run import RecordedRun, Request
from phase_gate.recording.session import gather_facts, make_record, missing_modules
from phase_gate.recording.tamper.outcomes import OutcomeWitness
from phase_gate.recording.tamper.own_work import describe_left
from phase_gate.recording.verify_run import hide_from_tests, recorded_for
from phase_gate.recording.witness import SessionWitness
from phase_gate.recording.worker import INPUT
from phase_gate.report.files import prepare_reports, write_reports
from phase_gate.report.panel import Line, name_root, render_panel, render_problem
from phase_gate.storage.lock import network_warning
from phase_gate.visible import show_line

if TYPE_CHECKING:
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.frozen.parts import PartsWitness
    from phase_gate.report.story.model import Story

#: What to do about a fault of ours at the end of a run.
REPORT_FAULT = "please report this line; your test results above are complete"

#: Options under which pytest opens a session and runs no test.
VOID_OPTIONS = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "cacheshow": "--cache-show",
}


class Controller:
    """Records one run; registered on the controller only, never on a worker."""

    def __init__(self, config: pytest.Config, project: Project, options: Options, run: RecordedRun) -> None:
        self._config, self._project, self._options, self._run = config, project, options, run
        self._void = next((flag for name, flag in VOID_OPTIONS.items() if getattr(config.option, name, None)), "")
        self.origin = early_look(config).origin
        self._witness = SessionWitness(config, project.root, self.origin)
        self._outcomes = OutcomeWitness(config, project.root)
        self._root = root_to_name(config, project.root)
        self._criteria = Criteria()
        self._marks: CriterionMarks | None = None
        self._parts: PartsWitness | None = None
        self._began = time.time()
        self._started = time.perf_counter()
        self._problem: PhaseGateError | None = None
        #: Names of Python that tests left patched.
        self._left: list[str] = []
        self._complaints: list[str] = []
        self._evaluation: Evaluation | None = None
        self._kind: Kind | None = None
        self._is_green = False
        self._is_stored = True
        self._show_again: Callable[[], None] = lambda: None

    @classmethod
    def configure(cls, config: pytest.Config) -> Controller:
        """Read everything that can be wrong before a test runs, and register the hooks."""
        try:
            controller = cls._prepare(config)
        except NotAllowedError as error:
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        phase = controller._run.phase
        if phase is not None and phase.tests == "failing":
            # One missing module must not hide the other new tests. Set before workers are started: they inherit it.
            config.option.continue_on_collection_errors = True
            config.pluginmanager.register(ReasonHooks(controller._project.root), "phase_gate_reasons")
            own_work(config).widen()
        if controller._options.reports:
            prepare_reports(controller._options.reports)
            own_work(config).widen()
        if controller._run.freezes:
            from phase_gate.recording.frozen.parts import PartsWitness

            controller._parts = PartsWitness(controller._project.root)
            controller._outcomes.guard(phase_gate_parts=controller._parts)
        controller._outcomes.guard(
            phase_gate_witness=controller._witness,
            phase_gate_outcomes=controller._outcomes,
            phase_gate_controller=controller,
            phase_gate_last_word=_LastWord(controller),
        )
        return controller

    @classmethod
    def _prepare(cls, config: pytest.Config) -> Controller:
        early, prepared = early_look(config), prepare(config)
        options, workflow = prepared.options, prepared.workflow
        request = Request(
            phase=options.phase,
            exit_signal=options.exit_signal,
            confirming=options.confirming,
            confirms=options.confirms,
            arguments=tuple(map(str, config.invocation_params.args)),
            signal=early.signal,
            run=early.origin.run,
        )
        run = RecordedRun(prepared.project, workflow, prepared.store, request)
        controller = cls(config, prepared.project, options, run)
        try:
            run.check_order(prepared.opened)
        except StateError as error:
            controller._problem = error
            run.phase = named_phase(workflow, options.phase) or workflow.first
        controller._criteria, controller._marks = take_criteria(config, run, options.criteria)
        if controller._problem is None and not controller._void:
            controller.origin.mark = run.store.fork_mark_file(run.id)
        return controller

    # --- the session begins --------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self._void or self._problem is not None or self.origin.is_left():
            return
        try:
            with own_work(self._config):
                self._run.warnings += filter(None, (network_warning(self._run.store.folder),))
                self._run.begin()
                self._show_again = hide_from_tests(self._config)
        except NotAllowedError as error:
            # Somebody else moved the task on between our look and our start.
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            self._problem = as_fault(error, remedy=REPORT_FAULT)
        if self._problem is not None or self._run.is_nested:
            self.origin.mark = None  # nothing of this run counts

    def pytest_report_header(self) -> str | list[str]:
        if self.origin.is_left():
            return []
        phase = "?" if self._run.phase is None else self._run.phase.name
        return show_line(f"phase gate: {phase}, task {self._project.task}, root {self._project.root}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        # What a worker has to know of us; everything else it learns from pytest.
        phase = self._run.phase
        wants_reasons = phase is not None and phase.tests == "failing"
        node.workerinput[INPUT] = {
            "root": str(self._project.root),
            "wants_reasons": wants_reasons,
            "modules": missing_modules(self._run),
            "freezes": self._run.freezes,
            "criteria": list(self._criteria.ids),
            "mark": "" if self.origin.mark is None else str(self.origin.mark),
        }

    # --- the session ends ----------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        # Late, so that everything that reports has reported.
        if self._void or self._problem is not None or self.origin.is_left():
            return
        try:
            with own_work(self._config):
                self._finish(int(exitstatus))
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            # A fault of ours must not swallow the user's failures: said in the panel, and the gate stays closed.
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    def _finish(self, exit_status: int) -> None:
        self._left = self._outcomes.left_patched()
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
            modules=missing_modules(self._run),
        )
        record = make_record(
            self._run,
            facts,
            self._criteria,
            began=early_look(self._config).at,
            is_output=written_since(self._project.root, self._began),
            show=line_writer(self._config),
        )
        finished = write_end(self._run, record)
        self.origin.clear()
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
        with own_work(self._config):
            self._show_again()
            self._run.close()

    # --- what people see and the process says --------------------------------------------------------------------

    def panel(self) -> list[Line]:
        return name_root(self._panel(), self._root)

    def _panel(self) -> list[Line]:
        if self._void:
            return render_problem(
                f"nothing recorded: {self._void} runs no test", remedy=f"pytest --phase={self._options.phase}"
            )
        if self._problem is not None:
            left = f"; {describe_left(self._left)}" if self._left else ""
            return render_problem(
                f"nothing recorded, the gate is closed: {self._problem.problem} [{self._problem.slug}]{left}",
                remedy=self._problem.remedy,
            )
        if self._evaluation is None:
            why = "it ran inside another run of this task" if self._kind is Kind.NESTED else "no test was meant to run"
            return render_problem(f"not counted: {why}", remedy="")
        if self._options.verifies:
            return recorded_for(self._project.task, self._evaluation)
        return render_panel(
            self._evaluation,
            is_quiet=self._config.get_verbosity() < 0,
            complaints=self._complaints,
        )

    def exit_status(self, pytest_said: int) -> int:
        """Return what the process ends with."""
        phase, evaluation = self._run.phase, self._evaluation
        if phase is None or self._kind in (Kind.NESTED, Kind.VOID):
            return pytest_said
        if self._options.verifies and self._problem is not None and pytest_said == 0:
            return exit_codes.NOT_TRUSTED  # whoever waits for this status has nothing else to look at
        is_dual = self._options.exit_meaning == "dual"
        holds = evaluation is not None and (evaluation.can_exit if is_dual else evaluation.gate_1.satisfied)
        return exit_status_for(
            pytest_said,
            meaning=self._options.exit_meaning,
            tests=phase.tests,
            holds=holds,
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
        from phase_gate.recording.confirm import confirm_runs

        store, typed, signal = self._run.store, self._run.request.arguments, self._options.exit_signal
        with own_work(self._config):
            return confirm_runs(store, typed, further=further, exit_signal=signal)

    def tell(self) -> tuple[str, ...]:
        """Tell those who want to know the verdict; return what the CI system is to read in the log."""
        if self._evaluation is None:
            return ()
        complaint = add_to_junit(self._config, self._evaluation)
        if complaint:
            self._complaints.append(complaint)
        # The last of several runs speaks for all.
        told = None if self._further_runs() else announce_to_ci(self._project, self._options, self._evaluation)
        if told is None:
            return ()
        self._complaints += told.complaints
        return told.lines


class _LastWord:
    """After everybody else: the exit status, and the panel as the last thing on the screen."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield  # others, --max-warnings among them, have their say first
        if self._controller.origin.is_left():
            return result
        # Never raise here: that would swallow the FAILURES section.
        with own_work(session.config):
            session.exitstatus = self._controller.exit_status(int(session.exitstatus))
            commands = self._controller.tell()
            show_lines(session.config, self._controller.panel(), commands=commands)
        return result
