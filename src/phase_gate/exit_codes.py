"""The exit codes of plugin and command: one table."""

from __future__ import annotations

#: The gate that was asked for is open.
OPEN = 0
#: A usage error of the command.
COMMAND_USAGE = 2
#: The gate is closed.
GATE_CLOSED = 10
#: State or evidence can't be trusted or stored.
NOT_TRUSTED = 11
#: The circuit is open, or the work is stuck.
CIRCUIT_OPEN = 12
#: Not allowed now: phase order, wrong signal, override refused.
NOT_ALLOWED = 13
#: Interrupted by the user: a shell's code for Ctrl-C.
INTERRUPTED = 130

#: Code, name and meaning, as the reference lists them.
MEANINGS: tuple[tuple[int, str, str], ...] = (
    (OPEN, "open", "The gate that was asked for is open"),
    (
        GATE_CLOSED,
        "gate closed",
        "The run or the phase does not satisfy the gate yet, or a budget is spent; the reason names what is missing",
    ),
    (NOT_TRUSTED, "not trusted", "State or evidence was tampered with, can't be read, or could not be stored"),
    (CIRCUIT_OPEN, "circuit open", "The breaker is open or the work is stuck: a person is needed"),
    (
        NOT_ALLOWED,
        "not allowed",
        "Not allowed now: phase order, a stale or contradictory signal, a refused override; or a person has to answer",
    ),
    (INTERRUPTED, "interrupted", "The user interrupted `phase-gate drive` or another command"),
)
