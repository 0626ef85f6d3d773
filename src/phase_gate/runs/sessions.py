"""The session objects that pytest's hooks begin, end and query for output.

Does not import pytest: a session passes its `Hello` and its `Document`, and gets lines and an exit status back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from phase_gate import exit_codes
from phase_gate.errors import PhaseGateError, StateError, as_fault
from phase_gate.gate.measured import Wanted
from phase_gate.gate.order import named_phase
from phase_gate.gate.record import Document, JudgedRun
from phase_gate.gate.verdict import Evaluation, ask_gate_1_only
from phase_gate.project import Project
from phase_gate.report.panel import WIDTH, Line, render_panel, render_problem
from phase_gate.runs.ending import missing_modules
from phase_gate.runs.hello import Hello
from phase_gate.runs.meaning import written_since
from phase_gate.runs.recorder import Recorder
from phase_gate.storage.lock import network_warning
from phase_gate.storage.opening import is_ci
from phase_gate.values import Value
from phase_gate.visible import count

if TYPE_CHECKING:
    from phase_gate.evidence.context import RunCoverage
    from phase_gate.report.story import Story
    from phase_gate.workflow.model import Phase, Tests, Workflow
    from phase_gate.workflow.settings import ExitMeaning

#: The remedy for an internal error.
REPORT_FAULT = "please report this line; your test results above are complete"

#: The CI system that reads a summary and commands from the log.
_CI_VARIABLE = "GITHUB_ACTIONS"


class Screen(Value):
    """The output of a session, and its verbosity."""

    #: pytest's verbosity: 1 for -v, -2 for -qq.
    verbosity: int = 0
    width: int = WIDTH
    #: Shows a line to a user who waits for a command; `progress`: only at a terminal.
    show: Callable[[str], None] = lambda text: None
    progress: Callable[[str], None] = lambda text: None


class RecordedSession:
    """A session that is recorded: as a run, a shard or a baseline."""

    #: The consequence if nothing is recorded.
    if_nothing: ClassVar[str]
    #: Whether a session that only collects is recorded, too.
    takes_collection: ClassVar[bool] = False
    #: Whether there is output at the end.
    has_panel: ClassVar[bool] = True

    project: Project
    #: Why nothing is recorded, although the tests run.
    problem: PhaseGateError | None = None
    #: Our line in the header of pytest's output.
    header: str = ""
    #: The facts that the witness records.
    wanted: Wanted

    @property
    def rules(self) -> tuple[Workflow, Phase] | None:
        """The rules that plugins measure for; None for a session without a verdict."""
        return None

    def begin(self, began: float) -> None:
        """Write the start record, if there is one.

        :param began: when hooks of the project may begin to write files.
        """

    def end(self, document: Document, screen: Screen, coverage: Callable[[], RunCoverage] | None) -> None:
        raise NotImplementedError

    def panel(self, screen: Screen) -> list[Line]:
        """Return the output of a recorded session."""
        raise NotImplementedError

    def exit_status(self, pytest_status: int, *, has_collection_errors: bool) -> int:
        """Return the exit status of the process."""
        raise NotImplementedError

    def evaluation(self) -> Evaluation | None:
        """The verdict that is passed to hooks of plugins."""
        return None

    def properties(self) -> Mapping[str, str]:
        """Return the properties for pytest's JUnit report."""
        return {}

    def complain(self, *complaints: str) -> None:
        """Also show errors that happened while publishing the verdict."""

    def announce(self) -> tuple[str, ...]:
        """Inform the CI system; return the lines that it reads from the log."""
        return ()

    def confirm(self) -> int | None:
        """Rerun in fresh processes if requested. Return the last exit status, or None without a rerun."""
        return None

    def close(self) -> None:
        """Release all resources, whatever happened."""


