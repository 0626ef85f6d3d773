"""The pytest side of a recorded session, whatever becomes of its record: it begins, ends, shows a panel, sets a status.

Thin on purpose. Whatever happens to us, the user's tests run and their output is complete: an error of ours becomes a
line in the panel, never an exception in a hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pytest

from phase_gate import exit_codes
from phase_gate.bound import time
from phase_gate.errors import NotAllowedError, PhaseGateError, as_fault
from phase_gate.gate.criteria import Criteria
from phase_gate.recording.announce import root_to_name, show_lines
from phase_gate.recording.early import start_snapshot
from phase_gate.recording.outcomes import OutcomeWitness
from phase_gate.recording.preparing import take_criteria
from phase_gate.recording.session import gather_facts
from phase_gate.recording.witness import SessionWitness
from phase_gate.report.panel import Line, name_root, render_problem
from phase_gate.visible import show_line

if TYPE_CHECKING:
    from phase_gate.gate.record import SessionFacts
    from phase_gate.recording.criteria import CriterionMarks
    from phase_gate.recording.frozen.items import ItemWitness
    from phase_gate.recording.options import Options
    from phase_gate.recording.run import RecordedRun

#: What to do about a fault of ours.
REPORT_FAULT = "please report this line; your test results above are complete"

#: Options under which pytest opens a session and runs no test.
_VOID_OPTIONS = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "cacheshow": "--cache-show",
}


class SessionRecorder:
    """Records one session; registered on the controller only, never on a worker.

    A subclass says what becomes of the record: a run of the task, or a shard of one.
    """

    #: The name that it is registered under.
    plugin: ClassVar[str]
    #: It sees a part of the suite: what it deselects says nothing.
    is_shard: ClassVar[bool] = False
    #: What follows if nothing is recorded.
    if_nothing: ClassVar[str]

    def __init__(self, config: pytest.Config, run: RecordedRun, options: Options) -> None:
        self._config, self._run, self._options = config, run, options
        self._project = run.project
        self._void = next((flag for name, flag in _VOID_OPTIONS.items() if getattr(config.option, name, None)), "")
        self.origin = start_snapshot(config).origin
        self._witness = SessionWitness(config, self._project.root)
        self._outcomes = OutcomeWitness(config, self._project.root, drops_matter=not self.is_shard)
        self._root = root_to_name(config, self._project.root)
        self._criteria = Criteria()
        self._marks: CriterionMarks | None = None
        self._parts: ItemWitness | None = None
        self._began, self._started = time.time(), time.perf_counter()
        self._problem: PhaseGateError | None = None

    @classmethod
    def configure(cls, config: pytest.Config) -> Self:
        """Read everything that can be wrong before a test runs, and register the hooks."""
        try:
            recorder = cls._prepare(config)
        except NotAllowedError as error:
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        recorder._register()
        return recorder

    @classmethod
    def _prepare(cls, config: pytest.Config) -> Self:
        raise NotImplementedError

    def _take_criteria(self) -> None:
        self._criteria, self._marks = take_criteria(self._config, self._run, self._options.criteria)

    def _register(self) -> None:
        # One module that can't be imported must not hide the other tests: it fails, they run. Set before workers are
        # started: they inherit it.
        self._config.option.continue_on_collection_errors = True
        if self._wants_reasons:
            from phase_gate.recording.guarding import watch_guarding
            from phase_gate.recording.reasons import ReasonHooks

            self._config.pluginmanager.register(ReasonHooks(self._project.root), "phase_gate_reasons")
            watch_guarding(self._config)
        if self._run.freezes:
            from phase_gate.recording.frozen.items import ItemWitness

            self._parts = ItemWitness(self._project.root)
            self._outcomes.guard(phase_gate_parts=self._parts)
        self._outcomes.guard(**self._witnesses(), **{self.plugin: self}, phase_gate_last_word=_LastWord(self))

    def _witnesses(self) -> dict[str, object]:
        return {"phase_gate_witness": self._witness, "phase_gate_outcomes": self._outcomes}

    @property
    def _wants_reasons(self) -> bool:
        return self._run.phase is not None and self._run.phase.tests == "failing"

    # --- the session ---------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self._void or self._problem is not None or self.origin.is_left():
            return
        try:
            self._begin()
        except NotAllowedError as error:
            # Another process moved the task on between our look and our start.
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    def pytest_report_header(self) -> str | list[str]:
        return [] if self.origin.is_left() else show_line(self._header())

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        from phase_gate.recording.worker import INPUT

        # What a worker has to know of us; everything else it learns from pytest.
        node.workerinput[INPUT] = {
            "root": str(self._project.root),
            "wants_reasons": self._wants_reasons,
            "freezes": self._run.freezes,
            "criteria": list(self._criteria.ids),
            **self._worker_input(),
        }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        # Late, so that everything that reports has reported.
        if self._void or self._problem is not None or self.origin.is_left():
            return
        try:
            self._finish(int(exitstatus))
        except PhaseGateError as error:
            self._problem = error
        except Exception as error:
            # A fault of ours must not swallow the user's failures: said in the panel, and the gate stays closed.
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    def _gather(self, exit_status: int, modules: Iterable[str]) -> SessionFacts:
        return gather_facts(
            self._config,
            self._run,
            witness=self._witness,
            outcome_witness=self._outcomes,
            exit_status=exit_status,
            duration=time.perf_counter() - self._started,
            marks=self._marks,
            parts=self._parts,
            modules=modules,
        )

    # --- what people see and the process says --------------------------------------------------------------------

    def panel(self) -> list[Line]:
        return name_root(self._panel(), self._root)

    def _panel(self) -> list[Line]:
        if self._void:
            return render_problem(
                f"nothing recorded: {self._void} runs no test", remedy=f"pytest --phase={self._options.phase}"
            )
        if self._problem is not None:
            return render_problem(
                f"nothing recorded, {self.if_nothing}: {self._problem.problem} [{self._problem.slug}]",
                remedy=self._problem.remedy,
            )
        return self._result_panel()

    # --- what a subclass says ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        raise NotImplementedError

    def _header(self) -> str:
        raise NotImplementedError

    def _worker_input(self) -> dict[str, Any]:
        return {}

    def _finish(self, exit_status: int) -> None:
        raise NotImplementedError

    def _result_panel(self) -> list[Line]:
        raise NotImplementedError

    def exit_status(self, pytest_said: int) -> int:
        """Return what the process ends with."""
        raise NotImplementedError

    def announce(self) -> tuple[str, ...]:
        """Tell other reports and systems of the result; return what the CI system is to read in the log."""
        return ()


class _LastWord:
    """After all other plugins: the exit status, and the panel as the last thing on the screen."""

    def __init__(self, recorder: SessionRecorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield  # others, --max-warnings among them, have their say first
        if self._recorder.origin.is_left():
            return result
        # Never raise here: that would swallow the FAILURES section.
        try:
            session.exitstatus = self._recorder.exit_status(int(session.exitstatus))
            commands = self._recorder.announce()
            show_lines(session.config, self._recorder.panel(), commands=commands)
        except Exception as error:
            session.exitstatus = exit_codes.NOT_TRUSTED
            lines = render_problem(f"the verdict can't be shown: {error!r}", remedy="phase-gate status")
            with contextlib.suppress(Exception):
                show_lines(session.config, lines)
        return result
