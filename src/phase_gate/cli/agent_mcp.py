"""`phase-gate agent mcp`: a server for coding agents that can look, and nothing else. Needs the extra `mcp`."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from phase_gate import __version__
from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import PhaseGateError, UsageError
from phase_gate.storage.places import task_folder
from phase_gate.visible import show_rows, show_text

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
        """Say where the task stands: phase, iteration, green streak, whether the phase may end (open), why not
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


# --- what the tools of the MCP server answer


#: Runs that `history` lists unless asked for more, and at most.
DEFAULT_LAST = 20
MOST = 500

INSTRUCTIONS = (
    "Where a test-driven task stands, measured inside pytest. A phase may end only if `open` is true: both gates are"
    " open, the metrics and an explicit exit signal. These tools only look. Tests are run with the command in"
    " `next_command`; the signal is given in a shell, on purpose, and can't be given here."
)


class Ask(Protocol):
    """Calls a command of ours by its words, and returns its answer. Raises PhaseGateError."""

    def __call__(self, *words: str) -> Answer: ...


def show_status(ask: Ask, task: str | None = None) -> dict[str, Any]:
    """Return where the task stands, without the verdict in full, which `explain` gives."""
    answer = ask("status", *_of(task))
    return {"exit_code": answer.exit_code, **_without(answer.document, "evaluation")}


def explain(ask: Ask, name: str | None = None, task: str | None = None) -> dict[str, Any]:
    """Return the last verdict with both gates, or what one name means."""
    # What follows two dashes is never an option.
    answer = ask("explain", *_of(task), *(() if name is None else ("--", name)))
    verdict = answer.document.get("evaluation") or {}
    gates = {gate: verdict[gate] for gate in ("gate_1", "gate_2") if gate in verdict}
    text = show_text(answer.text) if isinstance(answer.text, str) else show_rows(answer.text)
    return {"exit_code": answer.exit_code, **_without(answer.document, "evaluation"), **gates, "text": text}


def show_history(ask: Ask, last: int = DEFAULT_LAST, task: str | None = None) -> dict[str, Any]:
    """Return the last runs, oldest first, and how many there are."""
    if not 1 <= last <= MOST:
        raise UsageError(f"last can't be {last}", remedy=f"give 1 to {MOST}")
    document = ask("history", *_of(task)).document
    total, runs = _last(document["runs"], last)
    return {
        "task": document["task"],
        "root": document["root"],
        "total": total,
        "runs": [_without(run, "metrics", "arguments") for run in runs],
        "overrides": list(document["overrides"]),
    }


def _of(task: str | None) -> tuple[str, ...]:
    if task is None:
        return ()
    task_folder(Path(), task)  # a bad name is refused here: on no command line is it taken for an option
    return (f"--task={task}",)


def _last(rows: Iterable[dict[str, Any]], number: int) -> tuple[int, list[dict[str, Any]]]:
    """Return how many there are, and the last ones, without holding the others."""
    total = 0
    kept: deque[dict[str, Any]] = deque(maxlen=number)
    for row in rows:
        total += 1
        kept.append(row)
    return total, list(kept)


def _without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}
