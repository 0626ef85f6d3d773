"""VS Code chat: like Claude Code for tools; a stop is held up by exit code 2, with the reason on standard error."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, answer_tool, read_stop, read_tool, say
from phase_gate.agents.stop import HookAnswer

TIMEOUT = 30


def answer_stop(answer: HookAnswer) -> Output:
    return Output(document=None, error=answer.text, exit_code=2) if answer.verdict == "block" else say(answer)


def entry(event: str, command: str) -> Document:
    return {"type": "command", "command": command, "timeout": TIMEOUT}


AGENT = Agent(
    name="vscode",
    title="VS Code chat",
    read_stop=read_stop,
    read_tool=read_tool,
    answer_stop=answer_stop,
    answer_tool=answer_tool,
    settings=".github/hooks/phase-gate-vscode.json",
    instructions="AGENTS.md",
    stop_event="Stop",
    tool_event="PreToolUse",
    entry=entry,
    example_stop={"hook_event_name": "Stop", "session_id": "doctor", "stop_hook_active": False},
    example_tool={
        "hook_event_name": "PreToolUse",
        "session_id": "doctor",
        "tool_name": "create_file",
        "tool_input": {"filePath": ".phase-gate/state.json", "content": ""},
    },
)
