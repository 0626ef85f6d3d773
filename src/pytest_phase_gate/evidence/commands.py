"""Commands of the project that we run ourselves: their exit code is the evidence, not what anybody says of them."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from pytest_phase_gate.core.evidence import Measured
from pytest_phase_gate.core.findings import Finding
from pytest_phase_gate.core.settings import EvidenceCommand
from pytest_phase_gate.evidence.scene import Provider, Scene

#: Bytes of a command's output that are kept: the end, where it says what went wrong.
KEPT_OUTPUT = 64 * 1024
#: Seconds between two looks at a command, and after which somebody who waits is told.
_POLL, _SAYS_AFTER = 0.05, 5.0
#: Seconds that a group has to end by itself, before it is made to.
_GRACE = 2.0


class CommandProvider(Provider):
    """`evidence.commands.NAME` measures `NAME_ok`."""

    def measure(self, scene: Scene) -> Measured:
        metrics: dict[str, bool] = {}
        findings: list[Finding] = []
        warnings: list[str] = []
        for command in scene.configuration.commands:
            if command.metric not in scene.wanted:
                continue
            log = scene.folder / "evidence" / f"{command.name}.txt"
            try:
                code = run_command(command, scene, log)
            except OSError as error:
                warnings.append(f"{command.metric} is unknown: {command.text!r}: {error.strerror or error}")
                continue
            if code is None:
                warnings.append(
                    f"{command.metric} is unknown: {command.text!r} did not end within {command.timeout:g} s; "
                    f"its output is in {_relative(log, scene.root)}"
                )
                continue
            metrics[command.metric] = code == 0
            if code != 0:
                # The gate is closed by the condition; this says where to look.
                detail = f"{command.text!r} ended with {code}: its output is in {_relative(log, scene.root)}"
                findings.append(Finding(slug="command-failed", tier="advisory", id=command.name, detail=detail))
        return Measured(metrics=metrics, findings=tuple(findings), warnings=tuple(warnings))


PROVIDER = CommandProvider()


def run_command(command: EvidenceCommand, scene: Scene, log: Path) -> int | None:
    """Run it in the root, keep the end of what it prints, and return its exit code; None if it took too long."""
    log.parent.mkdir(parents=True, exist_ok=True)
    words = command.run if command.shell else shlex.split(command.run)
    with open(log, "w+b") as output:
        process = subprocess.Popen(
            words,
            shell=command.shell,
            cwd=scene.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A group of its own: what it started goes with it when its time is over.
            start_new_session=True,
        )
        try:
            return _wait(process, command, scene)
        finally:
            _end_group(process)
            _keep_end(output)


def _wait(process: subprocess.Popen[bytes], command: EvidenceCommand, scene: Scene) -> int | None:
    began = time.monotonic()
    said_at = _SAYS_AFTER
    while (spent := time.monotonic() - began) < command.timeout:
        try:
            return process.wait(_POLL)
        except subprocess.TimeoutExpired:
            if spent >= said_at:
                scene.show(f"phase gate: {command.name} runs for {spent:.0f} s: {command.text}")
                said_at *= 2
    return process.poll()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the group, the command's own children too."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(_POLL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)


def _keep_end(output: IO[bytes]) -> None:
    size = output.seek(0, os.SEEK_END)
    if size > KEPT_OUTPUT:
        output.seek(size - KEPT_OUTPUT)
        end = output.read(KEPT_OUTPUT)
        output.seek(0)
        output.write(end)
        output.truncate()


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
