"""What the tools of the MCP server answer.

Each asks one command that only looks, and gives its document, shortened to what an agent needs. No other command is
asked, whatever a client sends: there is no way to signal, declare, waive or write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from phase_gate.cli._answer import Answer
from phase_gate.errors import UsageError
from phase_gate.storage.store import task_folder
from phase_gate.visible import show_rows, show_text

#: Runs that `history` lists unless asked for more, and at most.
DEFAULT_LAST = 20
MOST = 500

INSTRUCTIONS = (
    "Where a test-driven task stands, measured inside pytest. A phase may end only if `holds` is true: both gates hold,"
    " the metrics and an explicit exit signal. These tools only look. Tests are run with the command in `next_command`;"
    " the signal is given in a shell, on purpose, and can't be given here."
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
