"""Claude Code: `Stop` and `PreToolUse`, in the form that others have taken over."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document
from phase_gate.agents.endings import Sign

#: What a document of an error goes on with.
_RESULT = r'.*"result":"(?P<said>(?:[^"\\]|\\.)*)"'
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
    # It may edit files, and run the tests and us; what else it may do, its settings say.
    headless=(
        *("claude", "-p", "--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose"),
        *("--allowedTools", "Bash(pytest *)", "Bash(phase-gate *)"),
    ),
    # In words, and as the last document of `--output-format json`.
    signs=(
        Sign("no-login", r"^(?:Not logged in|Invalid API key|Please run /login)\b"),
        Sign("no-credit", r"^Credit balance is too low"),
        Sign("busy", r"^API Error: (?:.*\(429\)|(?:Repeated )?(?:429|5\d\d)\b)"),
        Sign("no-login", rf'"is_error":true.*"api_error_status":401,{_RESULT}'),
        Sign("no-login", r'"is_error":true.*"result":"(?P<said>Not logged in[^"]*)"'),
        Sign("no-credit", rf'"is_error":true.*"api_error_status":402,{_RESULT}'),
        Sign("busy", rf'"is_error":true.*"api_error_status":(?:429|5\d\d),{_RESULT}'),
    ),
    example_tool={
        "hook_event_name": "PreToolUse",
        "session_id": "doctor",
        "tool_name": "Write",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
