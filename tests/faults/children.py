"""Child processes with a fault plan."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from phase_gate.values import Value


class Plan(Value):
    """What happens to a child at which call; nothing at call 0."""

    at: int = 0
    kind: str = "EIO"
    for_good: bool = False


class Ended(Value):
    """How a child ended, and what its fault points saw."""

    code: int
    out: str
    err: str
    calls: tuple[str, ...] = ()
    #: The calls that something happened to, as `N name`.
    hits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def flat(self) -> str:
        """All that it said, in one line: a panel breaks lines where it likes."""
        return " ".join(self.text.split())


class Children:
    """Forks one child a command."""

    def __init__(self, folder: Path) -> None:
        from tests.warm import WarmServer  # not at the top: the children, who load this file, have no tests

        self._log = folder / "log.txt"
        self._server = WarmServer(folder, __file__)

    def run(
        self, root: Path, words: tuple[str, ...], environment: dict[str, str], *, plan: Plan, at_terminal: bool
    ) -> Ended:
        """Run `pytest ...` or `phase-gate ...` in a forked child."""
        self._log.unlink(missing_ok=True)
        given = {"at": plan.at, "kind": plan.kind, "for_good": plan.for_good, "log": str(self._log)}
        code, out, err = self._server.run(root, words, environment, plan=given, at_terminal=at_terminal)
        lines = self._log.read_text(encoding="ascii").splitlines()
        return Ended(
            code=code,
            out=out,
            err=err,
            calls=tuple(line.removeprefix("call ") for line in lines if line.startswith("call ")),
            hits=tuple(line.removeprefix("hit ") for line in lines if line.startswith("hit ")),
        )

    def close(self) -> None:
        self._server.close()


def prepare(order: dict[str, Any]) -> None:
    """In the child, which can't import this project's tests: put the fault points in."""
    sys.modules["__main__"].load_file(Path(__file__).with_name("points.py")).install(order["plan"])
