"""Read tasks of the verification gate: the XML form of its document, or YAML."""

from __future__ import annotations

from pathlib import Path

from pytest_phase_gate.core.task_spec import TaskSpec


def read_task_file(path: Path) -> tuple[TaskSpec, ...]:
    """Return the tasks of a file, at least one."""
    raise NotImplementedError


def parse_tasks(text: str | bytes, name: str) -> tuple[TaskSpec, ...]:
    """Return the tasks of a text: XML if it begins with `<`, else YAML."""
    raise NotImplementedError
