"""`phase-gate agent mcp`: a server for coding agents that can look, and nothing else. Needs the extra `mcp`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate import __version__
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._mcp_tools import DEFAULT_LAST, INSTRUCTIONS, Ask, explain, show_history, show_status
from phase_gate.errors import PhaseGateError, UsageError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", metavar="FOLDER", help="the project, where a client starts servers somewhere else; here by default"
    )


def run(call: Call) -> Answer:
    start = call.start / (call.arguments.root or "")
    if not start.is_dir():
        raise UsageError(f"{call.arguments.root} is no folder", remedy="name the project's folder with --root")
    build_server(_ask_in(start, call)).run("stdio")
    return Answer(text="", document={"served": True})


def _ask_in(start: Path, call: Call) -> Ask:
    from phase_gate.cli._dispatch import call_in

    given = call.arguments
    common = [f"--{name}={value}" for name, value in (("task", given.task), ("dir", given.dir)) if value is not None]

    def ask(*words: str) -> Answer:
        # The options of the server first: what a client says about the task comes later, and wins.
        return call_in(start, [words[0], *common, *words[1:]], environment=call.environment, interactive=False)

    return ask


def build_server(ask: Ask) -> MCPServer[Any]:
    """Return the server with its three tools. Raises UsageError where the extra is not installed."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise UsageError(
            f"the server needs the package mcp, from version 2 on ({error})",
            remedy="pip install 'pytest-phase-gate[mcp]'",
        ) from None

    def tell(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return look()
        except PhaseGateError as error:
            raise ToolError(str(error)) from None

    def gate_status(task: str | None = None) -> dict[str, Any]:
        """Say where the task stands: phase, iteration, green streak, whether the phase may end (holds), why not
        (reason), and the command to type next (next). Only looks: runs no test and gives no signal."""
        return tell(lambda: show_status(ask, task))

    def explain_gate(name: str | None = None, task: str | None = None) -> dict[str, Any]:
        """Explain the last verdict with every condition and guard of both gates; or, with a name, one metric, guard,
        fact, phase or message of the gate, with its findings. Only looks."""
        return tell(lambda: explain(ask, name, task))

    def history(last: int = DEFAULT_LAST, task: str | None = None) -> dict[str, Any]:
        """List the last runs of the task, oldest first: when, in which phase, what kind, how many tests ended how.
        Only looks."""
        return tell(lambda: show_history(ask, last, task))

    server = MCPServer[Any]("phase-gate", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    looks = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in (gate_status, explain_gate, history):
        server.add_tool(tool, annotations=looks)
    return server
