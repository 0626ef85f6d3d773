"""Our own work, done with Python as it was before the project's code ran.

Whatever a test leaves patched, closed or changed is put back for that time only, so that the run is recorded with the
real functions, and every later hook finds what the tests left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType

from phase_gate.recording.loading import OwnModules
from phase_gate.recording.tamper.namespaces import GONE, Namespaces, Replaced, lay_back
from phase_gate.recording.tamper.process_state import ProcessState, Undo
from phase_gate.storage.ownership import Ownership, files_of, is_installed

#: Our modules hold some of Python's functions by name.
_OWN = "phase_gate."
#: Names that a sentence shows.
_SHOWN = 3


class OwnWork:
    """A context, entered as often as needed, and inside itself."""

    def __init__(self) -> None:
        self._namespaces, self._state, self._modules = Namespaces(), ProcessState(), OwnModules()
        self._depth = 0
        self._replaced: list[Replaced] = []
        self._undo: Undo = []
        self._fakes: Mapping[str, object] = {}
        self._settled: Mapping[str, object] = {}

    def __enter__(self) -> OwnWork:
        if not self._depth:
            self._replaced = self._namespaces.put_back()
            self._undo = self._state.put_back()
            self._fakes = self._modules.put_back()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._modules.lay_back(self._fakes)
        self._fakes = {}
        while self._undo:
            with contextlib.suppress(OSError, ValueError, RecursionError):
                self._undo.pop()()
        lay_back(self._replaced)
        self._replaced = []

    @property
    def left(self) -> Mapping[str, object]:
        """What replaced names had when our work began, by dotted name."""
        return {each.path: each.left for each in self._replaced}

    def widen(self) -> None:
        """Think of what only some runs need: those that look at failing tests, write reports, or are shards."""
        self._namespaces.widen()

    def settle(self) -> None:
        """Take the project's own set-up in, before its tests run: what is replaced by now is meant to be so."""
        self._namespaces.settle()
        self._state.settle()
        self._settled = self.left

    def left_by_tests(self, ownership: Ownership) -> list[str]:
        """Return the names that tests left replaced, but for what an installed distribution put there."""
        return sorted(
            each.path
            for each in self._replaced
            if self._settled.get(each.path, self) is not each.left
            and not _is_nobodys(each)
            and _is_of_tests(each.left, ownership)
        )


def describe_left(names: Sequence[str]) -> str:
    """Return what is to be said of names that tests left replaced."""
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"a test left {shown} patched"


def _is_nobodys(each: Replaced) -> bool:
    """Tell whether it is no patch: a copy in one of our modules, an unloaded module, or a value that Python changes."""
    if each.path.startswith(_OWN) or (each.left is GONE and each.path.startswith("sys.modules.")):
        return True
    # `time.tzname` is another tuple after `strptime`, a number counts how often caches were cleared; doctests and
    # gettext set `builtins._`.
    is_code = callable(each.kept) or callable(each.left) or isinstance(each.left, str)
    return not is_code or each.path == "builtins._"


def _is_of_tests(left: object, ownership: Ownership) -> bool:
    """Tell whether something is a mock, comes from the project, or from nowhere."""
    if left is GONE or type(left).__module__ == "unittest.mock" or ownership.projects_files(left):
        return True
    return not any(map(is_installed, files_of(left)))
