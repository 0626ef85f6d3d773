"""The command `phase-gate`: one file a command or a theme, loaded only when it is called.

Parses arguments, decides or calls one service, prints its answer. Begin with `check`; `phase-gate pipeline recover`
stands in `pipeline_recover.py`, `phase-gate waive` in `overrides.py`.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Options of the command as a whole.
OF_ALL = ("-h", "--help", "--version")

#: Features whose commands stand below their name, each with its one line.
FEATURES: dict[str, str] = {
    "agent": "Settings and prompts for coding agents",
    "ci": "A suite that runs in shards",
    "pipeline": "Votes, change requests and recovery of a pipeline",
    "store": "Tasks in a shared store, for work on many machines",
    "workflow": "Workflow files and the schemas of all files",
}

#: Commands in the order in which help lists them, each with its one line.
COMMANDS: dict[str, str] = {
    "demo": "Show the whole thing on a sample project, with real pytest runs",
    "status": "Say where the task stands and what to type next",
    "check": "Exit 0 if the phase may end, 10 if not (read-only)",
    "explain": "Explain the last verdict, or a metric, guard, message or phase by its name",
    "signal": "Give the explicit exit signal (Gate 2) for the last complete run",
    "report": "Tell the whole story of the task as one HTML file, or as Markdown",
    "prove": "Show that new tests fail without the change and pass with it",
    "history": "List every run of the task, oldest first",
    "declare": "Declare a fact that the workflow asks for",
    "withdraw": "Take back a waiting signal, or a declared fact",
    "advance": "Enter the next phase, or evaluate a phase that needs no tests",
    "rewind": "Go back to an earlier phase",
    "baseline": "Record the tests and outcomes that the next cycle starts from",
    "waive": "Let one guard's present findings pass: a person, with a reason",
    "breaker": "Show the circuit breaker, let it try again, or give the phase up",
    "force": "End a phase against everything that was measured: a person, with a word",
    "drive": "Let an agent work through the phases until it is done, or a person is needed",
    "claim": "Compare what an agent says with what was measured, and decide whether it is done",
    "hook": "Answer a coding agent that is about to stop, or to use a tool",
    "agent prompt": "Print the rules of a phase for an agent, and the block that it is to print",
    "agent uninstall": "Take back what init wrote for coding agents",
    "verify": "Take a task through executor, verify command and reviewer",
    "pipeline vote": "Vote in a consensus phase, or show how the votes stand",
    "pipeline request": "Make, list and decide on change requests",
    "pipeline recover": "Show what the recovery asks for, begin one, or begin anew where the pipeline is stuck",
    "pipeline snapshot": "Write down the tree that a phase speaks of",
    "ci combine": "Make one run of the records that shards wrote",
    "init": "Write a commented phase-gate.yaml, or tell coding agents to ask the gate",
    "doctor": "Look at the installation",
    "audit": "Verify every line of the ledger; repair a damaged one",
    "store status": "Say which store the tasks are in, and whether this machine has what it has",
    "store trust": "Agree to the store that phase-gate.yaml names: a person",
    "store init": "Make what a store needs, and show what others will be able to read",
    "workflow check": "Find everything that is wrong with workflow files",
    "workflow schema": "Print a JSON Schema of our files, or a workflow as a diagram",
    "completion": "Print the completion script of a shell",
}


#: Commands that share a file with others of their theme; all others have a file of their own.
THEMES: dict[str, str] = {
    **dict.fromkeys(("signal", "advance"), "steps"),
    **dict.fromkeys(("waive", "force", "breaker"), "overrides"),
    **dict.fromkeys(("declare", "withdraw", "rewind"), "moves"),
    **dict.fromkeys(("store status", "store init", "store trust"), "store"),
    **dict.fromkeys(("workflow check", "workflow schema"), "workflow"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if arguments is not None:
        return _run([*arguments])
    if sys.implementation.name != "cpython":
        return _run(sys.argv[1:])  # which is refused, in words
    # Imports make objects that stay: to look through them again and again for some that do not is a tenth of `check`.
    gc.set_threshold(50_000)
    return _leave(_run(sys.argv[1:]))


def _run(given: list[str]) -> int:
    from phase_gate.cli._dispatch import dispatch

    return dispatch(given)


def _leave(code: int) -> int:
    """End the process where nothing waits for its end: to take every module apart takes as long as `check`."""
    is_asked = sys.flags.interactive or sys.flags.dev_mode
    if not (is_asked or _is_watched() or atexit._ncallbacks() or "threading" in sys.modules):
        os._exit(code)
    return code


def _is_watched() -> bool:
    """Tell whether a debugger or a profiler looks on, which has something to write at the end."""
    if sys.gettrace() or sys.getprofile():
        return True
    # Since Python 3.12 they may register there instead, and cProfile does. Six is how many it has room for.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))
