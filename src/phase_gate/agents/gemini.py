"""Gemini CLI: `AfterAgent` and `BeforeTool`; it knows `deny` and no way to ask; its time-outs are in milliseconds."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, say
from phase_gate.agents.endings import Kind, Sign
from phase_gate.agents.stop import HookAnswer

#: What stands before the number of an error.
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


def _told(kind: Kind, what: str) -> tuple[Sign, Sign]:
    """Return how it tells of an error with this in it: in words, and as the last event of `stream-json`."""
    in_words = rf"^Error when talking to Gemini API Full report available at: \S+ (?P<said>.*{what}.*)"
    as_event = rf'^\{{"type":"result",.*"status":"error".*"message":"(?P<said>(?=.*{what})(?:[^"\\]|\\.)*)"'
    return Sign(kind, in_words), Sign(kind, as_event)


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
        *("gemini", "--approval-mode", "auto_edit", "--output-format", "stream-json"),
        *("--allowed-tools", "run_shell_command(pytest)", "--allowed-tools", "run_shell_command(phase-gate)"),
    ),
    example_stop={"hook_event_name": "AfterAgent", "session_id": "doctor", "stop_hook_active": False},
    trust_step="start gemini here and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
    when_hook_fails="the agent is refused every stop and every write",
    signs=(
        Sign("no-login", r"^(?:When using Gemini API, you must specify|Please set an Auth method)"),
        *_told("no-login", rf"(?:{_CODE}401\b|API key not valid)"),
        *_told("no-credit", rf"{_CODE}402\b"),
        *_told("busy", rf"(?:{_CODE}(?:429|5\d\d)\b|RetryableQuotaError|Please wait and try again later)"),
        Sign("untrusted", r"not running in a trusted directory"),
    ),
    example_tool={
        "hook_event_name": "BeforeTool",
        "session_id": "doctor",
        "tool_name": "write_file",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
