"""Words that stand in state files and commands: shared by modules that know nothing else of each other."""

from __future__ import annotations

#: The pseudo phase that a cycle ends in.
DONE = "DONE"
#: The pseudo phase of a pipeline that has spent its recoveries: only a person leads out of it.
STUCK = "STUCK"

#: How our own reports in Markdown begin: one that lies in a project is none of its documents.
REPORT_TITLE = "## Phase gate: "


def run_command(phase: str, task: str) -> str:
    """Return what to type to run a phase of a task."""
    return f"pytest --phase={phase.lower()}" + ("" if task == "default" else f" --phase-task={task}")


def signal_command(task: str) -> str:
    """Return what to type to give the exit signal for a task's last run."""
    return 'phase-gate signal --reason "..."' + ("" if task == "default" else f" --task {task}")


def call_command(answer: str, task: str) -> str:
    """Return what to type to call a person: `blocked` or `test-wrong`."""
    return f'phase-gate signal --{answer} --reason "..."' + ("" if task == "default" else f" --task {task}")


def look_command(task: str) -> str:
    """Return what to type to have a phase without tests judged, with nothing signalled."""
    return "phase-gate advance" + ("" if task == "default" else f" --task {task}")
