"""Write an evaluation into files, the format by suffix."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pytest_phase_gate.core.evaluation import Evaluation, evaluation_to_json
from pytest_phase_gate.errors import StorageError
from pytest_phase_gate.report.markdown import render_markdown


def write_reports(paths: Iterable[Path], evaluation: Evaluation) -> None:
    """Write each report. Raises StorageError for one that can't be written."""
    document = evaluation_to_json(evaluation)
    for path in paths:
        text = render_markdown(document) if path.suffix.lower() == ".md" else json.dumps(document, indent=2) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"the report {path.name} could not be written: {error.strerror}",
                remedy="the run itself is recorded; name a place that can be written",
            ) from error
