"""VS Code chat: like Claude Code for tools; a stop is held up by exit code 2, with the reason on standard error."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, say
from phase_gate.agents.stop import HookAnswer

TIMEOUT = 30


def answer_stop(answer: HookAnswer) -> Output:
    return Output(document=None, error=answer.text, exit_code=2) if answer.verdict == "block" else say(answer)


def entry(event: str, command: str) -> Document:
    return {"type": "command", "command": command, "timeout": TIMEOUT}


AGENT = Agent(
    name="vscode",
    title="VS Code chat",
    answer_stop=answer_stop,
    settings=".github/hooks/phase-gate-vscode.json",
    instructions="AGENTS.md",
    entry=entry,
    trust_step="open the folder in VS Code, trust it, and look at the output channel of its hooks",
    example_tool={
        "hook_event_name": "PreToolUse",
        "session_id": "doctor",
        "tool_name": "create_file",
        "tool_input": {"filePath": ".phase-gate/state.json", "content": ""},
    },
)
