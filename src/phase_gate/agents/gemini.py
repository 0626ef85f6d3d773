"""Gemini CLI: `AfterAgent` and `BeforeTool`; it knows `deny` and no way to ask; its time-outs are in milliseconds."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, say
from phase_gate.agents.stop import HookAnswer

TIMEOUT = 30_000


def answer(given: HookAnswer) -> Output:
    if given.verdict in ("block", "deny"):
        return Output(document={"decision": "deny", "reason": given.text})
    return say(given)


def entry(event: str, command: str) -> Document:
    hook = {"name": "phase-gate", "type": "command", "command": command, "timeout": TIMEOUT}
    return (
        {"hooks": [hook]}
        if event == "AfterAgent"
        else {"matcher": "write_file|replace|run_shell_command", "hooks": [hook]}
    )


AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    answer_stop=answer,
    answer_tool=answer,
    settings=".gemini/settings.json",
    instructions="GEMINI.md",
    stop_event="AfterAgent",
    tool_event="BeforeTool",
    entry=entry,
    headless=("gemini", "-p", "{text}"),
    example_stop={"hook_event_name": "AfterAgent", "session_id": "doctor", "stop_hook_active": False},
    example_tool={
        "hook_event_name": "BeforeTool",
        "session_id": "doctor",
        "tool_name": "write_file",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
