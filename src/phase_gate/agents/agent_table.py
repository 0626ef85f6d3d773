"""The properties of each coding agent: the format of its events and of our answers, and its settings files.

To support another client, add a value to `CLIENTS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.agents.hook_answers import HookAnswer, Stop
from phase_gate.codec import parse_foreign
from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Document = Mapping[str, Any]
else:
    Document = Mapping


class ToolCall(Value):
    """A tool that an agent is about to use."""

    tool: str
    input: Document
    #: The agent's current folder, which paths are relative to; empty if the event does not contain it.
    folder: str = ""


class Output(Value):
    """A hook's output and exit code."""

    #: The JSON object on standard output; None: print nothing there.
    document: Document | None = field(default_factory=dict)
    #: For the agent's log or, with code 2, for the agent itself.
    error: str = ""
    exit_code: int = 0


# --- the fields of an event: the names that Claude Code introduced, and those of Cursor and Copilot


#: How often Cursor lets a hook make it continue, unless its settings change that.
LOOP_LIMIT = 5


def read_stop(event: Document) -> Stop:
    return Stop(
        session=_first_text(event, "session_id", "sessionId", "conversation_id"),
        is_broken_off=event.get("status") in ("aborted", "error"),
        is_helper=str(event.get("hook_event_name", "")).lower() == "subagentstop" or "agentName" in event,
    )


def read_tool(event: Document) -> ToolCall:
    given = event.get("toolArgs", event.get("tool_input"))
    if isinstance(given, str):
        try:
            given = parse_foreign(given)
        except ValueError:
            given = {"input": given}
    tool, roots = _first_text(event, "tool_name", "toolName"), event.get("workspace_roots")
    if not tool and isinstance(event.get("command"), str):
        tool, given = "Shell", {"command": event["command"]}  # the event beforeShellExecution of Cursor
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return ToolCall(
        tool=tool, input=given if isinstance(given, Mapping) else {}, folder=_first_text(event, "cwd") or root
    )


def _first_text(event: Document, *names: str) -> str:
    return next((value for name in names if isinstance(value := event.get(name), str)), "")


# --- an agent


#: Placeholders in a template: a hook's command, its message, and whether it denies a tool or asks about it.
COMMAND, MESSAGE, VERDICT = "{command}", "{message}", "{verdict}"


def fill(template: Any, words: Mapping[str, str]) -> Any:
    """Return a template with its placeholders filled in."""
    if isinstance(template, Mapping):
        return {key: fill(value, words) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, words) for value in template]
    return words.get(template, template) if isinstance(template, str) else template


class Agent(Value):
    """One agent. The defaults are those of Claude Code."""

    name: str
    #: The name as its makers write it.
    title: str
    #: The file with its hooks, and the file with its instructions, as paths from the root.
    settings: str
    instructions: str
    #: The entries in the lists of events.
    stop_entry: Document
    tool_entry: Document
    #: The answers that make it continue, and that refuse a tool.
    on_block: Document = field(default_factory=lambda: {"decision": "block", "reason": MESSAGE})
    on_refusal: Document = field(
        default_factory=lambda: {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": VERDICT,
                "permissionDecisionReason": MESSAGE,
            }
        }
    )
    #: The exit code that makes it continue, with the reason on standard error; 0: the document does that.
    block_code: int = 0
    #: Whether it can ask the user about a tool. If not, it may use a tool that a person should confirm.
    can_ask: bool = True
    #: Whether it shows our messages to the user. If not, they go to its log.
    shows_messages: bool = True
    #: The names of its events: about to stop, about to use a tool.
    stop_event: str = "Stop"
    tool_event: str = "PreToolUse"
    #: Other required content of a new settings file.
    head: Document = field(default_factory=dict)
    #: The command line without a person: `{text}` is replaced by the prompt, `{prompt}` by a file with it. Without
    #: either, it reads the prompt from standard input. Empty: not supported.
    headless: tuple[str, ...] = ()
    #: What a user must do before the client runs a project's hooks; empty: nothing.
    trust_step: str = ""
    #: The consequence if a hook does not start.
    when_hook_fails: str = "the agent continues unasked"

    def entry(self, event: str, command: str) -> Document:
        """Return the entry for a command in the list of an event."""
        filled: Document = fill(self.stop_entry if event == self.stop_event else self.tool_entry, {COMMAND: command})
        return filled

    def answer(self, answer: HookAnswer) -> Output:
        """Return a hook's output. Never "allow": that would replace the agent's own question to the user."""
        text, verdict = answer.text, answer.verdict
        words = {MESSAGE: text, VERDICT: verdict}
        if verdict == "block" and self.block_code:
            return Output(document=None, error=text, exit_code=self.block_code)
        if verdict == "block":
            return Output(document=fill(self.on_block, words))
        if verdict == "deny" or (verdict == "ask" and self.can_ask):
            return Output(document=fill(self.on_refusal, words))
        if not self.shows_messages:
            return Output(error=text)
        return Output(document={"systemMessage": text} if text else {})

    def example(self, event: str) -> Document:
        """Return an event to test its hooks, in the format that all read. The tool would write the gate's record."""
        call = {"tool_name": "Write", "tool_input": {"file_path": ".phase-gate/state.json", "content": ""}}
        return {"hook_event_name": event, "session_id": "doctor", **(call if event == self.tool_event else {})}

    def command(self, program: str, event: str) -> str:
        """Return the command of a hook. Some agents trust it by its hash, so it is the same in every version."""
        return f"{program} hook {'stop' if event == self.stop_event else 'pre-tool'} --agent {self.name}"


