"""What people see of a client at work: events as the real clients print them, shortened."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.agents.endings import describe_event

SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "claude-runs": (
        {
            "type": "assistant",
            "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}}]},
        },
        "pytest -q",
    ),
    "claude-says": (
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Thought.\n\nAll done.\n"}]}},
        "All done.",
    ),
    "claude-begins": ({"type": "system", "subtype": "init", "tools": ["Bash"]}, ""),
    "codex-edits": (
        {"type": "item.started", "item": {"type": "file_change", "changes": [{"path": "a.py", "kind": "add"}]}},
        "a.py",
    ),
    "codex-says": ({"type": "item.completed", "item": {"type": "agent_message", "text": "All done."}}, "All done."),
    "gemini-says": ({"type": "message", "role": "assistant", "content": "All done.", "delta": True}, "All done."),
    "copilot-edits": (
        {"type": "tool.execution_start", "data": {"toolName": "create", "arguments": {"path": "a.py"}}},
        "a.py",
    ),
    "a-form-that-is-not-known": ({"type": "assistant", "message": {"content": 7}}, ""),
}


@pytest.mark.parametrize(("event", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_an_event_tells(event: dict[str, Any], shown: str) -> None:
    assert describe_event(json.dumps(event)) == shown


@pytest.mark.parametrize("line", ["", "1 passed", "{", "[1]", '{"a": 1}', '{"type": 3}', '"text"', "{'type': 'x'}"])
def test_what_is_no_event(line: str) -> None:
    assert describe_event(line) is None


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each, max_size=3))
_KEYS = st.sampled_from(["type", "message", "content", "item", "data", "input", "changes", "text", "role", "command"])
_EVENTS = st.recursive(
    _JSON, lambda each: st.dictionaries(_KEYS, each, max_size=4) | st.lists(each, max_size=3), max_leaves=8
)


@given(st.sampled_from(["assistant", "tool_use", "item.started", "item.completed", "message"]), _EVENTS)
def test_nothing_in_an_event_makes_it_fail(kind: str, inner: object) -> None:
    event = {**inner, "type": kind} if isinstance(inner, dict) else {"type": kind, "message": inner, "item": inner}
    assert isinstance(describe_event(json.dumps(event)), str)
