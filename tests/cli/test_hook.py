"""`phase-gate hook`: what each agent is answered, to the letter, and what the answer depends on. It only looks."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_phase_gate.agents.table import AGENT_NAMES, SETTINGS_FILES, load_agent
from tests.cli.conftest import Begin, Desk
from tests.support import CALC, FAILING_TESTS, Ran

DATA = Path(__file__).parent.parent / "data" / "agents"

#: Stories of the command's tests, and what happens after them.
STOPS: Mapping[str, tuple[str, Callable[[Desk], object]]] = {
    "no-cycle": ("", lambda desk: None),
    "closed": ("green-once", lambda desk: None),
    "open": ("green-exited", lambda desk: None),
    "cycle-done": ("done", lambda desk: None),
    "blocked": ("green-once", lambda desk: desk.gate("signal", "--blocked", "--reason", "no access to the service")),
    "circuit-open": ("stuck-5", lambda desk: None),
    "damaged-state": ("green", lambda desk: desk.tamper()),
}
TOOLS: Mapping[str, tuple[str, Callable[[Desk], object]]] = {
    "frozen-test": ("green", lambda desk: None),
    "code-in-red": ("red", lambda desk: desk.sample.write(calc=CALC)),
}

#: What differs from run to run.
VARYING = ((r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"), (r"\d+ min left", "N min left"))


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Return a function that asks as an agent does: an event on standard input."""
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)

    def ask(desk: Desk, *arguments: str, event: object = None) -> Ran:
        text = event if isinstance(event, str) else json.dumps(event if event is not None else {})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        before = desk.files()
        ran = desk.gate("hook", *arguments)
        assert desk.files() == before, "it only looks"
        return ran

    return ask


Hook = Callable[..., Ran]


def document_of(ran: Ran) -> dict[str, Any]:
    document = {"exit_code": ran.code, "stdout": json.loads(ran.out) if ran.out else None, "stderr": ran.err}
    text = json.dumps(document)
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    found: dict[str, Any] = json.loads(text)
    return found


def read_pair(agent: str, situation: str, root: Path) -> tuple[Any, Any]:
    event = (DATA / agent / f"{situation}.in.json").read_text(encoding="utf-8").replace("ROOT", str(root))
    return json.loads(event), json.loads((DATA / agent / f"{situation}.out.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("agent", AGENT_NAMES)
@pytest.mark.parametrize("situation", [*STOPS, *TOOLS])
def test_what_an_agent_is_answered(begin: Begin, hook: Hook, agent: str, situation: str) -> None:
    story, happens = {**STOPS, **TOOLS}[situation]
    desk = begin(story)
    happens(desk)
    event, expected = read_pair(agent, situation, desk.root)
    ran = hook(desk, "stop" if situation in STOPS else "pre-tool", "--agent", agent, event=event)
    if os.environ.get("WRITE_AGENT_ANSWERS"):
        (DATA / agent / f"{situation}.out.json").write_text(json.dumps(document_of(ran), indent=2) + "\n")
    assert document_of(ran) == expected
