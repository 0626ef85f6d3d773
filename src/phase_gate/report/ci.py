"""Tell the CI system that we run in: append to the files that it names, and return what it wants to read in the log.

And the verdict as JUnit XML, which most of them show.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from phase_gate.gate.findings import place_of
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.verdict import Evaluation, evaluation_to_json, show_next, show_verdict
from phase_gate.report.markdown import render_markdown
from phase_gate.values import Value
from phase_gate.visible import show_line, show_rows, show_text
from phase_gate.workflow.settings import ExitMeaning


class CiOutput(Value):
    """What is left to do once the files are written."""

    #: Commands for the runner: they have to stand in the log as they are.
    lines: tuple[str, ...] = ()
    #: What went wrong. None of it changes the verdict.
    complaints: tuple[str, ...] = ()


def is_github(environment: Mapping[str, str]) -> bool:
    return environment.get("GITHUB_ACTIONS") == "true"


class Place(Value):
    """A line of the project that an annotation stands beside."""

    file: str
    line: int
    text: str
    is_error: bool = True


def tell_places(title: str, places: Iterable[Place], summary: str, environment: Mapping[str, str]) -> CiOutput:
    """Write a summary where the environment asks for one; annotate the places, as many as a step has room for."""
    if not is_github(environment):
        return CiOutput()
    lines = [
        _command("error" if each.is_error else "warning", title, each.text, file=each.file, line=str(each.line))
        for each in places
    ]
    complaints = _append(environment.get("GITHUB_STEP_SUMMARY"), summary, limit=SUMMARY_LIMIT)
    return CiOutput(lines=tuple(lines[:_ANNOTATIONS]), complaints=tuple(complaints))


def write_for_ci(
    evaluation: Evaluation, environment: Mapping[str, str], *, meaning: ExitMeaning, reports: Iterable[Path] = ()
) -> CiOutput:
    """Write summary and outputs where the environment asks for them."""
    if not is_github(environment):
        return CiOutput()
    document = evaluation_to_json(evaluation)
    words = {**verdict_words(document), "report-path": next(map(str, reports), "")}
    complaints = [
        *_append(environment.get("GITHUB_STEP_SUMMARY"), render_markdown(document), limit=SUMMARY_LIMIT),
        *_append(environment.get("GITHUB_OUTPUT"), outputs(words, delimiter=f"phase-gate-{_token()}")),
    ]
    return CiOutput(lines=tuple(annotate(document, meaning=meaning)), complaints=tuple(complaints))


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


# --- what GitHub Actions gets of a verdict: annotations, outputs, the step's summary


#: Annotations of one kind that a step shows.
_ANNOTATIONS = 10
#: Bytes of one step's summary; the upload of a longer one fails, and all of it is lost.
SUMMARY_LIMIT = 1024 * 1024
_CUT = "\n\nThe rest is left out: a summary holds one MiB.\n"

#: Answers that mean that a person is needed.
_NEEDS_PERSON = frozenset({"blocked", "test-wrong"})


def annotate(document: Mapping[str, Any], *, meaning: ExitMeaning) -> list[str]:
    """Return at most one annotation a gate: there is room for ten in a step, and failed tests want it, too."""
    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    where = f"{document['phase']}, iteration {document['iteration']}"
    if document["iteration"] is None:
        where = f"{document['phase']}, {document['run_kind']} run"
    step = show_next(document["next_command"], document["next_hint"])
    told = f"{show_verdict(document['status'], document['reason'])}\nnext: {step}"
    found: list[str] = []
    if not gate_1["open"]:
        level = "warning" if meaning == "tests" else "error"
        found.append(_command(level, f"Gate 1 is closed ({where})", told, **_place(document)))
    if gate_2["answer"] in _NEEDS_PERSON:
        said = f"{gate_2['reason']} ({gate_2['by']})"
        found.append(_command("warning", f"Gate 2 says {gate_2['answer']}: a person is needed ({where})", said))
    elif meaning == "dual" and gate_1["open"] and not gate_2["open"]:
        found.append(_command("error", f"Gate 2 is closed ({where})", told))
    return found


def _place(document: Mapping[str, Any]) -> dict[str, str]:
    """Return where the first finding is that closes a gate, if it is in one file."""
    closed = {guard["name"] for guard in document["gate_1"]["guards"] if guard["met"] is not True}
    for row in document["findings"]:
        if row["tier"] == "hard" and row["file"] and closed & {row["slug"], row["guard"]}:
            line = {"line": str(row["line"])} if row["line"] else {}
            return {"file": row["file"], **line, "about": place_of(row)}
    return {}


def _command(level: str, title: str, message: str, *, about: str = "", **place: str) -> str:
    properties = ",".join(f"{name}={_escape_property(value)}" for name, value in {**place, "title": title}.items())
    text = f"{about}: {message}" if about else message
    return f"::{level} {properties}::{_escape_data(text)}"


def _escape_data(text: str) -> str:
    return show_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def outputs(words: Mapping[str, str], *, delimiter: str) -> str:
    """Return lines for GITHUB_OUTPUT. The delimiter is random, so that no value can end its own text."""
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in words.items())


def cut_summary(text: str, *, room: int) -> str:
    """Return as much of the text, in whole lines, as there is room for."""
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return data.decode("utf-8")
    kept = data[: max(0, room - len(_CUT))].decode("utf-8", "ignore")
    return kept[: kept.rfind("\n") + 1] + _CUT if len(_CUT) <= room else ""


# --- what GitLab gets of a verdict: variables for later jobs (`artifacts:reports:dotenv`)


def render_dotenv(document: Mapping[str, Any]) -> str:
    """Return one variable a line: no quotes, comments or empty lines, for GitLab takes none; well below 5 KB."""
    words = verdict_words(document)
    return "".join(f"PHASE_GATE_{name.upper().replace('-', '_')}={value}\n" for name, value in words.items())


# --- the verdict in a few words for machines: what CI systems hand from one step to the next


#: Characters of a sentence that are handed on: enough for a person, little enough for every limit.
_LONGEST = 500


def verdict_words(document: Mapping[str, Any]) -> dict[str, str]:
    """Return names and values, each in one line, from an evaluation's JSON document."""
    metrics = document["metrics"]
    words = {
        "can-exit": document["can_exit"],
        "gate1": document["gate_1"]["open"],
        "gate2": document["gate_2"]["open"],
        "phase": document["phase"],
        "iteration": document["iteration"],
        "streak": metrics.get("consecutive_green_runs"),
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


# --- JUnit XML: one test case a gate, for whatever shows such reports. The tests are in pytest's own


#: Answers that keep Gate 2 closed on purpose; any other absence is no failure.
_REFUSALS = frozenset({"blocked", "test-wrong", "not-done", "malformed", "refused"})


def suite_properties(document: Mapping[str, Any]) -> dict[str, str]:
    """Return what a suite's `<properties>` say of the verdict."""
    return {f"phase-gate.{name}": _legal(value) for name, value in verdict_words(document).items()}


def render_junit(document: Mapping[str, Any]) -> str:
    from xml.etree import ElementTree

    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    suites = ElementTree.Element("testsuites", name="phase-gate")
    suite = ElementTree.SubElement(
        suites, "testsuite", name=f"phase-gate {document['phase']}", timestamp=str(document["timestamp"]), time="0"
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in suite_properties(document).items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    home = f"phase-gate.{document['phase']}"
    first = ElementTree.SubElement(
        suite, "testcase", classname=home, name=_legal(f"Gate 1: {gate_1['name']}"), time="0"
    )
    failures = skipped = 0
    if not gate_1["open"]:
        failures += 1
        closed = ElementTree.SubElement(first, "failure", message=_legal(document["reason"]), type="closed")
        closed.text = show_rows(_what_is_open(document))
    second = ElementTree.SubElement(suite, "testcase", classname=home, name="Gate 2: explicit exit signal", time="0")
    if not gate_2["open"]:
        told = f"{SHOWN[gate_2['answer']]} {gate_2['reason']}".strip()
        is_refusal = gate_2["answer"] in _REFUSALS
        failures, skipped = failures + is_refusal, skipped + (not is_refusal)
        ElementTree.SubElement(second, "failure" if is_refusal else "skipped", message=_legal(told))
    suite.attrib |= {"tests": "2", "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _what_is_open(document: Mapping[str, Any]) -> Iterator[str]:
    for clause in document["gate_1"]["clauses"]:
        if clause["met"] is not True:
            yield f"{clause['text']}: {clause['shown']}"
    for guard in document["gate_1"]["guards"]:
        if guard["met"] is not True and not guard["waived"]:
            yield f"{guard['name']}: {guard['detail']}"
    for row in document["findings"]:
        if row["tier"] == "hard":
            yield f"  {place_of(row)} {row['detail']}".rstrip()
    yield f"next: {show_next(document['next_command'], document['next_hint'])}"


def _legal(text: object) -> str:
    # Whatever can't stand in XML can't be seen, either.
    return show_line(str(text))
