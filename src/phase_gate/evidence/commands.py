"""Run commands of the project. Their exit code is the evidence, not the claim of an agent."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.gate.measured import Finding, Measured
from phase_gate.workflow.settings import EvidenceCommand

#: Bytes of a command's output that are kept: the beginning, and the end, which usually contains the error.
KEPT_OUTPUT = 64 * 1024
#: Seconds after which a waiting user gets a message.
_SAYS_AFTER = 5.0


class CommandProvider(Provider):
    """`evidence.commands.NAME` measures `NAME_ok`."""

    def measure(self, context: EvidenceContext) -> Measured:
        metrics: dict[str, bool] = {}
        findings: list[Finding] = []
        warnings: list[str] = []
        for command in context.configuration.evidence.commands.values():
            if command.metric not in context.wanted:
                continue
            ended = run_command(command, context, context.folder / "evidence" / f"{command.name}.txt")
            place = ended.problem or f"its output is in {_relative(ended.output, context.root)}"
            if ended.how == "not-started":
                warnings.append(f"{command.metric} is unknown: {command.text!r}: {ended.problem}")
            elif ended.code is None:
                in_time = f"did not end within {command.timeout:g} s"
                took = "was interrupted" if ended.how == "interrupted" else in_time
                warnings.append(f"{command.metric} is unknown: {command.text!r} {took}; {place}")
            else:
                metrics[command.metric] = ended.code == 0
                if ended.code != 0:
                    # The condition closes the gate. This finding names the output file.
                    detail = f"{command.text!r} ended with {ended.code}: {place}"
                    findings.append(Finding(slug="command-failed", tier="advisory", id=command.name, detail=detail))
        return Measured(metrics=metrics, findings=tuple(findings), warnings=tuple(warnings))


PROVIDER = CommandProvider()


def run_command(command: EvidenceCommand, context: EvidenceContext, log: Path) -> Ended:
    """Run the command in the root, and show a message to the user if it takes long."""
    message_at = _SAYS_AFTER

    def tell(seconds: float) -> None:
        nonlocal message_at
        if seconds >= message_at:
            context.show(f"phase gate: {command.name} runs for {seconds:.0f} s: {command.text}")
            message_at *= 2

    ended = run_process(
        command.run,
        shell=command.shell,
        cwd=context.root,
        environment=os.environ,
        timeout=command.timeout,
        log=log,
        limit=KEPT_OUTPUT,
        tick=tell,
        is_apart=False,
    )
    if ended.interrupted_by:
        # The signal was for this process. Raise it again, now that the command has ended.
        signal.raise_signal(ended.interrupted_by)
    return ended


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
