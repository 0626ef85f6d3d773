"""`phase-gate agent mcp` with the client of the official package, over a pipe: `tox -e mcp`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.conftest import Begin, Desk
from tests.warm import WITHOUT_EXTRAS

#: Seconds until a server is given up.
TIMEOUT = 100


def talk(desk: Desk, say: Callable[[Client], Awaitable[None]], *arguments: str, cwd: str = "") -> None:
    """Start the server as a client does, and talk to it."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != WITHOUT_EXTRAS]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "phase_gate.cli", "agent", "mcp", *arguments],
        cwd=cwd or desk.root,
        env={**os.environ, "CI": "1", "PYTHONPATH": os.pathsep.join(paths)},
    )

    async def session() -> None:
        with anyio.fail_after(TIMEOUT):
            async with Client(stdio_client(server)) as client:
                await say(client)

    anyio.run(session)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    document: dict[str, Any] = result.structured_content
    assert json.loads(result.content[0].text) == document, "for clients that only read text"
    return document


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    text: str = result.content[0].text
    return text


def test_there_are_three_tools_and_all_only_look(begin: Begin) -> None:
    async def say(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"gate_status", "explain_gate", "history"}
        for tool in tools.values():
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert "Only looks" in (tool.description or "")
            assert tool.input_schema.get("required", []) == []
        assert set(tools["history"].input_schema["properties"]) == {"last", "task"}
        assert client.instructions is not None
        assert "can't be given here" in client.instructions
        assert (await client.list_resources()).resources == []
        assert (await client.list_prompts()).prompts == []

    talk(begin("green"), say)


def test_they_answer_what_the_commands_answer(begin: Begin) -> None:
    desk = begin("green")

    async def say(client: Client) -> None:
        status = await call(client, "gate_status")
        assert status == {"exit_code": 10, **{k: v for k, v in desk.json("status").items() if k != "evaluation"}}
        verdict = await call(client, "explain_gate")
        assert verdict["text"] == desk.gate("explain").out.rstrip("\n")
        guard = await call(client, "explain_gate", name="tests-kept")
        assert guard["kind"] == "guard"
        runs = await call(client, "history", last=1)
        assert [run["id"] for run in runs["runs"]] == [desk.json("history")["runs"][-1]["id"]]

    talk(desk, say)


def test_a_server_sees_what_happens_while_it_lives(begin: Begin) -> None:
    desk = begin("green")

    async def say(client: Client) -> None:
        assert (await call(client, "gate_status"))["exited"] is False
        assert desk.gate("signal", "--reason", "both pass, twice").code == 0
        assert (await call(client, "gate_status"))["exited"] is True
        desk.edit_source()
        assert (await call(client, "gate_status"))["phase"] == "GREEN"

    talk(desk, say)


def test_it_can_not_signal_and_writes_nothing(begin: Begin) -> None:
    desk = begin("green")
    desk.gate("status")
    before = desk.files()

    async def say(client: Client) -> None:
        for tool in ("signal", "gate_signal", "declare", "waive", "advance", "status"):
            assert await refused(client, tool) == f"Unknown tool: {tool}"
        for name in ("--dir=elsewhere", "--", "signal", "x\ny", "$(touch pwned)"):
            assert "nothing is called" in await refused(client, "explain_gate", name=name)
        for task in ("--dir=elsewhere", "../x", ""):
            assert "[bad-task-name]" in await refused(client, "gate_status", task=task)
        assert "last can't be 0" in await refused(client, "history", last=0)
        await refused(client, "history", last="many")
        await call(client, "gate_status")
        await call(client, "history")

    talk(desk, say)
    assert desk.files() == before


def test_a_damaged_state_is_an_error_with_the_way_to_repair(begin: Begin) -> None:
    desk = begin("green")
    desk.tamper()

    async def say(client: Client) -> None:
        for tool in ("gate_status", "explain_gate", "history"):
            assert "try: phase-gate audit" in await refused(client, tool)

    talk(desk, say)


def test_the_project_may_be_elsewhere(begin: Begin, tmp_path_factory: pytest.TempPathFactory) -> None:
    desk = begin("green")

    async def say(client: Client) -> None:
        assert (await call(client, "gate_status"))["root"] == str(desk.root)

    talk(desk, say, "--root", str(desk.root), cwd=str(tmp_path_factory.mktemp("elsewhere")))


def test_the_task_of_the_server_is_the_default(begin: Begin) -> None:
    async def say(client: Client) -> None:
        assert (await call(client, "gate_status"))["task"] == "login"
        assert (await call(client, "gate_status", task="default"))["task"] == "default"

    talk(begin("green"), say, "--task", "login")
