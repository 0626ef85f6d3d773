"""Names used in state files, marks and commands, and durations: shared by modules that do not import each other."""

from __future__ import annotations

import re

#: The pseudo phase that a cycle ends in.
DONE = "DONE"
#: The pseudo phase of a pipeline that has used up its recoveries. Only a person can continue it.
STUCK = "STUCK"

#: The mark of a test that guards what works already.
PASSES_ALREADY = "passes_already"

#: The environment variable with the path of the file for a driven agent's answer. Each turn has a new path.
ANSWER_VARIABLE = "PHASE_GATE_ANSWER"

#: The first line of our Markdown reports, which do not count as documents of a project.
REPORT_TITLE = "## Phase gate: "


def is_answer_name(name: str) -> bool:
    """Return whether a file name is that of an answer: a role, and 16 random hexadecimal digits."""
    return re.fullmatch(r"(?:signal|executor|reviewer|vote)-[0-9a-f]{16}\.yaml", name) is not None


def of_task(command: str, task: str) -> str:
    """Return a command with the option for a task."""
    return command + ("" if task == "default" else f" --task {task}")


def run_command(phase: str, task: str) -> str:
    """Return the command that runs a phase of a task."""
    return f"pytest --phase={phase.lower()}" + ("" if task == "default" else f" --phase-task={task}")


def status_command(task: str) -> str:
    """Return the command that shows a task and what comes next."""
    return of_task("phase-gate status", task)


def signal_command(task: str) -> str:
    """Return the command that gives the exit signal for a task's last run."""
    return of_task("phase-gate signal", task)


def call_command(answer: str, task: str) -> str:
    """Return the command that asks for a person's help: `blocked` or `test-wrong`."""
    return of_task(f'phase-gate signal --{answer} --reason "..."', task)


def look_command(task: str) -> str:
    """Return the command that evaluates a phase without tests, without giving a signal."""
    return of_task("phase-gate advance", task)


def rewind_command(phase: str, task: str) -> str:
    """Return the command that returns to an earlier phase."""
    return of_task(f'phase-gate rewind {phase.lower()} --reason "..."', task)


def step_command(phase: str, task: str, *, takes_run: bool) -> str:
    """Return the command that enters or evaluates a phase."""
    return run_command(phase, task) if takes_run else look_command(task)


# --- durations: `90`, `90s`, `20m`, `4h`


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([smhd]?)"
#: The syntax, for messages.
SPAN_FORM = "write seconds, or a number with s, m, h or d: 90s, 20m, 4h"


def parse_duration(text: str) -> float | None:
    """Return the seconds; None if the text is not a duration."""
    found = re.fullmatch(_SPAN, text.strip())
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def show_duration(seconds: float) -> str:
    """Return a duration as text: `9s`, `2m 05s`, `4h`, `1h 30m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m" + (f" {whole % 60:02}s" if whole % 60 else "")
    return f"{whole // 3600}h" + (f" {whole % 3600 // 60:02}m" if whole % 3600 // 60 else "")
