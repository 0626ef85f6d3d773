"""What there is to know about a coding agent: how it asks, how it is answered, where it is told to ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.agents.hook import HookAnswer, Stop
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
    #: Where the agent is, which paths are relative to; empty where it does not tell.
    folder: str = ""


class Output(Value):
    """What a hook prints, and how it ends."""

    #: The one JSON object on standard output; None: nothing is printed there.
    document: Document | None = field(default_factory=dict)
    #: For the agent's log, or, with code 2, for the agent itself.
    error: str = ""
    exit_code: int = 0


# --- the form that Claude Code began with, and others have taken over


def read_stop(document: Document) -> Stop:
    name = str(document.get("hook_event_name", ""))
    return Stop(session=text_of(document.get("session_id")), is_helper=name.lower() == "subagentstop")


def read_tool(document: Document) -> ToolCall:
    given = document.get("tool_input")
    return ToolCall(
        tool=str(document.get("tool_name", "")),
        input=given if isinstance(given, Mapping) else {},
        folder=text_of(document.get("cwd")),
    )


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


# --- an agent


#: In a template of a document: the command of a hook, what a hook says, and whether it denies a tool or asks about it.
COMMAND, SAID, VERDICT = "{command}", "{said}", "{verdict}"


def fill(template: Any, words: Mapping[str, str]) -> Any:
    """Return a template with these words in their places."""
    if isinstance(template, Mapping):
        return {key: fill(value, words) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, words) for value in template]
    return words.get(template, template) if isinstance(template, str) else template


class Agent(Value):
    """One agent; what it does not say is as Claude Code has it."""

    name: str
    #: As its makers write it.
    title: str
    #: The file with its hooks, from the root; and the one with its instructions.
    settings: str
    instructions: str
    #: What stands in the list of each event.
    stop_entry: Document
    tool_entry: Document
    read_stop: Callable[[Document], Stop] = read_stop
    read_tool: Callable[[Document], ToolCall] = read_tool
    #: How it is sent on, and how it is refused a tool.
    on_block: Document = field(default_factory=lambda: {"decision": "block", "reason": SAID})
    on_refusal: Document = field(
        default_factory=lambda: {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": VERDICT,
                "permissionDecisionReason": SAID,
            }
        }
    )
    #: The code that sends it on, with the reason on standard error; 0: the document does.
    block_code: int = 0
    #: Whether it can ask the user about a tool: elsewhere it may use what a person should look at.
    can_ask: bool = True
    #: Whether it shows the user what there is to tell; else that goes to its log.
    can_tell: bool = True
    #: What its events are called: about to stop, about to use a tool.
    stop_event: str = "Stop"
    tool_event: str = "PreToolUse"
    #: What else a new file of settings has to have.
    head: Document = field(default_factory=dict)
    #: How it is started without a person: `{text}` stands for the prompt, `{prompt}` for a file with it; without
    #: either it reads the prompt from standard input. Empty: it can't be.
    headless: tuple[str, ...] = ()
    #: What a user does so that the client runs the hooks of a project; empty: nothing has to be done.
    trust_step: str = ""
    #: What becomes of a stop and of a tool whose hook does not start.
    when_hook_fails: str = "the agent goes on unasked"

    def entry(self, event: str, command: str) -> Document:
        """Return what stands in the list of an event, for a command."""
        filled: Document = fill(self.stop_entry if event == self.stop_event else self.tool_entry, {COMMAND: command})
        return filled

    def answer(self, answer: HookAnswer) -> Output:
        """Return what a hook prints. Never "allow": that would take the place of what the user is asked."""
        text, verdict = answer.text, answer.verdict
        words = {SAID: text, VERDICT: verdict}
        if verdict == "block" and self.block_code:
            return Output(document=None, error=text, exit_code=self.block_code)
        if verdict == "block":
            return Output(document=fill(self.on_block, words))
        if verdict == "deny" or (verdict == "ask" and self.can_ask):
            return Output(document=fill(self.on_refusal, words))
        if not self.can_tell:
            return Output(error=text)
        return Output(document={"systemMessage": text} if text else {})

    def example(self, event: str) -> Document:
        """Return an event to try its hooks with, in the form that all read; the tool would write the gate's record."""
        call = {"tool_name": "Write", "tool_input": {"file_path": ".phase-gate/state.json", "content": ""}}
        return {"hook_event_name": event, "session_id": "doctor", **(call if event == self.tool_event else {})}

    def command(self, program: str, event: str) -> str:
        """Return what the agent runs. Some trust it by its hash, so it stays the same from version to version."""
        return f"{program} hook {'stop' if event == self.stop_event else 'pre-tool'} --agent {self.name}"


# --- the agents by name


AGENT_NAMES = ("claude", "codex", "gemini", "cursor", "copilot", "vscode")


def load_agent(name: str) -> Agent:
    from phase_gate.agents.clients import CLIENTS  # not at the top: help wants the names alone

    return CLIENTS[name]


def recognise(event: Document) -> str:
    """Return whose event this is; what no other agent claims is in the form of Claude Code."""
    if "conversation_id" in event:
        return "cursor"
    if "sessionId" in event:
        return "copilot"
    if event.get("hook_event_name") in ("AfterAgent", "BeforeTool"):
        return "gemini"
    return "codex" if "turn_id" in event else "claude"
