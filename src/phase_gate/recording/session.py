"""The hooks of a recorded session: start, end, panel and exit status.

Thin on purpose. Whatever happens in this plugin, the user's tests run and their output is complete: an internal error
becomes a line in the panel, never an exception in a hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from phase_gate import exit_codes
from phase_gate.bound import time
from phase_gate.errors import NotAllowedError, as_fault
from phase_gate.recording.document import make_document
from phase_gate.recording.request import beginning, is_extended, void_option
from phase_gate.recording.witness import Hooks, Witness
from phase_gate.report.panel import WIDTH, Line, name_root, render_problem
from phase_gate.runs.hello import hide_from_tests
from phase_gate.runs.sessions import REPORT_FAULT, RecordedSession, Screen
from phase_gate.visible import fit_encoding, show_line

if TYPE_CHECKING:
    from phase_gate.evidence.context import RunCoverage


class SessionHooks(Hooks):
    """Records one session; registered on the controller only, never on a worker."""

    def __init__(self, config: pytest.Config, session: RecordedSession) -> None:
        self._config, self.session = config, session
        self.process = beginning(config).process
        self._void = "" if session.takes_collection else void_option(config)
        self._witness = Witness(config, session.wanted)
        self._root = root_to_name(config, session.project.root)
        self._began, self._started = time.time(), time.perf_counter()
        self._problem = session.problem
        self._is_open = False
        self._show_again: Callable[[], None] = lambda: None

    def register(self) -> None:
        # A module that can't be imported must not hide the other tests: it fails, they run. Set before workers start,
        # so that they inherit it.
        self._config.option.continue_on_collection_errors = True
        if self.session.wanted.reasons:
            from phase_gate.recording.reasons import ReasonHooks

            self._config.pluginmanager.register(ReasonHooks(self.session.project.root), "phase_gate_reasons")
        self._witness.register(
            phase_gate_witness=self._witness,
            phase_gate_session=self,
            phase_gate_last_word=_LastWord(self),
        )
        if self._has_workers:
            from phase_gate.recording.workers import ControllerHooks

            self._witness.register(phase_gate_workers=ControllerHooks(self._witness))

    @property
    def _has_workers(self) -> bool:
        return getattr(self._config.option, "dist", "no") != "no"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self._void or self._problem is not None or self.process.is_left():
            return
        self._is_open = True
        try:
            self.session.begin(self._began)
        except NotAllowedError as error:
            # Another process advanced the task between our check and our start.
            pytest.exit(str(error), returncode=exit_codes.NOT_ALLOWED)
        except Exception as error:
            self._problem = as_fault(error, remedy=REPORT_FAULT)
        else:
            # If workers run the tests, they have to know it, and hide it themselves.
            if not self._has_workers:
                self._show_again = hide_from_tests()

    def pytest_report_header(self) -> str | list[str]:
        return show_line(self.session.header) if self.session.header and not self.process.is_left() else []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # Last, so that all reports are complete.
        if self._void or self._problem is not None or self.process.is_left():
            return
        try:
            try:
                self._end(int(exitstatus))
            except KeyboardInterrupt:
                # Interrupted while a verdict is proven: the run is incomplete, but it is recorded.
                self._witness.interrupted = "interrupted"
                session.exitstatus = pytest.ExitCode.INTERRUPTED
                self._end(pytest.ExitCode.INTERRUPTED)
        except Exception as error:
            # An internal error must not hide the user's failures: the panel reports it, and the gate stays closed.
            self._problem = as_fault(error, remedy=REPORT_FAULT)

    def _end(self, exit_status: int) -> None:
        document = make_document(
            self._config,
            self._witness,
            rules=self.session.rules,
            exit_status=exit_status,
            duration=time.perf_counter() - self._started,
        )

        def coverage() -> RunCoverage:
            from phase_gate.recording.line_coverage import LineCoverage

            return LineCoverage(self._config, self.session.project.root, document.imported)

        self.session.end(document, screen_of(self._config), coverage)
        evaluation = self.session.evaluation()
        if evaluation is not None and is_extended(self._config):
            from phase_gate.recording.extensions import announce_evaluation

            self.session.complain(*announce_evaluation(self._config, evaluation))

    def pytest_unconfigure(self) -> None:
        if not self._is_open or self.process.is_left():
            return
        self._show_again()
        self.session.close()

    # --- the output and the exit status ---------------------------------------------------------------------------

    def show(self) -> None:
        """Publish the verdict: to reports, the CI system and the terminal."""
        if not self.session.has_panel:
            return
        commands: tuple[str, ...] = ()
        if not self._void and self._problem is None:
            self.session.complain(*filter(None, (write_properties(self._config, self.session.properties),)))
            commands = self.session.announce()
        show_lines(self._config, name_root(self._panel(), self._root), commands=commands)

    def _panel(self) -> list[Line]:
        if self._void:
            phase = self._config.option.phase
            return render_problem(f"nothing recorded: {self._void} runs no test", remedy=f"pytest --phase={phase}")
        if self._problem is not None:
            problem = f"{self._problem.problem} [{self._problem.slug}]"
            return render_problem(
                f"nothing recorded, {self.session.if_nothing}: {problem}", remedy=self._problem.remedy
            )
        return self.session.panel(screen_of(self._config))

    def exit_status(self, pytest_status: int) -> int:
        """Return the exit status of the process."""
        self.session.problem = self._problem
        return self.session.exit_status(pytest_status, has_collection_errors=self._witness.only_collection_failed)


class _LastWord(Hooks):
    """Runs after all other plugins: sets the exit status, and shows the panel as the last output."""

    def __init__(self, hooks: SessionHooks) -> None:
        self._hooks = hooks

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield  # other plugins first, for example --max-warnings
        if self._hooks.process.is_left():
            return result
        # Never raise here: that would hide the FAILURES section.
        try:
            session.exitstatus = self._hooks.exit_status(int(session.exitstatus))
            self._hooks.show()
        except Exception as error:
            session.exitstatus = exit_codes.NOT_TRUSTED
            lines = render_problem(f"the verdict can't be shown: {error!r}", remedy="phase-gate status")
            with contextlib.suppress(Exception):
                show_lines(session.config, lines)
        return result


# --- the terminal of a session, and pytest's own JUnit report


def write_properties(config: pytest.Config, properties: Callable[[], Mapping[str, str]]) -> str:
    """Add the verdict to pytest's JUnit report, if there is one; return an error message or an empty string.

    The report is written a second time, because pytest writes it before the verdict is known. This also works with
    workers, unlike `record_testsuite_property` (pytest issue 7767).
    """
    if not getattr(config.option, "xmlpath", None):
        return ""
    try:
        report = _junit_report(config)
        found = {} if report is None else properties()
        for name, value in found.items():
            report.add_global_property(name, value)
        if found:
            report.pytest_sessionfinish()
    except Exception as error:  # the API is not public: a report without our properties is still valid
        return f"the JUnit report lacks the properties of the phase gate: {type(error).__name__}: {error}"
    return ""


def _junit_report(config: pytest.Config) -> Any:
    from _pytest.junitxml import xml_key

    return config.stash.get(xml_key, None)


def root_to_name(config: pytest.Config, root: Path) -> str:
    """Return a line with the root, if the header of the run does not show it and the user is in another folder.

    Call it before the first test: tests may change or remove the current folder.
    """
    if config.get_verbosity() < -1:
        return ""  # the user asked for the verdict only, in one line
    has_head = config.get_verbosity() >= 0 and not getattr(config.option, "no_header", False)
    return "" if has_head or root == config.invocation_params.dir.resolve() else f"root    {root}"


def show_lines(config: pytest.Config, lines: Sequence[Line], *, commands: Iterable[str] = ()) -> None:
    """Write a panel to the terminal, if there is one, and below it the commands for the CI system."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return
    # A closed terminal or a full disk is not a failure of the run, whose result is already recorded.
    with contextlib.suppress(OSError, ValueError):
        encoding = _encoding_of(terminal)
        if config.get_terminal_writer().width_of_current_line:
            terminal.line("")  # a quiet run does not end its row of dots
        for line in lines:
            text = fit_encoding(show_line(line.text), encoding)
            if line.is_title:
                terminal.write_sep("=", text, **line.markup)
            else:
                terminal.write_line(text, **line.markup)
        for text in commands:
            terminal.write_line(text)
        terminal.flush()  # if the process dies after this, the verdict is still shown


def _encoding_of(terminal: Any) -> str | None:
    # Not public: if it is different from what we expect, pytest escapes our characters in its own way.
    file = getattr(getattr(terminal, "_tw", None), "_file", None)
    return getattr(file, "encoding", "utf-8")


def screen_of(config: pytest.Config) -> Screen:
    """Return the screen of the session; with the default width if pytest has no terminal."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    def show(text: str) -> None:
        show_lines(config, [Line(text)])

    return Screen(
        verbosity=config.get_verbosity(),
        width=WIDTH if terminal is None else int(config.get_terminal_writer().fullwidth),
        show=show,
        # A user waits only at a terminal.
        progress=show if terminal is not None and terminal.isatty else lambda text: None,
    )
