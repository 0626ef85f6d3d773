"""The command `phase-gate`: one file a command, loaded only when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

#: Commands in the order in which help lists them, each with its one line.
COMMANDS: dict[str, str] = {
    "demo": "Show the whole thing on a sample project, with real pytest runs",
    "init": "Write a commented phase-gate.yaml, or tell coding agents to ask the gate",
    "uninstall": "Take back what init wrote for coding agents",
    "status": "Say where the task stands and what to type next",
    "check": "End with 0 if the phase may end, with 10 if not: only looks",
    "explain": "Explain the last verdict, or a metric, guard, message or phase by its name",
    "history": "List every run of the task, oldest first",
    "report": "Tell the whole story of the task as one HTML file, or as Markdown",
    "signal": "Give the explicit exit signal (Gate 2) for the last complete run",
    "claim": "Compare what an agent says with what was measured, and decide whether it is done",
    "prompt": "Print the rules of a phase for an agent, and the block that it is to print",
    "withdraw": "Take back a waiting signal, or a declared fact",
    "declare": "Declare a fact that the workflow asks for",
    "advance": "Enter the next phase, or evaluate a phase that needs no tests",
    "rewind": "Go back to an earlier phase",
    "verify": "Take a task through executor, verify command and reviewer",
    "review": "Give the verdict on a task that was verified, or vote in a consensus phase of a pipeline",
    "request": "Make, list and decide on change requests of a pipeline",
    "recover": "Show what the recovery of a pipeline asks for, begin one, or begin anew where it is stuck",
    "constitution": "Show whether a pipeline's constitution is as recorded, or accept a change: a person",
    "snapshot": "Write down the tree that a phase of a pipeline speaks of",
    "waive": "Let one guard's present findings pass: a person, with a reason",
    "breaker": "Show the circuit breaker and what was tried, or let it try again",
    "skip": "Give a phase up whose circuit is open: a person, with a reason",
    "force": "End a phase against everything that was measured: a person, with a word",
    "hook": "Answer a coding agent that is about to stop, or to use a tool",
    "mcp": "Serve the state to coding agents over MCP, read-only",
    "baseline": "Record the tests and outcomes that the next cycle starts from",
    "combine": "Make one run of the records that shards wrote",
    "badge": "Print where the task stands as the document of a shields.io badge",
    "attest": "Print the last run and its verdict as in-toto statements",
    "audit": "Verify every line of the ledger; repair a damaged one",
    "doctor": "Look at the installation; --prove tries cheats against it",
    "completion": "Print the completion script of a shell",
    "schema": "Print a JSON Schema of our files, or a workflow as a diagram",
    "check-workflow": "Find everything that is wrong with workflow files",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    from phase_gate.cli._dispatch import dispatch

    return dispatch(given)
