"""Write reports into files, the format by suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.errors import StorageError
from phase_gate.gate.verdict import Evaluation, evaluation_to_json

if TYPE_CHECKING:
    from phase_gate.report.story.model import Story

#: Of one run's verdict; a page tells the whole story of the task.
REPORT_SUFFIXES = (".json", ".md", ".html", ".xml", ".env")
#: Of a task's story.
STORY_SUFFIXES = (".html", ".md")


def prepare_reports(paths: Iterable[Path]) -> None:
    """Import what reports of these kinds are written with, before the project's tests can change it."""
    for suffix in {path.suffix.lower() for path in paths}:
        if suffix == ".html":
            import phase_gate.report.html
            import phase_gate.report.story.reading
        elif suffix == ".md":
            import phase_gate.report.markdown
        elif suffix in (".env", ".xml"):
            import phase_gate.report.ci  # noqa: F401


def write_reports(paths: Iterable[Path], evaluation: Evaluation, story: Callable[[], Story]) -> None:
    """Write each report. Raises StorageError for one that can't be written.

    :param story: told only where a page is asked for.
    """
    document = evaluation_to_json(evaluation)
    for path in paths:
        suffix = path.suffix.lower()
        if suffix == ".html":
            write_story(path, story())
        else:
            _write(path, _render(suffix, document))


def _render(suffix: str, document: Mapping[str, Any]) -> str:
    if suffix == ".md":
        from phase_gate.report.markdown import render_markdown

        return render_markdown(document)
    if suffix == ".env":
        from phase_gate.report.ci import render_dotenv

        return render_dotenv(document)
    if suffix == ".xml":
        from phase_gate.report.ci import render_junit

        return render_junit(document)
    return json.dumps(document, indent=2) + "\n"


def write_story(path: Path, story: Story) -> int:
    """Write a task's story as HTML or Markdown, by suffix, and return its size. Raises StorageError if it can't be."""
    if path.suffix.lower() == ".html":
        from phase_gate.report.html import render_html

        return _write(path, render_html(story))
    from phase_gate.report.story.markdown import render_story

    return _write(path, render_story(story))


def _write(path: Path, text: str) -> int:
    # What no encoding has (a file name that is no text) must not cost the report.
    data = text.encode("utf-8", "backslashreplace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"the report {path.name} could not be written: {error.strerror}",
            remedy="what was measured is recorded; name a place that can be written",
        ) from error
    return len(data)
