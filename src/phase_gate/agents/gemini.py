"""Gemini CLI: `AfterAgent` and `BeforeTool`; it knows `deny` and no way to ask; its time-outs are in milliseconds."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, say
from phase_gate.agents.endings import Sign
from phase_gate.agents.stop import HookAnswer

#: How it begins to tell of an error, in words or as an event; and what stands before its number.
_ERROR = r'^(?:Error when talking to Gemini API|\{"type":"result",.*"status":"error")'
_CODE = r'\\?"code\\?":'
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
    # It may edit files, and run the tests and us.
    headless=(
        *("gemini", "--approval-mode", "auto_edit"),
        *("--allowed-tools", "run_shell_command(pytest)", "--allowed-tools", "run_shell_command(phase-gate)"),
    ),
    example_stop={"hook_event_name": "AfterAgent", "session_id": "doctor", "stop_hook_active": False},
    trust_step="start gemini here and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
    when_hook_fails="the agent is refused every stop and every write",
    signs=(
        Sign("no-login", r"^(?:When using Gemini API, you must specify|Please set an Auth method)"),
        Sign("no-login", rf"{_ERROR}.*(?:{_CODE}401\b|API key not valid)"),
        Sign("no-credit", rf"{_ERROR}.*{_CODE}402\b"),
        Sign("busy", rf"{_ERROR}.*(?:{_CODE}(?:429|5\d\d)\b|RetryableQuotaError|Please wait and try again later)"),
        Sign("untrusted", r"not running in a trusted directory"),
    ),
    example_tool={
        "hook_event_name": "BeforeTool",
        "session_id": "doctor",
        "tool_name": "write_file",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
