"""Tell others of a verdict: the terminal, the CI system, pytest's own JUnit report.

Nothing of this changes the verdict: what goes wrong is said. What is not asked for is not even imported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from phase_gate.visible import fit_encoding, show_line

if TYPE_CHECKING:
    from pathlib import Path

    from phase_gate.gate.evaluation import Evaluation
    from phase_gate.project import Project
    from phase_gate.report.ci import CiOutput
    from phase_gate.report.panel import Line
    from phase_gate.workflow.settings import ExitMeaning

#: Without it there is no terminal to write to.
_CI_VARIABLE = "GITHUB_ACTIONS"


def announce_to_ci(
    project: Project, evaluation: Evaluation, *, meaning: ExitMeaning, reports: tuple[Path, ...]
) -> CiOutput | None:
    """Write what the CI system asks for; None if there is none, or the project does not want it."""
    if project.configuration.run.ci == "off" or _CI_VARIABLE not in project.environment:
        return None
    from phase_gate.report.ci import write_for_ci

    return write_for_ci(evaluation, project.environment, meaning=meaning, reports=reports)


def add_to_junit(config: pytest.Config, evaluation: Evaluation) -> str:
    """Put the verdict into pytest's JUnit report, if it writes one; return what went wrong."""
    if not getattr(config.option, "xmlpath", None):
        return ""
    from phase_gate.gate.evaluation import evaluation_to_json
    from phase_gate.report.ci import suite_properties

    return write_properties(config, suite_properties(evaluation_to_json(evaluation)))


def write_properties(config: pytest.Config, properties: Mapping[str, str]) -> str:
    """Write the JUnit report once more, with these: pytest has written it before they were known.

    `record_testsuite_property` does not work with workers (pytest issue 7767); this does.
    """
    try:
        report = _junit_report(config)
        if report is not None:
            for name, value in properties.items():
                report.add_global_property(name, value)
            report.pytest_sessionfinish()
    except Exception as error:  # it is not public: a report without our properties is still one
        return f"the JUnit report has no properties of ours: {type(error).__name__}: {error}"
    return ""


def _junit_report(config: pytest.Config) -> Any:
    from _pytest.junitxml import xml_key

    return config.stash.get(xml_key, None)


def root_to_name(config: pytest.Config, root: Path) -> str:
    """Return the line that names the root, where the head of the run does not and the user is in another folder.

    Asked before the first test: later the current folder may be another one, or gone.
    """
    has_head = config.get_verbosity() >= 0 and not getattr(config.option, "no_header", False)
    return "" if has_head or root == config.invocation_params.dir.resolve() else f"Root     {root}"


def show_lines(config: pytest.Config, lines: Sequence[Line], *, commands: Iterable[str] = ()) -> None:
    """Write a panel to the terminal, if there is one, and what the CI system is to read below it."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return
    # A terminal that is closed, or a full disk, is no fault of the run's: what it gave is recorded by now.
    with contextlib.suppress(OSError, ValueError):
        encoding = _encoding_of(terminal)
        for line in lines:
            text = fit_encoding(show_line(line.text), encoding)
            if line.is_title:
                terminal.write_sep("=", text, **line.markup)
            else:
                terminal.write_line(text, **line.markup)
        for text in commands:
            terminal.write_line(text)
        terminal.flush()  # an end of the process from here on does not lose the verdict


def _encoding_of(terminal: Any) -> str | None:
    # It is not public: where it is not as we know it, pytest shows our signs in its own way.
    file = getattr(getattr(terminal, "_tw", None), "_file", None)
    return getattr(file, "encoding", "utf-8")


def line_writer(config: pytest.Config) -> Callable[[str], None]:
    """Return what shows a line to a user who waits for a long command."""
    from phase_gate.report.panel import Line

    return lambda text: show_lines(config, [Line(text)])


def progress_writer(config: pytest.Config) -> Callable[[str], None]:
    """Return what shows a line of progress: only at a terminal, where a user waits."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return line_writer(config) if terminal is not None and terminal.isatty else lambda text: None


def screen_width(config: pytest.Config) -> int:
    """Return how wide a panel may be; the usual width where pytest has no terminal."""
    from phase_gate.report.panel import WIDTH

    terminal = config.pluginmanager.get_plugin("terminalreporter")
    return WIDTH if terminal is None else int(config.get_terminal_writer().fullwidth)
