"""Codex CLI: like Claude Code, but an unknown key makes an answer void, and a tool can only be denied."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, say
from phase_gate.agents.agent import answer_tool as answer_like_claude
from phase_gate.agents.endings import Sign
from phase_gate.agents.stop import HookAnswer

#: How it begins to tell of an error, in words or as an event.
_ERROR = r'^(?:ERROR: |\{"type":"turn\.failed","error":\{"message":")'
TIMEOUT = 30


def answer_tool(answer: HookAnswer) -> Output:
    # `ask` counts as a failed hook there, and lets the tool run unsaid.
    return answer_like_claude(answer) if answer.verdict == "deny" else say(answer)


def entry(event: str, command: str) -> Document:
    hook = {"type": "command", "command": command, "timeout": TIMEOUT}
    return {"hooks": [hook]} if event == "Stop" else {"matcher": "apply_patch|Edit|Write|Bash", "hooks": [hook]}


AGENT = Agent(
    name="codex",
    title="Codex CLI",
    answer_tool=answer_tool,
    settings=".codex/hooks.json",
    instructions="AGENTS.md",
    entry=entry,
    # Its own sandbox lets it write in this folder only, and keeps it off the network.
    headless=("codex", "exec", "--json", "--sandbox", "workspace-write", "-"),
    example_stop={
        "hook_event_name": "Stop",
        "session_id": "doctor",
        "turn_id": "1",
        "model": "",
        "permission_mode": "default",
        "stop_hook_active": False,
        "last_assistant_message": None,
        "transcript_path": None,
    },
    trust_step="start codex here, trust the folder, then type /hooks and trust each with t",
    # In words, and as the last event of `--json`.
    signs=(
        Sign("untrusted", r"^Not inside a trusted directory"),
        Sign("no-login", rf'{_ERROR}(?P<said>unexpected status 401 [^"]*|Missing environment variable[^"]*)'),
        Sign("no-credit", rf'{_ERROR}(?P<said>unexpected status 402 [^"]*|Quota exceeded[^"]*)'),
        Sign(
            "busy",
            rf'{_ERROR}(?P<said>exceeded retry limit, last status: 429[^"]*|unexpected status (?:429|5\d\d) [^"]*'
            r'|Selected model is at capacity[^"]*)',
        ),
    ),
    example_tool={
        "hook_event_name": "PreToolUse",
        "session_id": "doctor",
        "turn_id": "1",
        "model": "",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_use_id": "1",
        "tool_input": {"command": "rm .phase-gate/state.json"},
        "transcript_path": None,
    },
)