class TestRun(RecordedSession):
    """A run of the task, with a verdict."""

    __test__ = False
    if_nothing = "the gate is closed"

    def __init__(self, project: Project, hello: Hello, *, is_void: bool) -> None:
        """Check everything that can be wrong before a test runs. Raises PhaseGateError.

        :param is_void: no test is meant to run: nothing will be recorded.
        """
        self.project, self._hello = project, hello
        self.run = run = Recorder.find(project, hello)
        self._meaning = hello.exit_meaning or project.configuration.run.exit
        self._ended: JudgedRun | None = None
        self._complaints: list[str] = []
        self._is_stored = True
        self._began = 0.0
        try:
            run.check_order()
        except StateError as error:
            self.problem = error
            run.phase = named_phase(run.workflow, hello.phase) or run.workflow.first
        run.take_criteria()
        if run.report_files:
            from phase_gate.report.report_files import prepare_reports

            prepare_reports(run.report_files)
        self.header = f"phase gate: {run.phase.name}, task {project.task}, root {project.root}"
        self.wanted = Wanted(
            root=str(project.root),
            reasons=run.phase.tests == "failing",
            parts=run.freezes,
            criteria=run.criteria.ids if run.criteria.listed else (),
            modules=() if is_void or self.problem is not None else tuple(missing_modules(run)),
        )

    @property
    def rules(self) -> tuple[Workflow, Phase]:
        return self.run.workflow, self.run.phase

    def begin(self, began: float) -> None:
        self._began = began
        self.run.warnings += filter(None, (network_warning(self.run.store.folder),))
        self.run.begin()

    def end(self, document: Document, screen: Screen, coverage: Callable[[], RunCoverage] | None) -> None:
        self._ended = self.run.end(
            document,
            is_output=written_since(self.project.root, self._began),
            show=screen.show,
            progress=screen.progress,
            coverage=coverage,
        )
        if self._ended.evaluation is not None and self.run.report_files:
            self._write_reports(self._ended.evaluation)

    def _write_reports(self, evaluation: Evaluation) -> None:
        from phase_gate.report.report_files import write_reports

        try:
            write_reports(self.run.report_files, self._as_asked(evaluation), self._story)
        except Exception as fault:
            # The run is recorded: the panel shows its verdict, and the exit status shows that a report was not written.
            error = as_fault(fault, remedy=REPORT_FAULT)
            self._is_stored = False
            self._complaints.append(f"{error.problem} [{error.slug}]: {error.remedy}")

    def _story(self) -> Story:
        from phase_gate.report.story_builder import read_story

        return read_story(self.project, self.run.store)

    def evaluation(self) -> Evaluation | None:
        return None if self._ended is None else self._ended.evaluation

    def properties(self) -> Mapping[str, str]:
        evaluation = self.evaluation()
        if evaluation is None:
            return {}
        from phase_gate.report.ci_files import verdict_words

        return {f"phase-gate.{name}": word for name, word in verdict_words(evaluation).items()}

    def _as_asked(self, evaluation: Evaluation) -> Evaluation:
        """Return the verdict as a step of a CI job asks for it: most steps ask for Gate 1 only."""
        is_reported = self.project.configuration.run.ci != "off" and is_ci(self.project.environment)
        return ask_gate_1_only(evaluation) if is_reported and self._meaning == "gate1" else evaluation

    def complain(self, *complaints: str) -> None:
        self._complaints += complaints

    def panel(self, screen: Screen) -> list[Line]:
        evaluation = self.evaluation()
        if evaluation is None:
            is_nested = self._ended is not None and self._ended.kind == "nested"
            why = "it ran inside another run of this task" if is_nested else "no test was meant to run"
            return render_problem(f"not counted: {why}", remedy="")
        if self._hello.verifies:
            return _recorded_for(self.project.task, evaluation)
        further, done = self.further_runs(), self._hello.confirming[0] + 1
        return render_panel(
            self._as_asked(evaluation),
            verbosity=screen.verbosity,
            complaints=self._complaints,
            width=screen.width,
            series=(done, done + further) if further else (0, 0),
        )

    def exit_status(self, pytest_status: int, *, has_collection_errors: bool) -> int:
        evaluation = self.evaluation()
        if self._ended is not None and self._ended.kind in ("nested", "void"):
            return pytest_status
        if self._hello.verifies and self.problem is not None and pytest_status == 0:
            return exit_codes.NOT_TRUSTED  # the caller sees only this status
        is_open = evaluation is not None and (
            evaluation.can_exit if self._meaning == "dual" else evaluation.gate_1.is_open
        )
        return exit_status_for(
            pytest_status,
            meaning=self._meaning,
            tests=self.run.phase.tests,
            is_open=is_open,
            is_trusted=self.problem is None and self._is_stored,
            is_halted=evaluation is not None and evaluation.breaker.is_open,
            has_collection_errors=has_collection_errors,
        )

    def announce(self) -> tuple[str, ...]:
        evaluation, environment = self.evaluation(), self.project.environment
        is_wanted = self.project.configuration.run.ci != "off" and _CI_VARIABLE in environment
        # The last of several runs announces the verdict for all.
        if evaluation is None or not is_wanted or self.further_runs():
            return ()
        from phase_gate.report.ci_files import write_for_ci

        output = write_for_ci(evaluation, environment, meaning=self._meaning, reports=self.run.report_files)
        self._complaints += output.complaints
        return output.lines

    def further_runs(self) -> int:
        """Return how many runs will automatically follow this one."""
        evaluation = self.evaluation()
        if evaluation is None or evaluation.iteration is None or not (self._ended and self._ended.is_green):
            return 0
        streak = evaluation.metrics["consecutive_green_runs"]
        assert isinstance(streak, int)
        return self.run.further_runs(streak)

    def confirm(self) -> int | None:
        """Rerun in fresh processes while green and short of runs. Return the last status, or None without a rerun."""
        further = self.further_runs() if self._hello.confirming == (0, 0) else 0
        if not further:
            return None
        from phase_gate.runs.confirm import confirm_runs, pytest_command, without_ours

        return confirm_runs(
            self.run.store,
            (*pytest_command(), *without_ours(self._hello.arguments)),
            start=str(self._hello.start),
            exit_signal=self._hello.exit_signal,
            further=further,
        )

    def close(self) -> None:
        self.run.close()


