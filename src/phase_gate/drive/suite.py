"""Our own run of the tests in a phase, as a process of its own. What it means is said by the plugin in it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from phase_gate.drive.agent_process import Tail
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.project import STATE_FOLDER, Project
from phase_gate.storage.places import DEFAULT_TASK
from phase_gate.workflow.model import Phase
from phase_gate.workflow.names import NONCE_VARIABLE
from phase_gate.workflow.settings import DriveSettings

#: Bytes of its output that are kept.
KEPT = 256 * 1024


def suite_command(project: Project, phase: Phase, settings: DriveSettings) -> list[str]:
    """Return what we run: the phase by its name, and again where a streak is asked for."""
    words = [sys.executable, "-m", "pytest", f"--phase={phase.name.lower()}"]
    if phase.tests == "passing":
        words.append("--phase-confirm")
    if project.task != DEFAULT_TASK:
        words.append(f"--phase-task={project.task}")
    if project.state_folder != project.root / (project.configuration.run.dir or STATE_FOLDER):
        words.append(f"--phase-dir={project.state_folder}")
    return [*words, *settings.pytest]


def run_suite(
    project: Project,
    phase: Phase,
    settings: DriveSettings,
    *,
    log: Path,
    interrupts: Interrupts,
    tail: Tail,
    tick: Callable[[float], None],
) -> Ended:
    """Run the tests to their end, their time limit, or an interrupt."""
    return run_process(
        suite_command(project, phase, settings),
        shell=False,
        cwd=project.root,
        environment={name: value for name, value in project.environment.items() if name != NONCE_VARIABLE},
        timeout=settings.test_time_limit,
        log=log,
        limit=KEPT,
        stream=cast(BinaryIO, tail),
        tick=tick,
        is_apart=False,
        interrupts=interrupts,
        leaves_none=True,
    )
