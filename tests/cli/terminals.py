"""Commands that want a person: a terminal, and somebody who types."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.conftest import CommandProject
from tests.support import Result


@contextmanager
def terminal(typed: str = "") -> Iterator[int]:
    """A terminal, as far as a process can tell, with something typed on it."""
    import pty

    controller, person = pty.openpty()
    os.write(controller, typed.encode())
    try:
        yield person
    finally:
        os.close(controller)
        os.close(person)


def at_terminal(gated: CommandProject, *arguments: str, typed: str = "") -> Result:
    """Call the command in this process, with a terminal as its input."""
    with terminal(typed) as person, open(person, closefd=False) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        return gated.gate(*arguments)
