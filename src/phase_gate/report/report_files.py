"""Write reports into files, the format by suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import StorageError, UsageError
from phase_gate.gate.verdict import Evaluation, evaluation_to_json

if TYPE_CHECKING:
    from phase_gate.report.story import Story

#: Reports on one run's verdict; a page tells the whole story of the task.
REPORT_SUFFIXES = (".json", ".md", ".html", ".env")
#: Reports on the whole story of a task.
STORY_SUFFIXES = (".html", ".md")


def check_report(option: str, path: Path, suffixes: Sequence[str]) -> Path:
    """Return the path. Raises UsageError for a format that is unknown or can't be written here.

    :param option: as it was typed.
    """
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise UsageError(
            f"{option}: the suffix selects the format, and {f'{suffix} is unknown' if suffix else 'there is none'}",
            remedy=f"use one of: {', '.join(suffixes)}",
        )
    if suffix == ".html" and find_spec("jinja2") is None:
        raise UsageError(
            f"{option}: an HTML report needs Jinja2, which is not installed",
            remedy="pip install 'pytest-phase-gate[report]', or write a .md file",
        )
    return path


def prepare_reports(paths: Iterable[Path]) -> None:
    """Load what reports of these kinds are written with, before the project's tests can change it."""
    for suffix in {path.suffix.lower() for path in paths}:
        if suffix == ".html":
            import phase_gate.report.story_builder
            from phase_gate.report.html import load_template

            load_template()
        elif suffix == ".md":
            import phase_gate.report.markdown
        elif suffix == ".env":
            import phase_gate.report.ci_files  # noqa: F401


def write_reports(paths: Iterable[Path], evaluation: Evaluation, story: Callable[[], Story]) -> None:
    """Write each report. Raises StorageError for one that can't be written.

    :param story: called only for an HTML page.
    """
    for path in paths:
        if path.suffix.lower() == ".html":
            write_story(path, story())
        else:
            _write(path, _render(path.suffix.lower(), evaluation))


def _render(suffix: str, evaluation: Evaluation) -> str:
    if suffix == ".md":
        from phase_gate.report.markdown import render_markdown

        return render_markdown(evaluation)
    if suffix == ".json":
        return json.dumps(evaluation_to_json(evaluation), indent=2) + "\n"
    from phase_gate.report.ci_files import render_dotenv

    return render_dotenv(evaluation)


def write_story(path: Path, story: Story) -> int:
    """Write a task's story as HTML or Markdown, by suffix, and return its size. Raises StorageError if it can't be."""
    if path.suffix.lower() == ".html":
        from phase_gate.report.html import render_html

        return _write(path, render_html(story))
    from phase_gate.report.markdown import render_story

    return _write(path, render_story(story))


def _write(path: Path, text: str) -> int:
    # A file name that is not text must not cost the report.
    data = text.encode("utf-8", "backslashreplace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"the report {path.name} could not be written: {error.strerror}",
            remedy="name a place that can be written; the record is complete without it",
        ) from error
    return len(data)
