"""What CI systems get of a verdict: annotations, outputs and summaries, variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.gate.verdict import Evaluation, ask_gate_1_only
from phase_gate.report.markdown import render_markdown
from phase_gate.values import Value
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.settings import ExitMeaning

#: Annotations of one kind that a step shows.
_ANNOTATIONS = 10
#: Characters of a sentence in an output or a variable.
_LONGEST = 500


class CiOutput(Value):
    """What is left to do once the files are written."""

    #: Commands for the runner: printed to the log unchanged.
    lines: tuple[str, ...] = ()
    #: What went wrong. None of it changes the verdict.
    complaints: tuple[str, ...] = ()


class Place(Value):
    """A line of the project with an annotation."""

    file: str
    line: int
    text: str
    is_error: bool = True


# --- GitHub Actions


def is_github(environment: Mapping[str, str]) -> bool:
    return environment.get("GITHUB_ACTIONS") == "true"


def annotate_places(title: str, places: Iterable[Place], summary: str, environment: Mapping[str, str]) -> CiOutput:
    """Write a summary where the environment asks for one; annotate as many places as a step has room for."""
    if not is_github(environment):
        return CiOutput()
    lines = [
        _command("error" if each.is_error else "warning", title, each.text, file=each.file, line=str(each.line))
        for each in places
    ]
    complaints = _append(environment.get("GITHUB_STEP_SUMMARY"), summary)
    return CiOutput(lines=tuple(lines[:_ANNOTATIONS]), complaints=tuple(complaints))


def write_for_ci(
    evaluation: Evaluation, environment: Mapping[str, str], *, meaning: ExitMeaning, reports: Iterable[Path] = ()
) -> CiOutput:
    """Write summary and outputs where the environment asks for them."""
    if not is_github(environment):
        return CiOutput()
    evaluation = ask_gate_1_only(evaluation) if meaning == "gate1" else evaluation
    summary = render_markdown(evaluation)
    words = {**verdict_words(evaluation), "report-path": next(map(str, reports), "")}
    # A random delimiter: no value can end its own text.
    text = outputs(words, delimiter=f"phase-gate-{os.urandom(16).hex()}")
    complaints = [
        *_append(environment.get("GITHUB_STEP_SUMMARY"), summary),
        *_append(environment.get("GITHUB_OUTPUT"), text),
    ]
    return CiOutput(lines=tuple(annotate(evaluation, meaning=meaning)), complaints=tuple(complaints))


def _append(name: str | None, text: str) -> list[str]:
    if not name:
        return []
    path = Path(name)
    try:
        with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        return [f"{path.name} of the CI system could not be written: {error.strerror}"]
    return []


def annotate(evaluation: Evaluation, *, meaning: ExitMeaning) -> list[str]:
    """Return at most one annotation per gate: a step has room for ten, and failed tests need it too."""
    gate_1, gate_2, iteration = evaluation.gate_1, evaluation.gate_2, evaluation.iteration
    counted = f"iteration {iteration}" if iteration is not None else f"{evaluation.run_kind} run"
    where = f"{evaluation.phase}, {counted}"
    verdict = f"{evaluation.verdict}\nnext: {evaluation.next_step}"
    found: list[str] = []
    if not gate_1.is_open:
        level = "warning" if meaning == "tests" else "error"
        found.append(_command(level, f"Gate 1 is closed ({where})", verdict, **_place(evaluation)))
    if gate_2.calls_person:
        title = f"Gate 2 is {gate_2.answer}: a person is needed ({where})"
        found.append(_command("warning", title, f"{gate_2.reason} ({gate_2.by})"))
    elif meaning == "dual" and gate_1.is_open and not gate_2.is_done:
        found.append(_command("error", f"Gate 2 is closed ({where})", verdict))
    return found


def _place(evaluation: Evaluation) -> dict[str, str]:
    """Return the place of the first finding that closes a gate, if it is in one file."""
    closed = [guard.name for guard in evaluation.gate_1.guards if guard.met is not True]
    for each in evaluation.findings:
        if each.tier == "hard" and each.file and any(map(each.belongs_to, closed)):
            line = {"line": str(each.line)} if each.line else {}
            return {"file": each.file, **line, "about": each.place}
    return {}


def _command(level: str, title: str, message: str, *, about: str = "", **place: str) -> str:
    place["title"] = title
    values = {name: _escape(value).replace(":", "%3A").replace(",", "%2C") for name, value in place.items()}
    properties = ",".join(f"{name}={value}" for name, value in values.items())
    return f"::{level} {properties}::{_escape(f'{about}: {message}' if about else message)}"


def _escape(text: str) -> str:
    return show_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def outputs(words: Mapping[str, str], *, delimiter: str) -> str:
    """Return lines for GITHUB_OUTPUT."""
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in words.items())


# --- the verdict in a few words: outputs on GitHub, variables on GitLab, properties in JUnit XML


def verdict_words(evaluation: Evaluation) -> dict[str, str]:
    """Return names and values, each in one line."""
    words = {
        "can-exit": evaluation.can_exit,
        "gate1": evaluation.gate_1.is_open,
        "gate2": evaluation.gate_2.is_done,
        "phase": evaluation.phase,
        "iteration": evaluation.iteration,
        "streak": evaluation.metrics.get("consecutive_green_runs"),
        "run-kind": evaluation.run_kind,
        "status": evaluation.status,
        "reason": evaluation.reason,
        "next-command": evaluation.next_command,
        "next-hint": evaluation.next_hint,
    }
    return {name: _plain(value) for name, value in words.items()}


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(show_line(str(value)).split())[:_LONGEST].strip()


def render_dotenv(evaluation: Evaluation) -> str:
    """Return one variable per line, without quotes, comments or empty lines: GitLab accepts none."""
    words = verdict_words(evaluation)
    return "".join(f"PHASE_GATE_{name.upper().replace('-', '_')}={value}\n" for name, value in words.items())
