"""Copilot CLI and cloud agent: `agentStop` and `preToolUse`, with fields in camel case and a flat permission."""

from __future__ import annotations

import json
from collections.abc import Mapping

from phase_gate.agents.agent import Agent, Document, Output, ToolCall, log, text_of
from phase_gate.agents.agent import read_tool as read_like_claude
from phase_gate.agents.endings import Sign
from phase_gate.agents.stop import HookAnswer, Stop

#: How it begins to tell of an error, in words or as an event; and what it says when it has tried again in vain.
_ERROR = r'^(?:\{"type":"session\.error".*"message":")?'
_LAST = r"Failed to get response from the AI model; .*Last error: "
TIMEOUT = 30


def read_stop(document: Document) -> Stop:
    # The event's name, in camel case or not, decides about the form of its fields.
    session = text_of(document.get("sessionId")) or text_of(document.get("session_id"))
    return Stop(session=session, is_helper="agentName" in document)


def read_tool(document: Document) -> ToolCall:
    if "toolName" not in document:
        return read_like_claude(document)  # the event's name was written in the other form
    given = document.get("toolArgs")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"input": given}
    return ToolCall(
        tool=str(document["toolName"]),
        input=given if isinstance(given, Mapping) else {},
        folder=text_of(document.get("cwd")),
    )


def answer_stop(answer: HookAnswer) -> Output:
    if answer.verdict == "block":
        return Output(document={"decision": "block", "reason": answer.text})
    return log(answer)


def answer_tool(answer: HookAnswer) -> Output:
    if answer.verdict not in ("deny", "ask"):
        return log(answer)
    return Output(document={"permissionDecision": answer.verdict, "permissionDecisionReason": answer.text})


def entry(event: str, command: str) -> Document:
    return {"type": "command", "command": command, "timeoutSec": TIMEOUT}


AGENT = Agent(
    name="copilot",
    title="GitHub Copilot CLI and cloud agent",
    read_stop=read_stop,
    read_tool=read_tool,
    answer_stop=answer_stop,
    answer_tool=answer_tool,
    settings=".github/hooks/phase-gate.json",
    instructions="AGENTS.md",
    stop_event="agentStop",
    tool_event="preToolUse",
    entry=entry,
    # It may edit files, and run the tests and us; and it asks nothing, for there is no person.
    headless=(
        *("copilot", "--output-format", "json", "--no-ask-user", "--allow-tool", "write"),
        *("--allow-tool", "shell(pytest:*)", "--allow-tool", "shell(phase-gate:*)"),
    ),
    head={"version": 1},
    example_stop={"sessionId": "doctor", "stopReason": "end_turn", "stop_hook_active": False},
    trust_step="start copilot here and trust the folder, or call it with --trust-folder",
    when_hook_fails="the agent stops unasked, and is refused every tool",
    # In words, and as an event of `--output-format json`.
    signs=(
        Sign("no-login", r"^Error: No authentication information found"),
        Sign("no-login", rf"{_ERROR}(?P<said>Authentication failed with provider .*\(HTTP 401\))"),
        Sign("no-credit", rf'{_ERROR}(?P<said>(?:{_LAST})?(?:402 [^"]*|429 You exceeded your current quota[^"]*))'),
        Sign("busy", rf'{_ERROR}(?P<said>{_LAST}(?:429|5\d\d) [^"]*)'),
    ),
    example_tool={
        "sessionId": "doctor",
        "toolName": "create",
        "toolArgs": {"path": ".phase-gate/state.json", "file_text": ""},
    },
)
