"""Which lines of watched files a run has reached, and by which tests. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Tests that are kept by name for one line; beyond that only that there are more.
MOST_TESTS = 500


class Reach(Value):
    """What was reached in watched files, by their paths from the root."""

    #: File -> line -> the tests that reached it; an empty name stands for an import.
    lines: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    #: File -> where the code went from a line to another one.
    jumps: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    #: Why it can't be told.
    problem: str = ""


def merge_reach(parts: Iterable[Reach]) -> Reach:
    """Return what all processes of a run have reached together."""
    lines: dict[str, dict[int, tuple[str, ...]]] = {}
    jumps: dict[str, set[tuple[int, int]]] = {}
    problem = ""
    for part in parts:
        problem = problem or part.problem
        for path, rows in part.lines.items():
            known = lines.setdefault(path, {})
            for line, tests in rows.items():
                known[line] = tuple(sorted({*known.get(line, ()), *tests}))[:MOST_TESTS]
        for path, pairs in part.jumps.items():
            jumps.setdefault(path, set()).update(pairs)
    return Reach(lines=lines, jumps={path: tuple(sorted(pairs)) for path, pairs in jumps.items()}, problem=problem)


def reach_to_json(reach: Reach) -> dict[str, object]:
    return {
        "lines": {path: {str(line): list(tests) for line, tests in rows.items()} for path, rows in reach.lines.items()},
        "jumps": {path: [list(pair) for pair in pairs] for path, pairs in reach.jumps.items()},
        "problem": reach.problem,
    }


def reach_from_json(document: Any) -> Reach:
    """Return the reach that a worker sent."""
    return Reach(
        lines={
            path: {int(line): tuple(tests) for line, tests in rows.items()} for path, rows in document["lines"].items()
        },
        jumps={path: tuple((one, other) for one, other in pairs) for path, pairs in document["jumps"].items()},
        problem=str(document["problem"]),
    )
