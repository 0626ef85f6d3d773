"""What is said of a forked child that came back into its parent's session, in time or too late. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from phase_gate.gate.findings import Finding

#: What a child is about that came back from no test.
_NO_TEST = "session"
#: Why no verdict stands that was made before.
LATE = "a forked child came back into pytest when its run had ended"


def forked_child(test: str) -> Finding:
    """Return the finding about a child that came back while the run went on; an empty test if it came from none."""
    where = "from it into pytest" if test else "into pytest"
    return Finding(
        slug="forked-child",
        guard="outcomes-genuine",
        tier="hard",
        id=test or _NO_TEST,
        file=test.partition("::")[0],
        detail=f"a forked child came back {where}, which puts all outcomes in doubt: end it with os._exit",
    )


def say_forked(run: str, tests: Iterable[str]) -> str:
    """Return what happened to a run that had ended, in a clause."""
    named = ", ".join(filter(None, tests))
    came_from = f" from {named}" if named else ""
    return f"a forked child of run {run[:8]} came back{came_from} into pytest when the run had ended"
