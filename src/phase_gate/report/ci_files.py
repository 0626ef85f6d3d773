"""What CI systems get of a verdict: annotations, outputs and summaries, variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.gate.measured import place_of
from phase_gate.gate.verdict import Evaluation, ask_gate_1_only, evaluation_to_json, show_next, show_verdict
from phase_gate.report.markdown import render_markdown
from phase_gate.values import Value
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.settings import ExitMeaning

#: Annotations of one kind that a step shows.
_ANNOTATIONS = 10
#: Characters of a sentence in an output or a variable.
_LONGEST = 500

#: Answers that mean that a person is needed.
_NEEDS_PERSON = frozenset({"blocked", "test-wrong"})


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
    document = evaluation_to_json(ask_gate_1_only(evaluation) if meaning == "gate1" else evaluation)
    summary = render_markdown(document)
    words = {**verdict_words(document), "report-path": next(map(str, reports), "")}
    # A random delimiter: no value can end its own text.
    text = outputs(words, delimiter=f"phase-gate-{os.urandom(16).hex()}")
    complaints = [
        *_append(environment.get("GITHUB_STEP_SUMMARY"), summary),
        *_append(environment.get("GITHUB_OUTPUT"), text),
    ]
    return CiOutput(lines=tuple(annotate(document, meaning=meaning)), complaints=tuple(complaints))


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


def annotate(document: Mapping[str, Any], *, meaning: ExitMeaning) -> list[str]:
    """Return at most one annotation per gate: a step has room for ten, and failed tests need it too."""
    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    counted = (
        f"iteration {document['iteration']}" if document["iteration"] is not None else f"{document['run_kind']} run"
    )
    where = f"{document['phase']}, {counted}"
    step = show_next(document["next_command"], document["next_hint"], document["status"])
    verdict = f"{show_verdict(document['status'], document['reason'])}\nnext: {step}"
    found: list[str] = []
    if not gate_1["open"]:
        level = "warning" if meaning == "tests" else "error"
        found.append(_command(level, f"Gate 1 is closed ({where})", verdict, **_place(document)))
    if gate_2["answer"] in _NEEDS_PERSON:
        title = f"Gate 2 is {gate_2['answer']}: a person is needed ({where})"
        found.append(_command("warning", title, f"{gate_2['reason']} ({gate_2['by']})"))
    elif meaning == "dual" and gate_1["open"] and not gate_2["open"]:
        found.append(_command("error", f"Gate 2 is closed ({where})", verdict))
    return found


def _place(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the place of the first finding that closes a gate, if it is in one file."""
    closed = {guard["name"] for guard in document["gate_1"]["guards"] if guard["met"] is not True}
    for row in document["findings"]:
        if row["tier"] == "hard" and row["file"] and closed & {row["slug"], row["guard"]}:
            line = {"line": str(row["line"])} if row["line"] else {}
            return {"file": row["file"], **line, "about": place_of(row)}
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


def verdict_words(document: Mapping[str, Any]) -> dict[str, str]:
    """Return names and values, each in one line, from an evaluation's JSON document."""
    words = {
        "can-exit": document["can_exit"],
        "gate1": document["gate_1"]["open"],
        "gate2": document["gate_2"]["open"],
        "phase": document["phase"],
        "iteration": document["iteration"],
        "streak": document["metrics"].get("consecutive_green_runs"),
        "run-kind": document["run_kind"],
        "status": document["status"],
        "reason": document["reason"],
        "next-command": document["next_command"],
        "next-hint": document["next_hint"],
    }
    return {name: _plain(value) for name, value in words.items()}


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(show_line(str(value)).split())[:_LONGEST].strip()


def render_dotenv(document: Mapping[str, Any]) -> str:
    """Return one variable per line, without quotes, comments or empty lines: GitLab accepts none."""
    words = verdict_words(document)
    return "".join(f"PHASE_GATE_{name.upper().replace('-', '_')}={value}\n" for name, value in words.items())
