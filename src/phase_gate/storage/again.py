"""Change a task once more where another machine was first: what only that needs of a shared store, without the rest."""

from __future__ import annotations

import functools
import time

from phase_gate.errors import MovedError, StoreBusyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")

#: How often a change is tried when others are always first, and the seconds that it waits at most before the second
#: try: as long as the first one took, at least so many. Each wait may be twice as long as the one before, most of it is
#: left to chance, and none is longer than this or than a number of tries: else a crowd on a slow server is first in
#: turns of one, and all the others ask in vain.
_TRIES = 12
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 3.0
_LONGEST_IN_TRIES = 16


def again_if_moved(function: Callable[P, T]) -> Callable[P, T]:
    """Call again what changes a task, where another machine was first: it then judges on what is true by now.

    For functions with one transaction that decide inside it. With a plain state folder they are called once.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for number in range(_TRIES):
            began = time.monotonic()
            try:
                return function(*args, **kwargs)
            except MovedError:
                _wait(number, time.monotonic() - began)
        raise StoreBusyError(
            f"other machines were first {_TRIES} times in a row", remedy="try again when fewer of them write"
        )

    return call


def _wait(number: int, took: float) -> None:
    import random  # here: most changes are the first

    longest = max(_LONGEST_WAIT, took * _LONGEST_IN_TRIES)
    time.sleep(min(max(_FIRST_WAIT, took) * 2**number, longest) * random.uniform(0.1, 1.0))
