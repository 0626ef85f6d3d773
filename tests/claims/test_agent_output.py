"""The assistant's texts in what real clients print as JSON lines, and lines of which no client would think."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.claims.agent_output import read_messages

Rows = list[dict[str, Any]]

SAID: dict[str, tuple[Rows, tuple[str, ...]]] = {
    "claude": (
        [
            {"type": "system", "subtype": "init"},
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", "name": "Bash"}]}},
            {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "1 passed"}]}},
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}},
            {"type": "result", "result": "Done.", "is_error": False},
        ],
        ("Done.",),
    ),
    "codex": (
        [
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "1 passed"}},
            {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
            {"type": "turn.completed", "usage": {}},
        ],
        ("Done.",),
    ),
    "gemini-in-pieces": (
        [
            {"type": "message", "role": "assistant", "content": "Before the last prompt."},
            {"type": "message", "role": "user", "content": "work"},
            {"type": "message", "role": "assistant", "content": "All tests", "delta": True},
            {"type": "message", "role": "assistant", "content": " ", "delta": True},
            {"type": "message", "role": "assistant", "content": "pass.", "delta": True},
            {"type": "tool_use", "tool_name": "replace", "parameters": {}},
            {"type": "message", "role": "assistant", "content": "Done.", "delta": True},
        ],
        ("All tests pass.", "Done."),
    ),
    "copilot": (
        [
            {"type": "user.message", "data": {"content": "work"}},
            {"type": "assistant.message", "data": {"content": "", "toolRequests": [{"name": "bash"}]}},
            {"type": "tool.execution_complete", "data": {"result": {"content": "1 passed"}}},
            {"type": "assistant.message_delta", "data": {"deltaContent": "Do"}},
            {"type": "assistant.message", "data": {"content": "Done."}},
            {"type": "result", "exitCode": 0},
        ],
        ("Done.",),
    ),
}


@pytest.mark.parametrize(("rows", "texts"), SAID.values(), ids=SAID)
def test_what_clients_print(rows: Rows, texts: tuple[str, ...]) -> None:
    assert read_messages("\n".join(map(json.dumps, rows))) == texts


@pytest.mark.parametrize(
    "line",
    [
        '{"type": ["assistant"]}',
        '{"role": {}}',
        '{"message": {"role": []}}',
        '{"type": "assistant.message", "data": 7}',
        '{"role": "assistant", "content": [{"type": [], "text": 1}]}',
        '{"role": "assistant", "content": 5, "delta": true}',
    ],
)
def test_odd_lines_say_nothing(line: str) -> None:
    assert read_messages(line) == ()


@pytest.mark.parametrize("text", ["", "1 passed\n", "{", "[1]", '{"a": 1}\n', '"text"'])
def test_plain_output_is_all_the_agents(text: str) -> None:
    assert read_messages(text) == (text,)
