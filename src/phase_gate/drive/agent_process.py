"""Start the agent, and keep what it prints: time limit, whole tree ended, secrets blotted out, size capped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from phase_gate.agents.endings import Ending, classify, describe_event
from phase_gate.drive.clients import Client
from phase_gate.evidence.process.run import How, run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.values import Value

#: Bytes of a transcript that are kept: the beginning, and the end, where an agent says what it did.
KEPT = 1 << 20
#: Bytes of its output that a view may show: an event takes some thousands.
_TAIL = 1 << 16


class Tail:
    """The end of what a command prints, for a view: written to like a file."""

    def __init__(self) -> None:
        self._data = b""

    def write(self, data: bytes) -> int:
        self._data += data
        if len(self._data) > _TAIL:
            # From the beginning of a line: half an event is no line that anyone could read.
            self._data = self._data[-_TAIL:].partition(b"\n")[2] or self._data[-_TAIL:]
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def clear(self) -> None:
        """Forget it: another command begins."""
        self._data = b""

    def lines(self, most: int) -> list[str]:
        """Return the last lines that say something; of events, what they tell."""
        rows = self._data.decode("utf-8", "replace").replace("\r", "\n").splitlines()
        shown: list[str] = []
        for row in reversed(rows):
            told = describe_event(row)
            text = row.rstrip() if told is None else told
            shown += [text] if text.strip() else []
            if len(shown) == most:
                break
        return shown[::-1]


class AgentEnded(Value):
    """How the agent ended in one iteration."""

    how: How
    code: int | None
    seconds: float
    #: All that it printed, and what stands on its standard output: its claim.
    transcript: Path
    said: str
    #: What its end means, by what the client tells of it.
    ending: Ending
    problem: str = ""

    @property
    def shown(self) -> str:
        if self.how == "ended":
            return "ended" if self.code == 0 else f"failed with {self.code}"
        return {"timed-out": "ran out of time", "interrupted": "was interrupted"}.get(
            self.how, f"did not start: {self.problem}"
        )


def run_agent(
    client: Client,
    prompt: Path,
    *,
    root: Path,
    environment: Mapping[str, str],
    secrets: Mapping[str, str],
    timeout: float,
    log: Path,
    mark: str,
    interrupts: Interrupts,
    tail: Tail,
    tick: Callable[[float], None],
) -> AgentEnded:
    """Let the agent work until it stops, its time is over, or the user interrupts.

    :param environment: all that it gets.
    :param secrets: the user's environment, whose secrets are blotted out of what is kept and shown.
    """
    ended = run_process(
        client.fill(prompt),
        shell=False,
        cwd=root,
        environment=environment,
        timeout=timeout,
        log=log,
        limit=KEPT,
        stream=cast(BinaryIO, tail),
        tick=tick,
        stdin=prompt if client.reads_stdin else None,
        secrets=secrets,
        interrupts=interrupts,
        mark=mark,
        leaves_none=True,
    )
    return AgentEnded(
        how=ended.how,
        code=ended.code,
        seconds=round(ended.seconds, 3),
        transcript=ended.output,
        said=_read(ended.stdout),
        problem=ended.problem,
        ending=classify(client.signs, ended.code, _read(ended.output))
        if ended.how == "ended"
        else Ending(kind="failed"),
    )


def _read(path: Path | None) -> str:
    try:
        return "" if path is None else path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
