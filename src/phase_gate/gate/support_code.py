"""Where the parts of tests lie that are not in their files: what a session saw of it, as values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.values import Value, field


class Parts(Value):
    """Where the parts of a session's tests lie that are not in their files, as `file::name`."""

    #: Functions of tests: inherited, imported, or made by another function.
    tests: tuple[str, ...] = ()
    #: What decorators put around tests, classes that these inherit from, and methods that prepare them.
    around: tuple[str, ...] = ()
    #: Fixtures by their names; those that no test asks for among them.
    fixtures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Names of fixtures that every test gets.
    always: tuple[str, ...] = ()
    #: Why they could not be looked at; empty where they were.
    problem: str = ""


def merge_parts(several: Iterable[Parts]) -> Parts:
    """Return the parts that some process saw."""
    several = tuple(several)
    names = {name for each in several for name in each.fixtures}
    return Parts(
        tests=_union(each.tests for each in several),
        around=_union(each.around for each in several),
        fixtures={name: _union(each.fixtures.get(name, ()) for each in several) for name in sorted(names)},
        always=_union(each.always for each in several),
        problem=next((each.problem for each in several if each.problem), ""),
    )


def _union(several: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({each for names in several for each in names}))
