"""What GitHub Actions gets of a verdict: annotations, outputs, the step's summary.

Text only; who writes it where is somebody else's business. Formats: docs.github.com, "Workflow commands".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.gate.findings import place_of
from phase_gate.gate.standing import ExitMeaning
from phase_gate.visible import show_text

#: Bytes of one step's summary; the upload of a longer one fails, and nobody sees any of it.
SUMMARY_LIMIT = 1024 * 1024
_CUT = "\n\nThe rest is left out: a summary holds one MiB.\n"

#: Answers that mean that somebody has to come.
_NEEDS_PERSON = frozenset({"blocked", "test-wrong"})


def annotate(document: Mapping[str, Any], *, meaning: ExitMeaning) -> list[str]:
    """Return at most one annotation a gate: there is room for ten in a step, and failed tests want it, too."""
    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    where = f"{document['phase']}, iteration {document['iteration']}"
    if document["iteration"] is None:
        where = f"{document['phase']}, {document['run_kind']} run"
    told = f"{document['reason']}\nnext: {document['next']}"
    found: list[str] = []
    if not gate_1["satisfied"]:
        level = "warning" if meaning == "tests" else "error"
        found.append(_command(level, f"Gate 1 is closed ({where})", told, **_place(document)))
    if gate_2["answer"] in _NEEDS_PERSON:
        said = f"{gate_2['reason']} ({gate_2['by']})"
        found.append(_command("warning", f"Gate 2 says {gate_2['answer']}: a person is needed ({where})", said))
    elif meaning == "dual" and gate_1["satisfied"] and not gate_2["satisfied"]:
        found.append(_command("error", f"Gate 2 is closed ({where})", told))
    return found


def _place(document: Mapping[str, Any]) -> dict[str, str]:
    """Return where the first finding is that closes a gate, if it is in one file."""
    closed = {guard["name"] for guard in document["gate_1"]["guards"] if guard["satisfied"] is not True}
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