# --- the exit status of a run

#: pytest's exit codes for failed tests, or for modules that could not be collected.
_TESTS_FAILED, _INTERRUPTED = 1, 2


def exit_status_for(
    pytest_status: int,
    *,
    meaning: ExitMeaning,
    tests: Tests,
    is_open: bool,
    is_trusted: bool = True,
    has_collection_errors: bool = False,
    is_halted: bool = False,
) -> int:
    """Return the exit status of the process.

    :param is_open: the requested gate is open.
    :param is_trusted: the run could be recorded.
    :param is_halted: the circuit is open.
    """
    if meaning == "tests":
        return pytest_status
    only_red = pytest_status == _TESTS_FAILED or (pytest_status == _INTERRUPTED and has_collection_errors)
    if pytest_status != 0 and not (tests == "failing" and only_red):
        return pytest_status
    if not is_trusted:
        return exit_codes.NOT_TRUSTED
    if is_halted:
        return exit_codes.CIRCUIT_OPEN
    return exit_codes.OPEN if is_open else exit_codes.GATE_CLOSED


def _recorded_for(task: str, evaluation: Evaluation) -> list[Line]:
    """Return the lines that replace the panel: the verification gate gives its verdict later."""
    metrics = evaluation.metrics
    total = metrics.get("tests_total")
    tests = f", {count(total, 'test')}" if isinstance(total, int) else ""
    why = f": {evaluation.run_note}" if evaluation.run_note else ""
    return [
        Line(f"phase gate: recorded for task {task}", {"bold": True}, is_title=True),
        Line(f"{evaluation.run_kind} run{tests}{why}"),
    ]
