"""Claude Code: `Stop` and `PreToolUse`, in the form that others have taken over."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document

#: Seconds; the default is ten minutes, and an answer takes a fraction of a second.
TIMEOUT = 30


def entry(event: str, command: str) -> Document:
    hook = {"type": "command", "command": command, "timeout": TIMEOUT}
    return (
        {"hooks": [hook]} if event == "Stop" else {"matcher": "Edit|Write|MultiEdit|NotebookEdit|Bash", "hooks": [hook]}
    )


AGENT = Agent(
    name="claude",
    title="Claude Code",
    settings=".claude/settings.json",
    instructions="CLAUDE.md",
    entry=entry,
    headless=("claude", "-p"),
    example_tool={
        "hook_event_name": "PreToolUse",
        "session_id": "doctor",
        "tool_name": "Write",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
