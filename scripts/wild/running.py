"""Run a suite: once without the gate, then in GREEN until its streak should hold. Keeps what was said and written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.wild.comparing import Evidence, Said

#: Seconds for one run of a suite.
TIMEOUT = 1800

#: As many as GREEN asks for.
GREEN_RUNS = 2

_REPORT = "verdict.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """How to call pytest and the command, and with which environment."""

    pytest: tuple[str, ...]
    gate: tuple[str, ...]
    environment: Mapping[str, str]


def run_alone(tools: Tools, sources: Path, arguments: Sequence[str], *, home: Path) -> Said:
    """Run the suite as its own authors do; return what pytest said."""
    return call((*tools.pytest, *arguments), tools, sources, home)


def run_gated(tools: Tools, sources: Path, arguments: Sequence[str], *, home: Path) -> Evidence:
    """Run the suite in GREEN as often as the gate asks for; return what is to be compared.

    :param home: of a user who has never seen the project; it is made.
    """
    command = (*tools.pytest, "--phase=green", f"--phase-report={_REPORT}", *arguments)
    said = tuple(call(command, tools, sources, home) for _ in range(GREEN_RUNS))
    history = call((*tools.gate, "history", "--json"), tools, sources, home)
    report = sources / _REPORT
    return Evidence(
        said=said,
        runs=tuple(json.loads(history.output)["runs"]) if history.code == 0 else (),
        verdict=json.loads(report.read_text(encoding="utf-8")) if report.exists() else {},
    )


def call(command: Sequence[str], tools: Tools, folder: Path, home: Path, *, timeout: float = TIMEOUT) -> Said:
    home.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**tools.environment, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise
    return Said(code=process.returncode, output=output, seconds=time.perf_counter() - began)


def _end(process: subprocess.Popen[str]) -> None:
    """End a suite that takes too long, with what it started."""
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
