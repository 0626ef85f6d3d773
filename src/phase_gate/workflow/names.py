"""Words in state files and commands, and time spans, for modules that are otherwise independent."""

from __future__ import annotations

import re

#: The pseudo phase that a cycle ends in.
DONE = "DONE"
#: The pseudo phase of a pipeline that has spent its recoveries: only a person leads out of it.
STUCK = "STUCK"

#: Of the environment: the file that the agent of a drive answers in. Its name is made for one turn.
ANSWER_VARIABLE = "PHASE_GATE_ANSWER"

#: How our own reports in Markdown begin: a report in a project is not one of its documents.
REPORT_TITLE = "## Phase gate: "


def is_answer_name(name: str) -> bool:
    """Return whether a file has the name of one turn: `executor-` and 16 random digits."""
    role, _, rest = name.partition("-")
    number, dot, ending = rest.partition(".")
    is_number = len(number) == 16 and not set(number) - set("0123456789abcdef")
    return role in ("signal", "executor", "reviewer", "vote") and is_number and dot + ending == ".yaml"


def of_task(command: str, task: str) -> str:
    """Return one of our commands for a task."""
    return command + ("" if task == "default" else f" --task {task}")


def run_command(phase: str, task: str) -> str:
    """Return what to type to run a phase of a task."""
    return f"pytest --phase={phase.lower()}" + ("" if task == "default" else f" --phase-task={task}")


def signal_command(task: str) -> str:
    """Return what to type to give the exit signal for a task's last run."""
    return of_task("phase-gate signal", task)


def call_command(answer: str, task: str) -> str:
    """Return what to type to call a person: `blocked` or `test-wrong`."""
    return f'phase-gate signal --{answer} --reason "..."' + ("" if task == "default" else f" --task {task}")


def look_command(task: str) -> str:
    """Return what to type to have a phase without tests judged, with nothing signalled."""
    return of_task("phase-gate advance", task)


def rewind_command(phase: str, task: str) -> str:
    """Return what to type to go back to an earlier phase."""
    return of_task(f'phase-gate rewind {phase.lower()} --reason "..."', task)


def step_command(phase: str, task: str, *, takes_run: bool) -> str:
    """Return what to type to enter a phase, or to have it judged."""
    return run_command(phase, task) if takes_run else look_command(task)


# --- spans of time as people write them: `90`, `90s`, `20m`, `4h`


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([smhd]?)"
#: What to write, for messages.
SPAN_FORM = "write seconds, or a number with s, m, h or d: 90s, 20m, 4h"


def parse_duration(text: str) -> float | None:
    """Return the seconds; None for what is no span of time."""
    found = re.fullmatch(_SPAN, text.strip())
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def show_duration(seconds: float) -> str:
    """Return a time span as text: `9s`, `2m 05s`, `4h`, `1h 30m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m" + (f" {whole % 60:02}s" if whole % 60 else "")
    return f"{whole // 3600}h" + (f" {whole % 3600 // 60:02}m" if whole % 3600 // 60 else "")
