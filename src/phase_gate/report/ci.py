"""Tell the CI system that we run in: append to the files that it names, and return what it wants to read in the log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.gate.standing import ExitMeaning
from phase_gate.report.github import SUMMARY_LIMIT, annotate, cut_summary, outputs
from phase_gate.report.markdown import render_markdown
from phase_gate.report.outputs import verdict_words
from phase_gate.values import Value


class Told(Value):
    """What is left to do once the files are written."""

    #: Commands for the runner: they have to stand in the log as they are.
    lines: tuple[str, ...] = ()
    #: What went wrong. None of it changes the verdict.
    complaints: tuple[str, ...] = ()


def is_github(environment: Mapping[str, str]) -> bool:
    return environment.get("GITHUB_ACTIONS") == "true"


def tell_ci(
    evaluation: Evaluation, environment: Mapping[str, str], *, meaning: ExitMeaning, reports: Iterable[Path] = ()
) -> Told:
    """Write summary and outputs where the environment asks for them."""
    if not is_github(environment):
        return Told()
    document = evaluation_to_json(evaluation)
    words = {**verdict_words(document), "report-path": next(map(str, reports), "")}
    complaints = [
        *_append(environment.get("GITHUB_STEP_SUMMARY"), render_markdown(document), limit=SUMMARY_LIMIT),
        *_append(environment.get("GITHUB_OUTPUT"), outputs(words, delimiter=f"phase-gate-{_token()}")),
    ]
    return Told(lines=tuple(annotate(document, meaning=meaning)), complaints=tuple(complaints))


def _token() -> str:
    return os.urandom(16).hex()


def _append(name: str | None, text: str, *, limit: int | None = None) -> list[str]:
    if not name:
        return []
    path = Path(name)
    try:
        if limit is not None:
            room = limit - (path.stat().st_size if path.exists() else 0)
            text = cut_summary(text, room=room)
        with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        return [f"{path.name} of the CI system could not be written: {error.strerror}"]
    return []
