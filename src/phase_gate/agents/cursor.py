"""Cursor: `stop` is answered with a message to go on with, `preToolUse` with a permission; it counts its own loops."""

from __future__ import annotations

from phase_gate.agents.agent import Agent, Document, Output, ToolCall, log, text_of
from phase_gate.agents.agent import read_tool as read_like_claude
from phase_gate.agents.stop import HookAnswer, Stop
from phase_gate.values import replace

TIMEOUT = 30
#: How often Cursor lets a hook send it on, where its settings do not say otherwise.
LOOP_LIMIT = 5


def read_stop(document: Document) -> Stop:
    loops = document.get("loop_count")
    sent_on = loops if isinstance(loops, int) else None
    return Stop(
        session=text_of(document.get("conversation_id")),
        sent_on=sent_on,
        limit=LOOP_LIMIT,
        is_broken_off=document.get("status") in ("aborted", "error"),
        is_helper=document.get("hook_event_name") == "subagentStop",
    )


def read_tool(document: Document) -> ToolCall:
    call = read_like_claude(document)
    roots = document.get("workspace_roots")
    if not call.folder and isinstance(roots, list) and roots and isinstance(roots[0], str):
        call = replace(call, folder=roots[0])
    if not call.tool and isinstance(document.get("command"), str):
        return replace(call, tool="Shell", input={"command": document["command"]})  # beforeShellExecution
    return call


def answer_stop(answer: HookAnswer) -> Output:
    return Output(document={"followup_message": answer.text}) if answer.verdict == "block" else log(answer)


def answer_tool(answer: HookAnswer) -> Output:
    if answer.verdict not in ("deny", "ask"):
        return log(answer)
    return Output(document={"permission": answer.verdict, "user_message": answer.text, "agent_message": answer.text})


def entry(event: str, command: str) -> Document:
    if event == "stop":
        return {"command": command, "timeout": TIMEOUT, "loop_limit": LOOP_LIMIT}
    # Without a matcher: its names of tools change, and ours is the table that knows them.
    return {"command": command, "timeout": TIMEOUT, "failClosed": True}


AGENT = Agent(
    name="cursor",
    title="Cursor",
    read_stop=read_stop,
    read_tool=read_tool,
    answer_stop=answer_stop,
    answer_tool=answer_tool,
    settings=".cursor/hooks.json",
    instructions="AGENTS.md",
    stop_event="stop",
    tool_event="preToolUse",
    entry=entry,
    head={"version": 1},
    trust_step="open the folder in Cursor, trust it, and look at the hooks in its settings",
    example_stop={"hook_event_name": "stop", "conversation_id": "doctor", "status": "completed", "loop_count": 0},
    example_tool={
        "hook_event_name": "preToolUse",
        "conversation_id": "doctor",
        "tool_name": "Write",
        "tool_input": {"file_path": ".phase-gate/state.json", "content": ""},
    },
)
