"""Child processes that end: one that hangs is stopped, and shows where."""

from __future__ import annotations

import faulthandler
from pathlib import Path
from typing import Any

#: Seconds; a hundred times what such a run takes.
PATIENCE = 60
#: What a process that was stopped has written.
HUNG = "Timeout (0:01:00)!"


class BoundedChildren:
    """Forks one child a command, as `Children` does, without fault points."""

    def __init__(self, folder: Path) -> None:
        from tests.warm import WarmServer  # not at the top: the children, who load this file, have no tests

        self._server = WarmServer(folder, __file__)

    def run(self, root: Path, words: tuple[str, ...], environment: dict[str, str], **more: object) -> Any:
        """Run `pytest ...` or `phase-gate ...` in a forked child."""
        from tests.faults.children import Ended

        code, out, err = self._server.run(root, words, environment, at_terminal=more["at_terminal"])
        return Ended(code=code, out=out, err=err)

    def close(self) -> None:
        self._server.close()


def prepare(order: dict[str, Any]) -> None:
    """In the child: a thread of C that nothing which a test leaves patched can reach."""
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
