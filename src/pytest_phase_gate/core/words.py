"""Words that stand in state files and commands: shared by modules that know nothing else of each other."""

from __future__ import annotations

#: The pseudo phase that a cycle ends in.
DONE = "DONE"


def run_command(phase: str, task: str) -> str:
    """Return what to type to run a phase of a task."""
    return f"pytest --phase={phase.lower()}" + ("" if task == "default" else f" --phase-task={task}")


def signal_command(task: str) -> str:
    """Return what to type to give the exit signal for a task's last run."""
    return 'phase-gate signal --reason "..."' + ("" if task == "default" else f" --task {task}")
