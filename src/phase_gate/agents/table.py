"""The agents by name; each is loaded only when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phase_gate.agents.agent import Agent, Document

AGENT_NAMES = ("claude", "codex", "gemini", "cursor", "copilot", "vscode")

#: The files that hooks stand in, so that six modules need not be loaded to know them.
SETTINGS_FILES = (
    ".claude/settings.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".github/hooks/phase-gate.json",
    ".github/hooks/phase-gate-vscode.json",
)


def load_agent(name: str) -> Agent:
    agent: Agent = importlib.import_module(f"phase_gate.agents.{name}").AGENT
    return agent


def recognise(event: Document) -> str:
    """Return whose event this is; what no other agent claims is in the form of Claude Code."""
    if "conversation_id" in event:
        return "cursor"
    if "sessionId" in event:
        return "copilot"
    if event.get("hook_event_name") in ("AfterAgent", "BeforeTool"):
        return "gemini"
    return "codex" if "turn_id" in event else "claude"
