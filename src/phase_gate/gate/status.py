"""What a verdict is, in one word, and how that word and the next step are shown.

Pure. Code asks the word; the sentences are for people only.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Literal

Status = Literal[
    "unstarted",  # no run or verdict of the present phase yet
    "running",  # a run has not ended yet
    "stale",  # something came after the last verdict
    "void",  # the run did not count
    "closed",  # Gate 1 is closed
    "early",  # the exit signal came while Gate 1 was closed
    "failed",  # the gate of a pipeline, or an attempt at a verify task, failed, and another try follows
    "waiting",  # Gate 1 is open, Gate 2 is not; or a verify task waits for its executor, its command or its reviewer
    "open",  # the phase has exited
    "needs-person",  # the signal, or a verify task, asks for a person
    "halted",  # the circuit is open
    "stuck",  # a pipeline has spent its recoveries
]

_LEADS: Mapping[str, str] = {
    "void": "go on: ",
    "closed": "go on: ",
    "early": "signal came too early: ",
    "needs-person": "stop: ",
    "halted": "halt: ",
}


def show_verdict(status: str, reason: str) -> str:
    """Return a verdict as a sentence."""
    return f"{_LEADS.get(status, '')}{reason}"


def show_next(command: str, hint: str) -> str:
    """Return the next step in one line that can be copied as a whole: what follows # is a comment to a shell."""
    return f"{command}  # {hint}" if command and hint else command or hint
