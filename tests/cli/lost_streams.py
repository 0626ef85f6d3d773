"""In a forked child, before it becomes a command: take its standard streams away, or let them take nothing."""

from __future__ import annotations

import os
import sys
from typing import Any


def prepare(order: dict[str, Any]) -> None:
    import phase_gate.cli.demo as demo

    demo.STEPS = ()  # it has a test of its own
    for stream, way in order["streams"].items():
        WAYS[way](("stdin", "stdout", "stderr").index(stream), stream)


def _close(descriptor: int, stream: str) -> None:
    os.close(descriptor)
    setattr(sys, stream, None)  # as the interpreter does when it starts so


def _fill(descriptor: int, stream: str) -> None:
    _point(descriptor, os.open("/dev/full", os.O_RDWR))


def _stop_reading(descriptor: int, stream: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    _point(descriptor, writer)


def _hang_up(descriptor: int, stream: str) -> None:
    import pty
    import signal

    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup: else that is the end of it
    master, slave = pty.openpty()
    os.close(master)
    _point(descriptor, slave)


def _point(descriptor: int, target: int) -> None:
    os.dup2(target, descriptor)
    os.close(target)


WAYS = {"closed": _close, "full": _fill, "nobody-reads": _stop_reading, "hung-up": _hang_up}
