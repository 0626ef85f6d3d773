"""The terminal of a session, and pytest's own JUnit report.

Nothing of this changes the verdict: what goes wrong is said.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from phase_gate.report.panel import WIDTH, Line
from phase_gate.runs.sessions import Screen
from phase_gate.visible import fit_encoding, show_line


def write_properties(config: pytest.Config, properties: Callable[[], Mapping[str, str]]) -> str:
    """Put a verdict into pytest's JUnit report, if it writes one; return what went wrong.

    It is written once more: pytest has written it before the verdict was known. `record_testsuite_property` does not
    work with workers (pytest issue 7767); this does.
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
    return "" if has_head or root == config.invocation_params.dir.resolve() else f"root    {root}"


def show_lines(config: pytest.Config, lines: Sequence[Line], *, commands: Iterable[str] = ()) -> None:
    """Write a panel to the terminal, if there is one, and what the CI system is to read below it."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:
        return
    # A terminal that is closed, or a full disk, is no fault of the run's: what it gave is recorded by now.
    with contextlib.suppress(OSError, ValueError):
        encoding = _encoding_of(terminal)
        if config.get_terminal_writer().width_of_current_line:
            terminal.line("")  # a quiet run leaves its row of dots open
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


def screen_of(config: pytest.Config) -> Screen:
    """Return where the session shows something: the usual width where pytest has no terminal."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    def show(text: str) -> None:
        show_lines(config, [Line(text)])

    return Screen(
        verbosity=config.get_verbosity(),
        width=WIDTH if terminal is None else int(config.get_terminal_writer().fullwidth),
        show=show,
        # Only at a terminal a user waits.
        progress=show if terminal is not None and terminal.isatty else lambda text: None,
    )