# --- the clients, one value each: differences from Claude Code's format, and how each is set up


#: Seconds. Some agents wait ten minutes by default, and an answer takes a fraction of a second.
TIMEOUT = 30

#: The most common form of an entry. An entry for tools also has a matcher with their names.
_HOOK = {"type": "command", "command": COMMAND, "timeout": TIMEOUT}
_HOOKS = {"hooks": [_HOOK]}

# --- Claude Code: `Stop` and `PreToolUse`, in the format that others have adopted


CLAUDE = Agent(
    name="claude",
    title="Claude Code",
    settings=".claude/settings.json",
    instructions="CLAUDE.md",
    stop_entry=_HOOKS,
    tool_entry={"matcher": "Edit|Write|MultiEdit|NotebookEdit|Bash", **_HOOKS},
    # It may edit files, run the tests and run phase-gate. Its settings decide about the rest.
    headless=(
        *("claude", "-p", "--permission-mode", "acceptEdits", "--output-format", "stream-json", "--verbose"),
        *("--allowedTools", "Bash(pytest *)", "Bash(phase-gate *)"),
    ),
)


# --- Codex CLI: like Claude Code, but an unknown key invalidates an answer, and a tool can only be denied


CODEX = Agent(
    name="codex",
    title="Codex CLI",
    can_ask=False,  # it would count as a failed hook, and the tool would run without a message
    settings=".codex/hooks.json",
    instructions="AGENTS.md",
    stop_entry=_HOOKS,
    tool_entry={"matcher": "apply_patch|Edit|Write|Bash", **_HOOKS},
    # Its own sandbox limits writes to this folder, and blocks the network.
    headless=("codex", "exec", "--json", "--sandbox", "workspace-write", "-"),
    trust_step="start codex here, trust the folder, then type /hooks and trust each with t",
)


# --- Gemini CLI: `AfterAgent` and `BeforeTool`; it supports `deny`, but can't ask; its timeouts are in milliseconds


_HOOKS_GEMINI = {"hooks": [{**_HOOK, "name": "phase-gate", "timeout": TIMEOUT * 1000}]}
_DENY_GEMINI = {"decision": "deny", "reason": MESSAGE}


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
    # It may edit files, run the tests and run phase-gate.
    headless=(
        *("gemini", "--approval-mode", "auto_edit", "--output-format", "stream-json"),
        *("--allowed-tools", "run_shell_command(pytest)", "--allowed-tools", "run_shell_command(phase-gate)"),
    ),
    trust_step="start gemini here and trust the folder, or set GEMINI_CLI_TRUST_WORKSPACE=true",
    when_hook_fails="the agent is refused every stop and every write",
)


# --- Cursor: `stop` is answered with a message to continue, `preToolUse` with a permission; it counts its own loops


CURSOR = Agent(
    name="cursor",
    title="Cursor",
    on_block={"followup_message": MESSAGE},
    on_refusal={"permission": VERDICT, "user_message": MESSAGE, "agent_message": MESSAGE},
    shows_messages=False,
    settings=".cursor/hooks.json",
    instructions="AGENTS.md",
    stop_event="stop",
    tool_event="preToolUse",
    stop_entry={"command": COMMAND, "timeout": TIMEOUT, "loop_limit": LOOP_LIMIT},
    # Without a matcher: Cursor's names of tools change, and our own table knows them.
    tool_entry={"command": COMMAND, "timeout": TIMEOUT, "failClosed": True},
    head={"version": 1},
    trust_step="open the folder in Cursor, trust it, and look at the hooks in its settings",
)


# --- Copilot CLI and cloud agent: `agentStop` and `preToolUse`, with fields in camel case and a flat permission


_HOOK_COPILOT = {"type": "command", "command": COMMAND, "timeoutSec": TIMEOUT}

COPILOT = Agent(
    name="copilot",
    title="GitHub Copilot CLI and cloud agent",
    on_refusal={"permissionDecision": VERDICT, "permissionDecisionReason": MESSAGE},
    shows_messages=False,
    settings=".github/hooks/phase-gate.json",
    instructions="AGENTS.md",
    stop_event="agentStop",
    tool_event="preToolUse",
    stop_entry=_HOOK_COPILOT,
    tool_entry=_HOOK_COPILOT,
    # It may edit files, run the tests and run phase-gate. It asks no questions, because there is no person.
    headless=(
        *("copilot", "--output-format", "json", "--no-ask-user", "--allow-tool", "write"),
        *("--allow-tool", "shell(pytest:*)", "--allow-tool", "shell(phase-gate:*)"),
    ),
    head={"version": 1},
    trust_step="start copilot here and trust the folder, or call it with --trust-folder",
    when_hook_fails="the agent stops unasked, and is refused every tool",
)


# --- VS Code chat: like Claude Code for tools; exit code 2 blocks a stop, with the reason on standard error


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
AGENT_NAMES = tuple(CLIENTS)


def load_agent(name: str) -> Agent:
    return CLIENTS[name]


def recognise(event: Document) -> str:
    """Return the agent that sent an event. An event that no other agent claims has Claude Code's format."""
    if "conversation_id" in event:
        return "cursor"
    if "sessionId" in event:
        return "copilot"
    if event.get("hook_event_name") in ("AfterAgent", "BeforeTool"):
        return "gemini"
    return "codex" if "turn_id" in event else "claude"
