"""The clients, one value each: what differs from the form of Claude Code, and how each is set up.

A new one is a value here, and a name in `AGENT_NAMES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import loads

from phase_gate.agents.agent import COMMAND, SAID, VERDICT, Agent, Document, ToolCall, read_tool, text_of
from phase_gate.agents.hook import Stop
from phase_gate.values import replace

#: Seconds; some wait ten minutes by default, and an answer takes a fraction of a second.
TIMEOUT = 30

#: How most write an entry: that of a tool has the names of the tools that are asked about, too.
_HOOK = {"type": "command", "command": COMMAND, "timeout": TIMEOUT}
_HOOKS = {"hooks": [_HOOK]}

# --- Claude Code: `Stop` and `PreToolUse`, in the form that others have taken over


CLAUDE = Agent(
    name="claude",
    title="Claude Code",
    settings=".claude/settings.json",
    instructions="CLAUDE.md",
    stop_entry=_HOOKS,
    tool_entry={"matcher": "Edit|Write|MultiEdit|NotebookEdit|Bash", **_HOOKS},
    # It may edit files, and run the tests and us; what else it may do, its settings say.
    headless=(
        *("claude", "-p", "--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose"),
        *("--allowedTools", "Bash(pytest *)", "Bash(phase-gate *)"),
    ),
)


# --- Codex CLI: like Claude Code, but an unknown key makes an answer void, and a tool can only be denied


CODEX = Agent(
    name="codex",
    title="Codex CLI",
    can_ask=False,  # it would count as a failed hook, and let the tool run unsaid
    settings=".codex/hooks.json",
    instructions="AGENTS.md",
    stop_entry=_HOOKS,
    tool_entry={"matcher": "apply_patch|Edit|Write|Bash", **_HOOKS},
    # Its own sandbox lets it write in this folder only, and keeps it off the network.
    headless=("codex", "exec", "--json", "--sandbox", "workspace-write", "-"),
    trust_step="start codex here, trust the folder, then type /hooks and trust each with t",
)


# --- Gemini CLI: `AfterAgent` and `BeforeTool`; it knows `deny` and no way to ask; its time-outs are in milliseconds


_HOOKS_GEMINI = {"hooks": [{**_HOOK, "name": "phase-gate", "timeout": TIMEOUT * 1000}]}
_DENY_GEMINI = {"decision": "deny", "reason": SAID}


GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    on_block=_DENY_GEMINI,
    on_refusal=_DENY_GEMINI,
    can_ask=False,
    settings=".gemini/settings.json",
    instructions="GEMINI.md",
    stop_event="AfterAgent",
    tool_event="BeforeTool",
    stop_entry=_HOOKS_GEMINI,
    tool_entry={"matcher": "write_file|replace|run_shell_command", **_HOOKS_GEMINI},
    # It may edit files, and run the tests and us.
    headless=(
        *("gemini", "--approval-mode", "auto_edit", "--output-format", "stream-json"),
        *("--allowed-tools", "run_shell_command(pytest)", "--allowed-tools", "run_shell_command(phase-gate)"),
    ),
    trust_step="start gemini here and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
    when_hook_fails="the agent is refused every stop and every write",
)


# --- Cursor: `stop` is answered with a message to go on with, `preToolUse` with a permission; it counts its own loops


#: How often Cursor lets a hook send it on, where its settings do not say otherwise.
LOOP_LIMIT = 5


def _read_stop_cursor(document: Document) -> Stop:
    loops = document.get("loop_count")
    sent_on = loops if isinstance(loops, int) else None
    return Stop(
        session=text_of(document.get("conversation_id")),
        sent_on=sent_on,
        limit=LOOP_LIMIT,
        is_broken_off=document.get("status") in ("aborted", "error"),
        is_helper=document.get("hook_event_name") == "subagentStop",
    )


def _read_tool_cursor(document: Document) -> ToolCall:
    call = read_tool(document)
    roots = document.get("workspace_roots")
    if not call.folder and isinstance(roots, list) and roots and isinstance(roots[0], str):
        call = replace(call, folder=roots[0])
    if not call.tool and isinstance(document.get("command"), str):
        return replace(call, tool="Shell", input={"command": document["command"]})  # beforeShellExecution
    return call


CURSOR = Agent(
    name="cursor",
    title="Cursor",
    read_stop=_read_stop_cursor,
    read_tool=_read_tool_cursor,
    on_block={"followup_message": SAID},
    on_refusal={"permission": VERDICT, "user_message": SAID, "agent_message": SAID},
    can_tell=False,
    settings=".cursor/hooks.json",
    instructions="AGENTS.md",
    stop_event="stop",
    tool_event="preToolUse",
    stop_entry={"command": COMMAND, "timeout": TIMEOUT, "loop_limit": LOOP_LIMIT},
    # Without a matcher: its names of tools change, and ours is the table that knows them.
    tool_entry={"command": COMMAND, "timeout": TIMEOUT, "failClosed": True},
    head={"version": 1},
    trust_step="open the folder in Cursor, trust it, and look at the hooks in its settings",
)


# --- Copilot CLI and cloud agent: `agentStop` and `preToolUse`, with fields in camel case and a flat permission


def _read_stop_copilot(document: Document) -> Stop:
    # The event's name, in camel case or not, decides about the form of its fields.
    session = text_of(document.get("sessionId")) or text_of(document.get("session_id"))
    return Stop(session=session, is_helper="agentName" in document)


def _read_tool_copilot(document: Document) -> ToolCall:
    if "toolName" not in document:
        return read_tool(document)  # the event's name was written in the other form
    given = document.get("toolArgs")
    if isinstance(given, str):
        try:
            given = loads(given)
        except ValueError:
            given = {"input": given}
    return ToolCall(
        tool=str(document["toolName"]),
        input=given if isinstance(given, Mapping) else {},
        folder=text_of(document.get("cwd")),
    )


_HOOK_COPILOT = {"type": "command", "command": COMMAND, "timeoutSec": TIMEOUT}

COPILOT = Agent(
    name="copilot",
    title="GitHub Copilot CLI and cloud agent",
    read_stop=_read_stop_copilot,
    read_tool=_read_tool_copilot,
    on_refusal={"permissionDecision": VERDICT, "permissionDecisionReason": SAID},
    can_tell=False,
    settings=".github/hooks/phase-gate.json",
    instructions="AGENTS.md",
    stop_event="agentStop",
    tool_event="preToolUse",
    stop_entry=_HOOK_COPILOT,
    tool_entry=_HOOK_COPILOT,
    # It may edit files, and run the tests and us; and it asks nothing, for there is no person.
    headless=(
        *("copilot", "--output-format", "json", "--no-ask-user", "--allow-tool", "write"),
        *("--allow-tool", "shell(pytest:*)", "--allow-tool", "shell(phase-gate:*)"),
    ),
    head={"version": 1},
    trust_step="start copilot here and trust the folder, or call it with --trust-folder",
    when_hook_fails="the agent stops unasked, and is refused every tool",
)


# --- VS Code chat: like Claude Code for tools; a stop is held up by exit code 2, with the reason on standard error


VSCODE = Agent(
    name="vscode",
    title="VS Code chat",
    block_code=2,
    settings=".github/hooks/phase-gate-vscode.json",
    instructions="AGENTS.md",
    stop_entry=_HOOK,
    tool_entry=_HOOK,
    trust_step="open the folder in VS Code, trust it, and look at the output channel of its hooks",
)

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, CURSOR, COPILOT, VSCODE)}
