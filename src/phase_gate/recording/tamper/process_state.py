"""What a process has beside its modules: where it is, its environment, what its new files may be, how deep it may call.

Kept before the project's code runs, put back while we work, and afterwards as the tests left it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

#: What takes changes back; the last one first.
Undo = list[Callable[[], object]]

#: Lists that an import goes through.
_IMPORT_LISTS = ("path", "meta_path", "path_hooks")
#: We, and pytest, set and take away these while tests run.
_OURS = ("PHASE_GATE_", "PYTEST_CURRENT_TEST")


class ProcessState:
    """Put back in `put_back`; its callers call what it returns, last first, when they are done."""

    def __init__(self) -> None:
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._folder = _current_folder()
        self._recursion_limit = sys.getrecursionlimit()
        # Not what pytest itself puts in for a while: it would rewrite what we import.
        self._lists = {
            name: [each for each in getattr(sys, name) if not type(each).__module__.startswith("_pytest")]
            for name in _IMPORT_LISTS
        }
        #: Not known before the project has set it up.
        self._environment: dict[str, str] | None = None
        self._raw: object = None

    def settle(self) -> None:
        """Keep the environment as it is by now: what the project's set-up says in it is meant for us, too."""
        self._environment, self._raw = dict(os.environ), dict(_raw_environment())

    def put_back(self) -> Undo:
        """Put back what differs, and return what undoes that."""
        undo: Undo = []
        for look in (
            self._raise_recursion_limit,
            _fill_standard_streams,
            self._put_back_lists,
            self._put_back_umask,
            self._put_back_folder,
            self._put_back_environment,
            _stop_timer,
            _hear_of_children,
        ):
            look(undo)
        return undo

    def _raise_recursion_limit(self, undo: Undo) -> None:
        left = sys.getrecursionlimit()
        if left < self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
            undo.append(partial(sys.setrecursionlimit, left))

    def _put_back_lists(self, undo: Undo) -> None:
        for name, kept in self._lists.items():
            left = getattr(sys, name, None)
            entries = left if isinstance(left, list) else []
            missing = [each for each in kept if each not in entries]
            if missing or entries is not left:
                # Only what is missing: what the project added is needed by its own hooks.
                setattr(sys, name, [*entries, *missing])
                undo.append(partial(setattr, sys, name, left))

    def _put_back_umask(self, undo: Undo) -> None:
        left = os.umask(self._umask)
        if left != self._umask:
            undo.append(partial(os.umask, left))

    def _put_back_folder(self, undo: Undo) -> None:
        left = _current_folder()
        if left == self._folder or self._folder is None:
            return
        with contextlib.suppress(OSError):
            if os.chdir in os.supports_fd:
                # By its descriptor: a folder that was removed has no name to come back by.
                descriptor = os.open(os.curdir, os.O_RDONLY)
                undo += [partial(os.close, descriptor), partial(os.chdir, descriptor)]
            elif left is not None:
                undo.append(partial(os.chdir, left))
            os.chdir(self._folder)

    def _put_back_environment(self, undo: Undo) -> None:
        kept = self._environment
        if kept is None or _raw_environment() == self._raw:
            return
        left = dict(os.environ)
        if _without_ours(left) != _without_ours(kept):
            _become(kept)
            undo.append(partial(_become, left))


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _raw_environment() -> Mapping[Any, Any]:
    """Return it without decoding anything, where that can be had."""
    return getattr(os.environ, "_data", os.environ)


def _without_ours(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(_OURS)}


def _become(environment: dict[str, str]) -> None:
    """Let the process have this environment, but for our own variables."""
    wanted = _without_ours(environment)
    for name in _without_ours(dict(os.environ)):
        if name not in wanted:
            del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _fill_standard_streams(undo: Undo) -> None:
    """Let no file of ours get the number of a standard stream that a test closed: others still write to that number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken first.
            undo.append(partial(os.close, os.open(os.devnull, os.O_RDWR)))


def _stop_timer(undo: Undo) -> None:
    """Let an alarm that a test set wait: one that goes off in the middle of a write would be taken for our fault."""
    if hasattr(signal, "setitimer"):
        left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
        if left:
            undo.append(partial(signal.setitimer, signal.ITIMER_REAL, left, interval))


def _hear_of_children(undo: Undo) -> None:
    """Let git's exit code be known: where SIGCHLD is ignored, every child seems to end with 0."""
    if hasattr(signal, "SIGCHLD") and signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            undo.append(partial(signal.signal, signal.SIGCHLD, signal.SIG_IGN))
